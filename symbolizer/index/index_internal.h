/* What the parts of the reader share: an open index and loads of its records. */
#pragma once

#include <endian.h>
#include <stdatomic.h>
#include <string.h>

#include "base/map_guard.h"
#include "symbolizer/index/format.h"
#include "symbolizer/index/index.h"

/* A section that open has checked: `bytes` holds `count` whole records. */
struct index_section {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t count;
    uint32_t checksum;
};

struct index {
    struct span bytes;
    struct map_guard *guard; /* of a map; NULL of memory that is another's */
    struct index_section sections[FORMAT_SECTION_COUNT + 1]; /* by kind; 0 is unused */
    /* Behind a pointer, since it alone changes while threads read a constant index. */
    atomic_uint_fast64_t *damage_count;
};

/* A failed check in a file that was opened: see index_damage_count. */
static inline void index_note_damage(const struct index *index) {
    atomic_fetch_add_explicit(index->damage_count, 1, memory_order_relaxed);
}

/* The name of the section for messages. */
const char *index_section_name(enum format_section_kind kind);
uint64_t index_record_size(enum format_section_kind kind);

static inline uint32_t index_load_u32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof(value));
    return le32toh(value);
}

static inline uint64_t index_load_u64(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return le64toh(value);
}

/* Each takes a position less than the section's count. */

static inline struct format_block index_block(const struct index *index, uint64_t position) {
    struct format_block block;
    memcpy(&block, index->sections[FORMAT_BLOCKS].bytes + position * sizeof(block), sizeof(block));
    block.base = le64toh(block.base);
    block.end = le64toh(block.end);
    block.interval_first = le32toh(block.interval_first);
    block.interval_count = le32toh(block.interval_count);
    block.bucket_first = le32toh(block.bucket_first);
    block.bucket_count = le32toh(block.bucket_count);
    block.bucket_shift = le32toh(block.bucket_shift);
    block.reserved = le32toh(block.reserved);
    return block;
}

static inline struct format_interval index_interval(const struct index *index, uint64_t position) {
    const uint8_t *bytes = index->sections[FORMAT_INTERVALS].bytes +
                           position * sizeof(struct format_interval);
    return (struct format_interval){.begin = index_load_u32(bytes),
                                    .value = index_load_u32(bytes + 4)};
}

static inline uint32_t index_bucket(const struct index *index, uint64_t position) {
    return index_load_u32(index->sections[FORMAT_BUCKETS].bytes + position * sizeof(uint32_t));
}

static inline struct format_location index_location(const struct index *index, uint64_t position) {
    struct format_location location;
    memcpy(&location, index->sections[FORMAT_LOCATIONS].bytes + position * sizeof(location),
           sizeof(location));
    location.function = le32toh(location.function);
    location.file = le32toh(location.file);
    location.line = le32toh(location.line);
    location.parent = le32toh(location.parent);
    location.column_depth = le32toh(location.column_depth);
    return location;
}

static inline uint32_t index_location_depth(struct format_location location) {
    return (location.column_depth & ((1u << FORMAT_DEPTH_BITS) - 1)) + 1;
}

static inline struct format_function index_function(const struct index *index, uint64_t position) {
    struct format_function function;
    memcpy(&function, index->sections[FORMAT_FUNCTIONS].bytes + position * sizeof(function),
           sizeof(function));
    function.entry_pc = le64toh(function.entry_pc);
    function.name = le32toh(function.name);
    function.start_file = le32toh(function.start_file);
    function.start_line = le32toh(function.start_line);
    function.flags = le16toh(function.flags);
    return function;
}

/* True and the bytes of string `number` (0 is the empty span), or false: no such string. */
bool index_string(const struct index *index, uint32_t number, struct span *ret_text);

/* False when the record is no id. */
bool index_read_id(const struct index *index, uint64_t position, struct binary_id *ret_id);

/* Whether the block's intervals and buckets lie inside their sections; does not count damage. */
bool index_block_is_sound(const struct index *index, const struct format_block *block);

/* True and what an interval's value says, or false: the value is damaged. */
bool index_value_hit(const struct index *index, uint32_t value, struct index_hit *ret_hit);
