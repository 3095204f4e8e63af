/*
 * Everything that open leaves unread: checksums, padding and each record's references. A file that
 * passes has no record at which a lookup or a walk would meet damage.
 */
#include <zlib.h>

#include "symbolizer/index/index.h"
#include "symbolizer/index/index_internal.h"
#include "symbolizer/index/index_verify_internal.h"

enum err verify_damaged(enum format_section_kind kind, const char *what, struct error *error) {
    return error_set(error, ERR_MALFORMED, "symbol index, section %s: %s", index_section_name(kind),
                     what);
}

enum err verify_damaged_at(enum format_section_kind kind, uint64_t position, struct error *error) {
    return error_set(error, ERR_MALFORMED, "symbol index, section %s: record %llu is damaged",
                     index_section_name(kind), (unsigned long long)position);
}

static bool is_zero(const uint8_t *bytes, const uint8_t *end) {
    for (; bytes < end; bytes++) {
        if (*bytes != 0)
            return false;
    }
    return true;
}

static enum err verify_bytes(const struct index *index, struct error *error) {
    const uint8_t *end = index->sections[FORMAT_SUMMARY].bytes;
    for (unsigned kind = 1; kind <= FORMAT_SECTION_COUNT; kind++) {
        const struct index_section *section = &index->sections[kind];
        if (!is_zero(end, section->bytes))
            return verify_damaged(kind, "the padding before it is not zero", error);
        if ((uint32_t)crc32_z(0, section->bytes, section->size) != section->checksum)
            return verify_damaged(kind, "wrong checksum", error);
        end = section->bytes + section->size;
        if (index_section_is_packed(kind) && !is_zero(end - FORMAT_TAIL, end))
            return verify_damaged(kind, "its tail is not zero", error);
    }
    return ERR_OK;
}

/* The summary's count against those that a walk finds. */
static enum err verify_summary(const struct index *index, struct error *error) {
    struct format_summary raw;
    struct index_position position = {0};
    struct pc_range range;
    struct index_hit hit;
    uint64_t intervals = 0;
    memcpy(&raw, index->sections[FORMAT_SUMMARY].bytes, sizeof(raw));
    if (raw.reserved != 0 || (le16toh(raw.contents) & ~FORMAT_CONTENTS_ALL) != 0)
        return verify_damaged(FORMAT_SUMMARY, "reserved bits are set", error);
    while (index_interval_next(index, &position, &range, &hit))
        intervals++;
    if (le64toh(raw.interval_count) != intervals)
        return verify_damaged(FORMAT_SUMMARY, "the count of intervals is wrong", error);
    return ERR_OK;
}

static enum err verify_ids(const struct index *index, struct error *error) {
    const struct index_section *section = &index->sections[FORMAT_IDS];
    struct span left = span_of(section->bytes, section->size);
    for (uint64_t i = 0; i < section->count; i++) {
        struct binary_id id;
        if (!index_take_id(&left, &id))
            return verify_damaged_at(FORMAT_IDS, i, error);
    }
    return left.size == 0 ? ERR_OK
                          : verify_damaged(FORMAT_IDS, "there is more than the ids", error);
}

static enum err verify_segments(const struct index *index, struct error *error) {
    const struct index_section *section = &index->sections[FORMAT_SEGMENTS];
    for (uint64_t i = 0; i < section->count; i++) {
        const uint8_t *record = section->bytes + i * sizeof(struct format_segment);
        if (index_load_u32(record + offsetof(struct format_segment, reserved)) != 0)
            return verify_damaged_at(FORMAT_SEGMENTS, i, error);
    }
    return ERR_OK;
}

enum err index_verify(const struct index *index, struct error *error) {
    static enum err (*const parts[])(const struct index *index, struct error *error) = {
        verify_bytes,     verify_files,    verify_functions, verify_scopes,
        verify_intervals, verify_segments, verify_ids,       verify_summary,
    };
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < sizeof(parts) / sizeof(parts[0]); i++)
        err = parts[i](index, error);
    return err;
}
