/* What the parts of the reader share: an open index, and its packed blocks taken apart. */
#pragma once

#include <endian.h>
#include <stdatomic.h>
#include <string.h>

#include "base/map_guard.h"
#include "symbolizer/index/bit_field.h"
#include "symbolizer/index/format.h"
#include "symbolizer/index/index.h"

/* A section that open has checked: `bytes` holds `count` whole records, or ends with the tail. */
struct index_section {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t count;
    uint32_t checksum;
};

struct index {
    struct span bytes;
    struct map_guard *guard; /* of a map; NULL of memory that is another's */
    bool popcount_is_fast;   /* the processor has POPCNT and PDEP */
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

/* 0 for a packed section and for the ids. */
uint64_t index_record_size(enum format_section_kind kind);
bool index_section_is_packed(enum format_section_kind kind);

static inline uint32_t index_load_u32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof(value));
    return le32toh(value);
}

static inline uint64_t index_load_u64(const uint8_t *bytes) {
    return bit_field_word(bytes);
}

/* --- blocks of packed sections --- */

/*
 * Where block `position` begins and how many bytes a load may start in; false when the offset is
 * none of a block with a header of that size.
 */
static inline bool index_packed_block(const struct index *index, enum format_section_kind kind,
                                      uint64_t position, size_t header_size,
                                      const uint8_t **ret_bytes, uint64_t *ret_size) {
    const struct index_section *offsets = &index->sections[kind - 1];
    const struct index_section *section = &index->sections[kind];
    if (position >= offsets->count)
        return false;
    uint64_t offset = (uint64_t)index_load_u32(offsets->bytes + position * sizeof(uint32_t)) - 1;
    uint64_t end = section->size - FORMAT_TAIL;
    if (offset > end || end - offset < header_size)
        return false;
    *ret_bytes = section->bytes + offset;
    *ret_size = end - offset;
    return true;
}

/* --- stretches and interval blocks --- */

static inline struct format_stretch index_stretch(const struct index *index, uint64_t position) {
    struct format_stretch stretch;
    memcpy(&stretch, index->sections[FORMAT_STRETCHES].bytes + position * sizeof(stretch),
           sizeof(stretch));
    stretch.base = le64toh(stretch.base);
    stretch.end = le64toh(stretch.end);
    stretch.block_first = le32toh(stretch.block_first);
    stretch.block_count = le32toh(stretch.block_count);
    return stretch;
}

/* Whether its shifts can be used and its blocks are there; does not count damage. */
bool index_stretch_is_sound(const struct index *index, const struct format_stretch *stretch);

/* An interval block taken apart. Bit positions count from `bits`. */
struct interval_block {
    const uint8_t *marks;
    const uint8_t *upper;
    const uint8_t *bits;
    uint64_t bit_count; /* that may be read */
    uint64_t rows_at;
    uint64_t scopes_at;
    uint64_t upper_count; /* bits of `upper` */
    uint32_t scope_base;
    uint32_t record_count;
    uint32_t exception_count;
    uint8_t low_bits;
    uint8_t scope_bits;
    uint8_t line_bits;
    uint8_t column_bits;
};

enum interval_block_state { INTERVAL_BLOCK_GOOD, INTERVAL_BLOCK_EMPTY, INTERVAL_BLOCK_DAMAGED };

/* `position` in interval_offsets; `shift` of the stretch. */
static inline enum interval_block_state index_interval_block(const struct index *index,
                                                             uint64_t position, unsigned shift,
                                                             struct interval_block *ret_block) {
    const uint8_t *offsets = index->sections[FORMAT_INTERVAL_OFFSETS].bytes;
    if (index_load_u32(offsets + position * sizeof(uint32_t)) == 0)
        return INTERVAL_BLOCK_EMPTY;
    struct format_interval_block header;
    const uint8_t *bytes;
    uint64_t size;
    if (!index_packed_block(index, FORMAT_INTERVALS, position, sizeof(header), &bytes, &size))
        return INTERVAL_BLOCK_DAMAGED;
    memcpy(&header, bytes, sizeof(header));
    struct interval_block *block = ret_block;
    block->scope_base = le32toh(header.scope_base);
    block->record_count = le16toh(header.record_count);
    block->exception_count = le16toh(header.exception_count);
    block->low_bits = header.low_bits;
    block->scope_bits = header.scope_bits;
    block->line_bits = header.line_bits;
    block->column_bits = header.column_bits;
    if (header.low_bits > shift || header.low_bits > FORMAT_LOW_BITS_MAX ||
        shift - header.low_bits > FORMAT_UPPER_SHIFT_MAX || header.scope_bits > 32 ||
        header.line_bits > 32 || header.column_bits > 32 || block->record_count == 0)
        return INTERVAL_BLOCK_DAMAGED;
    uint64_t count = block->record_count;
    block->upper_count = count + ((uint64_t)1 << (shift - header.low_bits));
    uint64_t marks_size = (count + 7) / 8;
    uint64_t upper_size = (block->upper_count + 7) / 8;
    block->marks = bytes + sizeof(header);
    block->upper = block->marks + marks_size;
    block->bits = block->upper + upper_size;
    uint64_t start = sizeof(header) + marks_size + upper_size;
    block->rows_at = count * header.low_bits;
    block->scopes_at = block->rows_at + count * (header.line_bits + (uint64_t)header.column_bits);
    if (start > size)
        return INTERVAL_BLOCK_DAMAGED;
    block->bit_count = (size - start) * 8;
    return block->scopes_at + header.scope_bits <= block->bit_count ? INTERVAL_BLOCK_GOOD
                                                                    : INTERVAL_BLOCK_DAMAGED;
}

static inline uint64_t interval_block_low(const struct interval_block *block, uint32_t record) {
    return bit_field(block->bits, (uint64_t)record * block->low_bits, block->low_bits);
}

static inline bool interval_block_mark(const struct interval_block *block, uint32_t record) {
    return block->marks[record / 8] >> (record % 8) & 1;
}

static inline bool interval_block_upper(const struct interval_block *block, uint64_t at) {
    return block->upper[at / 8] >> (at % 8) & 1;
}

/* The answer of a record whose run is known; false when it is damaged. */
bool index_record_hit(const struct index *index, const struct interval_block *block,
                      uint32_t record, uint32_t run, struct index_hit *ret_hit);

/* Where the exceptions begin, given how many runs there are; UINT64_MAX: outside the block. */
uint64_t interval_block_exceptions(const struct interval_block *block, uint32_t run_count);
uint32_t interval_block_run_count(const struct interval_block *block);

/* --- exceptions of either kind of block --- */

struct exception_list {
    const uint8_t *bits;
    uint64_t at; /* of the first */
    uint32_t count;
    uint8_t position_bits;
    uint8_t miss_bits;
    uint8_t file_bits;
    uint8_t line_bits;
};

struct exception {
    uint32_t position;
    uint32_t miss;
    uint32_t file;
    uint32_t line;
};

/* The list that begins at bit `at`; false when it is not inside the block. */
bool exception_list_open(const uint8_t *bits, uint64_t at, uint64_t bit_count, uint32_t count,
                         unsigned position_bits, unsigned miss_bits,
                         struct exception_list *ret_list);
static inline uint64_t exception_list_end(const struct exception_list *list) {
    return list->at + (uint64_t)list->count * (list->position_bits + list->miss_bits +
                                               (unsigned)list->file_bits + list->line_bits);
}
struct exception exception_list_get(const struct exception_list *list, uint32_t number);
bool exception_list_find(const struct exception_list *list, uint32_t position,
                         struct exception *ret_exception);

/* Whether a line code sends to an exception. */
static inline bool line_code_is_exception(uint64_t code, unsigned line_bits) {
    return code == ((uint64_t)1 << line_bits) - 1;
}

/* --- scopes, functions, files --- */

struct scope_block {
    const uint8_t *bits; /* behind the header */
    uint64_t bit_count;
    uint64_t entry_mask;
    uint64_t entries_at; /* the first entry pc, behind base and width */
    uint64_t entry_base;
    uint64_t tail_at; /* the exceptions */
    uint32_t record_count;
    uint32_t function_base;
    uint32_t exception_count;
    uint8_t entry_bits;
    uint8_t function_bits;
    uint8_t parent_bits;
    uint8_t line_bits;
    uint8_t column_bits;
};

struct scope_record {
    uint32_t function;
    uint32_t parent; /* distance */
    uint32_t line_code;
    uint32_t column;
};

bool index_scope_block(const struct index *index, uint64_t position, struct scope_block *ret_block);
struct scope_record scope_block_get(const struct scope_block *block, uint32_t record);
/* For a scope in entry_mask. */
uint64_t scope_block_entry(const struct scope_block *block, uint32_t record);

struct function_record {
    struct span name;
    uint32_t file;
    uint32_t line;
    uint32_t attributes;
};

static inline uint32_t index_attributes_origin(uint32_t attributes) {
    return attributes >> FORMAT_ATTRIBUTE_ORIGIN_SHIFT & FORMAT_ATTRIBUTE_ORIGIN_MASK;
}

struct function_block {
    const uint8_t *bits;
    uint64_t bit_count;
    uint64_t name_base;
    uint32_t record_count;
    uint32_t file_base;
    uint32_t attribute_base;
    uint8_t end_bits;
    uint8_t file_bits;
    uint8_t line_bits;
    uint8_t attribute_bits;
};

bool index_function_block(const struct index *index, uint64_t position,
                          struct function_block *ret_block);
/* False when there is no such function or its name is not in the file. */
bool index_function(const struct index *index, uint32_t number, struct function_record *ret_record);

struct file_block {
    const uint8_t *bits;
    uint64_t bit_count;
    uint64_t path_base;
    uint32_t record_count;
    uint32_t directory_base;
    uint8_t end_bits;
    uint8_t directory_bits;
};

bool index_file_block(const struct index *index, uint64_t position, struct file_block *ret_block);
struct file_parts {
    struct span directory;
    struct span name;
};
bool index_file_parts(const struct index *index, uint32_t number, struct file_parts *ret_parts);

/* True and the path of file `number` (0 is the empty span), joined in `room` of
 * FORMAT_JOINED_PATH_MAX bytes if it has a directory; or false: no such file. */
bool index_file(const struct index *index, uint32_t number, char *room, struct span *ret_path);

/* The number of records in a block of a section with `count` records. */
static inline uint32_t index_block_records(uint64_t count, uint64_t position) {
    uint64_t left = count - position * FORMAT_BLOCK_RECORDS;
    return left < FORMAT_BLOCK_RECORDS ? (uint32_t)left : FORMAT_BLOCK_RECORDS;
}

/* Takes one id from the front; false when it is damaged, and then nothing more can be taken. */
bool index_take_id(struct span *ids, struct binary_id *ret_id);
