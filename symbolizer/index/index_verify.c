/*
 * Everything that open leaves unread: checksums, padding and each record's references. A file that
 * passes has no record at which a lookup or a walk would meet damage.
 */
#include <zlib.h>

#include "symbolizer/index/index.h"
#include "symbolizer/index/index_internal.h"

static enum err damaged(enum format_section_kind kind, const char *what, struct error *error) {
    return error_set(error, ERR_MALFORMED, "symbol index, section %s: %s", index_section_name(kind),
                     what);
}

static enum err damaged_at(enum format_section_kind kind, uint64_t position, struct error *error) {
    return error_set(error, ERR_MALFORMED, "symbol index, section %s: record %llu is damaged",
                     index_section_name(kind), (unsigned long long)position);
}

static enum err verify_bytes(const struct index *index, struct error *error) {
    const uint8_t *end = index->sections[FORMAT_SUMMARY].bytes;
    for (unsigned kind = 1; kind <= FORMAT_SECTION_COUNT; kind++) {
        const struct index_section *section = &index->sections[kind];
        for (; end < section->bytes; end++) {
            if (*end != 0)
                return damaged(kind, "the padding before it is not zero", error);
        }
        if ((uint32_t)crc32_z(0, section->bytes, section->size) != section->checksum)
            return damaged(kind, "wrong checksum", error);
        end = section->bytes + section->size;
    }
    return ERR_OK;
}

static bool string_exists(const struct index *index, uint32_t number) {
    return number <= index->sections[FORMAT_STRING_ENDS].count;
}

static enum err verify_strings(const struct index *index, struct error *error) {
    const struct index_section *ends = &index->sections[FORMAT_STRING_ENDS];
    uint64_t end = 0;
    for (uint64_t i = 0; i < ends->count; i++) {
        uint64_t next = index_load_u64(ends->bytes + i * sizeof(uint64_t));
        if (next < end)
            return damaged_at(FORMAT_STRING_ENDS, i, error);
        end = next;
    }
    if (end != index->sections[FORMAT_STRING_BYTES].count)
        return damaged(FORMAT_STRING_ENDS, "they do not end with the strings", error);
    return ERR_OK;
}

static enum err verify_functions(const struct index *index, struct error *error) {
    for (uint64_t i = 0; i < index->sections[FORMAT_FUNCTIONS].count; i++) {
        struct format_function function = index_function(index, i);
        if (!string_exists(index, function.name) || !string_exists(index, function.start_file) ||
            function.origin > SYMBOL_ORIGIN_DYNSYM || function.has_entry_pc > 1 ||
            (!function.has_entry_pc && function.entry_pc != 0))
            return damaged_at(FORMAT_FUNCTIONS, i, error);
    }
    return ERR_OK;
}

static bool parent_is_sound(const struct index *index, uint64_t position,
                            struct format_location location) {
    uint32_t depth = index_location_depth(location);
    if (location.parent == 0)
        return depth == 1;
    /* The location at `position` has the number position + 1. */
    return location.parent <= position &&
           index_location_depth(index_location(index, location.parent - 1)) + 1 == depth;
}

static enum err verify_locations(const struct index *index, struct error *error) {
    for (uint64_t i = 0; i < index->sections[FORMAT_LOCATIONS].count; i++) {
        struct format_location location = index_location(index, i);
        if (location.function > index->sections[FORMAT_FUNCTIONS].count ||
            !string_exists(index, location.file) || !parent_is_sound(index, i, location))
            return damaged_at(FORMAT_LOCATIONS, i, error);
    }
    return ERR_OK;
}

/* The intervals of a block, whose positions open has not checked. Adds to *holes. */
static enum err verify_intervals(const struct index *index, const struct format_block *block,
                                 uint64_t *holes, struct error *error) {
    struct format_interval last = {.begin = 0, .value = FORMAT_VALUE_HOLE};
    for (uint32_t i = 0; i < block->interval_count; i++) {
        uint64_t position = (uint64_t)block->interval_first + i;
        struct format_interval interval = index_interval(index, position);
        struct index_hit hit;
        bool ascends = i == 0 ? interval.begin == 0 : interval.begin > last.begin;
        if (!ascends || interval.begin >= block->end - block->base ||
            !index_value_hit(index, interval.value, &hit))
            return damaged_at(FORMAT_INTERVALS, position, error);
        *holes += interval.value == FORMAT_VALUE_HOLE;
        last = interval;
    }
    if (last.value == FORMAT_VALUE_HOLE)
        return damaged(FORMAT_INTERVALS, "a block ends with a hole", error);
    return ERR_OK;
}

/* Each entry against the two intervals around it; begins are known to ascend. */
static enum err verify_buckets(const struct index *index, const struct format_block *block,
                               struct error *error) {
    if (block->bucket_count == 0)
        return ERR_OK;
    uint64_t first = block->interval_first;
    uint32_t last_begin = index_interval(index, first + block->interval_count - 1).begin;
    if (block->bucket_count != (uint64_t)(last_begin >> block->bucket_shift) + 2)
        return damaged(FORMAT_BUCKETS, "a block has the wrong number", error);
    for (uint32_t bucket = 0; bucket < block->bucket_count; bucket++) {
        uint64_t at = (uint64_t)block->bucket_first + bucket;
        uint32_t entry = index_bucket(index, at);
        if (entry > block->interval_count)
            return damaged_at(FORMAT_BUCKETS, at, error);
        bool too_low = entry < block->interval_count &&
                       index_interval(index, first + entry).begin >> block->bucket_shift < bucket;
        bool too_high = entry > 0 && index_interval(index, first + entry - 1).begin >>
                                         block->bucket_shift >= bucket;
        if (too_low || too_high)
            return damaged_at(FORMAT_BUCKETS, at, error);
    }
    return ERR_OK;
}

/* Blocks ascend, and their intervals and buckets follow each other without a gap. */
struct block_walk {
    uint64_t end;
    uint64_t interval_next;
    uint64_t bucket_next;
    uint64_t holes;
};

static enum err verify_block(const struct index *index, uint64_t position, struct block_walk *walk,
                             struct error *error) {
    struct format_block block = index_block(index, position);
    uint64_t intervals_left = index->sections[FORMAT_INTERVALS].count - walk->interval_next;
    uint64_t buckets_left = index->sections[FORMAT_BUCKETS].count - walk->bucket_next;
    bool is_bucketless = block.interval_count <= FORMAT_BUCKETLESS_MAX;
    if (block.base < walk->end || block.base >= block.end || block.reserved != 0 ||
        block.interval_first != walk->interval_next || block.interval_count == 0 ||
        block.interval_count > intervals_left || block.bucket_first != walk->bucket_next ||
        block.bucket_count > buckets_left || block.bucket_shift >= 32 ||
        is_bucketless != (block.bucket_count == 0) || (is_bucketless && block.bucket_shift != 0))
        return damaged_at(FORMAT_BLOCKS, position, error);
    walk->end = block.end;
    walk->interval_next += block.interval_count;
    walk->bucket_next += block.bucket_count;
    enum err err = verify_intervals(index, &block, &walk->holes, error);
    return err ? err : verify_buckets(index, &block, error);
}

static enum err verify_blocks(const struct index *index, struct block_walk *walk,
                              struct error *error) {
    for (uint64_t i = 0; i < index->sections[FORMAT_BLOCKS].count; i++) {
        enum err err = verify_block(index, i, walk, error);
        if (err)
            return err;
    }
    if (walk->interval_next != index->sections[FORMAT_INTERVALS].count ||
        walk->bucket_next != index->sections[FORMAT_BUCKETS].count)
        return damaged(FORMAT_BLOCKS, "they leave intervals or buckets out", error);
    return ERR_OK;
}

static enum err verify_summary(const struct index *index, uint64_t holes, struct error *error) {
    struct format_summary raw;
    memcpy(&raw, index->sections[FORMAT_SUMMARY].bytes, sizeof(raw));
    if (raw.reserved != 0 || (le16toh(raw.contents) & ~FORMAT_CONTENTS_ALL) != 0)
        return damaged(FORMAT_SUMMARY, "reserved bits are set", error);
    if (le64toh(raw.interval_count) != index->sections[FORMAT_INTERVALS].count - holes)
        return damaged(FORMAT_SUMMARY, "the count of intervals is wrong", error);
    return ERR_OK;
}

static enum err verify_ids(const struct index *index, struct error *error) {
    for (uint64_t i = 0; i < index->sections[FORMAT_IDS].count; i++) {
        struct binary_id id;
        if (!index_read_id(index, i, &id))
            return damaged_at(FORMAT_IDS, i, error);
    }
    return ERR_OK;
}

static enum err verify_segments(const struct index *index, struct error *error) {
    const struct index_section *section = &index->sections[FORMAT_SEGMENTS];
    for (uint64_t i = 0; i < section->count; i++) {
        const uint8_t *record = section->bytes + i * sizeof(struct format_segment);
        if (index_load_u32(record + offsetof(struct format_segment, reserved)) != 0)
            return damaged_at(FORMAT_SEGMENTS, i, error);
    }
    return ERR_OK;
}

enum err index_verify(const struct index *index, struct error *error) {
    struct block_walk walk = {0};
    enum err err = verify_bytes(index, error);
    if (!err)
        err = verify_strings(index, error);
    if (!err)
        err = verify_functions(index, error);
    if (!err)
        err = verify_locations(index, error);
    if (!err)
        err = verify_blocks(index, &walk, error);
    if (!err)
        err = verify_segments(index, error);
    if (!err)
        err = verify_ids(index, error);
    if (!err)
        err = verify_summary(index, walk.holes, error);
    return err;
}
