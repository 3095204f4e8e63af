/* What the parts of the reader share: an open index, and its packed blocks taken apart. */
#pragma once

#include <endian.h>
#include <stdatomic.h>
#include <stddef.h>
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
    uint64_t limit; /* of a packed section: where the tail begins */
    uint32_t checksum;
    uint32_t mean_size; /* bytes of a record, rounded down */
};

struct index {
    struct span bytes;
    struct map_guard *guard;     /* of a map; NULL of memory that is another's */
    bool processor_is_fast;      /* it has what BIT_WAYS_FAST says */
    struct format_stretch first; /* the largest of the first few, found sound; or all zero */
    struct index_section sections[FORMAT_SECTION_COUNT + 1]; /* by kind; 0 is unused */
    /* Behind a pointer, since it alone changes while threads read a constant index. */
    atomic_uint_fast64_t *damage_count;
};

/* What a lookup goes through: a call would cost as much as what is called. */
#define INLINED static inline __attribute__((always_inline))

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
 * Where block `position`, of which there is an offset, begins, and how many bytes a load may start
 * in; false when that is fewer than a header.
 */
INLINED bool index_packed_block(const struct index *index, enum format_section_kind kind,
                                uint64_t position, size_t header_size, const uint8_t **ret_bytes,
                                uint64_t *ret_size) {
    const struct index_section *section = &index->sections[kind];
    /* An offset of 0, which none has here, is one of 4 GiB. */
    uint32_t offset =
        index_load_u32(index->sections[kind - 1].bytes + position * sizeof(uint32_t)) - 1;
    *ret_bytes = section->bytes + offset;
    *ret_size = section->limit - offset;
    return offset + header_size <= section->limit;
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
INLINED enum interval_block_state index_interval_block(const struct index *index, uint64_t position,
                                                       unsigned shift,
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
    unsigned upper_shift = shift - header.low_bits;
    if (upper_shift > FORMAT_UPPER_SHIFT_MAX || header.low_bits > FORMAT_LOW_BITS_MAX ||
        (header.scope_bits | header.line_bits | header.column_bits) & 0xc0 ||
        block->record_count == 0)
        return INTERVAL_BLOCK_DAMAGED;
    uint64_t count = block->record_count;
    block->upper_count = count + ((uint64_t)1 << upper_shift);
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

enum record_state { RECORD_GOOD, RECORD_EXCEPTION, RECORD_DAMAGED };

/* Whether a line code sends to an exception. */
static inline bool line_code_is_exception(uint64_t code, unsigned line_bits) {
    return code == ((uint64_t)1 << line_bits) - 1;
}

/* What a record whose run is known says; for an exception, all but miss, file and line. */
INLINED enum record_state interval_block_answer(const struct index *index,
                                                const struct interval_block *block, uint32_t record,
                                                uint32_t run, struct bit_ways ways,
                                                struct index_hit *ret_hit) {
    uint64_t scope_at = block->scopes_at + (uint64_t)run * block->scope_bits;
    if (scope_at + block->scope_bits > block->bit_count)
        return RECORD_DAMAGED;
    uint32_t scope =
        (uint32_t)ways.cut(bit_field_shifted(block->bits, scope_at), block->scope_bits);
    unsigned line_bits = block->line_bits;
    uint64_t at = block->rows_at + (uint64_t)record * (line_bits + block->column_bits);
    uint64_t row = bit_field_shifted(block->bits, at);
    uint32_t code = (uint32_t)ways.cut(row, line_bits);
    uint32_t number = scope ? block->scope_base + scope - 1 : 0;
    if (scope != 0 && number - 1 >= index->sections[FORMAT_SCOPES].count)
        return RECORD_DAMAGED;
    *ret_hit = (struct index_hit){
        .chain = {.scope = number,
                  .line = code,
                  .column = (uint32_t)ways.cut(row >> line_bits, block->column_bits)},
        .miss = code ? SYMBOL_MISS_NONE : SYMBOL_MISS_NO_LINE,
    };
    if (line_code_is_exception(code, line_bits))
        return RECORD_EXCEPTION;
    if (scope == 0) {
        ret_hit->miss = SYMBOL_MISS_NO_RANGE;
        return code ? RECORD_DAMAGED : RECORD_GOOD;
    }
    return RECORD_GOOD;
}

/* Fills in what the exception of a record says. */
bool index_exception_hit(const struct interval_block *block, uint32_t record,
                         struct index_hit *hit);

/* The whole answer of a record whose run is known; false when it is damaged. */
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

/* --- rows of scopes, functions and files --- */

/*
 * The short way to a row, for lookups: false when anything is out of the ordinary, be it damage or
 * a row of more than 57 bits; the long way (row_block) then finds out what. `row` begins with the
 * first field.
 */
struct quick_row {
    const uint8_t *header;
    const uint8_t *bits;
    uint64_t left; /* bytes behind `bits` in which a load may begin */
    uint64_t row;
    uint32_t at; /* the row's first bit */
    uint32_t widths;
    uint32_t size; /* of a row, in bits */
};

INLINED bool quick_row(const struct index *index, enum format_section_kind kind, uint32_t position,
                       size_t header_size, size_t widths_at, uint32_t widths_mask,
                       struct quick_row *ret_row) {
    const struct index_section *section = &index->sections[kind];
    if (position >= section->count)
        return false;
    const uint8_t *offsets = index->sections[kind - 1].bytes;
    /* An offset of 0, which none has here, is one of 4 GiB. */
    uint32_t offset = index_load_u32(offsets + position / FORMAT_BLOCK_RECORDS * sizeof(uint32_t)) -
                      1;
    uint64_t rows = offset + header_size;
    uint64_t left = section->limit - rows;
    const uint8_t *header = section->bytes + offset;
    if (rows > section->limit)
        return false;
    uint32_t widths = index_load_u32(header + widths_at) & widths_mask;
    /* No sum of four widths below 64 leaves the highest byte. */
    uint32_t size = widths * 0x01010101 >> 24;
    uint32_t at = position % FORMAT_BLOCK_RECORDS * size;
    if ((widths & 0xc0c0c0c0) != 0 || size > 57 || (at + size) / 8 > left)
        return false;
    const uint8_t *bits = header + header_size;
    *ret_row = (struct quick_row){
        .header = header,
        .bits = bits,
        .left = left,
        .row = bit_field_word(bits + at / 8) >> (at % 8),
        .at = at,
        .widths = widths,
        .size = size,
    };
    return true;
}

/* Cuts the first field off. */
INLINED uint32_t quick_take(struct quick_row *row, struct bit_ways ways) {
    unsigned width = row->widths & 0xff;
    uint32_t field = (uint32_t)ways.cut(row->row, width);
    row->row >>= width;
    row->widths >>= 8;
    return field;
}

/* Asks for the cache lines in which a row will be looked for, by the rows' mean size. */
INLINED void quick_prefetch(const struct index *index, enum format_section_kind kind,
                            uint32_t position) {
    const struct index_section *section = &index->sections[kind];
    if (position >= section->count)
        return;
    const uint8_t *offsets = index->sections[kind - 1].bytes;
    uint32_t offset = index_load_u32(offsets + position / FORMAT_BLOCK_RECORDS * sizeof(uint32_t)) -
                      1;
    const uint8_t *header = section->bytes + offset;
    __builtin_prefetch(header);
    __builtin_prefetch(header + (size_t)(position % FORMAT_BLOCK_RECORDS + 4) * section->mean_size);
}

/* A block with rows of up to four fields of fixed width. */
struct row_block {
    const uint8_t *header;
    const uint8_t *bits;
    uint64_t bit_count; /* that may be read */
    uint32_t widths;    /* the first in the lowest byte */
    uint32_t row_bits;
    uint32_t record_count;
};

struct row {
    uint64_t fields[4];
};

INLINED unsigned row_width(const struct row_block *block, unsigned field) {
    return block->widths >> (8 * field) & 0xff;
}

/* The number of records in a block of a section with `count` records. */
INLINED uint32_t index_block_records(uint64_t count, uint64_t position) {
    uint64_t left = count - position * FORMAT_BLOCK_RECORDS;
    return left < FORMAT_BLOCK_RECORDS ? (uint32_t)left : FORMAT_BLOCK_RECORDS;
}

/*
 * A block whose header has its widths at `widths_at`; all its rows are inside the section. Widths
 * are only kept from making shifts undefined: a wrong one gives wrong numbers, and all numbers are
 * checked where they are used.
 */
INLINED bool index_row_block(const struct index *index, enum format_section_kind kind,
                             uint64_t position, size_t header_size, size_t widths_at,
                             uint32_t widths_mask, struct row_block *ret_block) {
    const uint8_t *bytes;
    uint64_t size;
    if (!index_packed_block(index, kind, position, header_size, &bytes, &size))
        return false;
    uint32_t widths = index_load_u32(bytes + widths_at) & widths_mask;
    uint32_t row_bits = (widths & 0xff) + (widths >> 8 & 0xff) + (widths >> 16 & 0xff) +
                        (widths >> 24);
    uint32_t count = index_block_records(index->sections[kind].count, position);
    *ret_block = (struct row_block){
        .header = bytes,
        .bits = bytes + header_size,
        .bit_count = (size - header_size) * 8,
        .widths = widths,
        .row_bits = row_bits,
        .record_count = count,
    };
    return (widths & 0xc0c0c0c0) == 0 && (uint64_t)count * row_bits <= ret_block->bit_count;
}

INLINED uint64_t row_block_end(const struct row_block *block) {
    return (uint64_t)block->record_count * block->row_bits;
}

/* Rows of up to 57 bits, which is all but a few, are one load. */
INLINED struct row row_get(const struct row_block *block, uint32_t record) {
    uint64_t at = (uint64_t)record * block->row_bits;
    const unsigned w0 = row_width(block, 0);
    const unsigned w1 = row_width(block, 1);
    const unsigned w2 = row_width(block, 2);
    const unsigned w3 = row_width(block, 3);
    if (__builtin_expect(block->row_bits <= 57, 1)) {
        uint64_t row = bit_field_word(block->bits + at / 8) >> (at % 8);
        return (struct row){{bit_field_cut(row, w0), bit_field_cut(row >> w0, w1),
                             bit_field_cut(row >> (w0 + w1), w2),
                             bit_field_cut(row >> (w0 + w1 + w2), w3)}};
    }
    return (struct row){{bit_field(block->bits, at, w0), bit_field(block->bits, at + w0, w1),
                         bit_field(block->bits, at + w0 + w1, w2),
                         bit_field(block->bits, at + w0 + w1 + w2, w3)}};
}

/* --- scopes --- */

struct scope_record {
    uint32_t function;
    uint32_t parent; /* distance */
    uint32_t line_code;
    uint32_t column;
};

INLINED bool index_scope_block(const struct index *index, uint64_t position,
                               struct row_block *ret_block) {
    return index_row_block(index, FORMAT_SCOPES, position, sizeof(struct format_scope_block),
                           offsetof(struct format_scope_block, function_bits), UINT32_MAX,
                           ret_block);
}

INLINED struct scope_record scope_block_get(const struct row_block *block, uint32_t record) {
    struct row row = row_get(block, record);
    return (struct scope_record){
        .function =
            index_load_u32(block->header + offsetof(struct format_scope_block, function_base)) +
            (uint32_t)row.fields[0],
        .parent = (uint32_t)row.fields[1],
        .line_code = (uint32_t)row.fields[2],
        .column = (uint32_t)row.fields[3],
    };
}

INLINED bool scope_row_is_exception(const struct row_block *block,
                                    const struct scope_record *scope) {
    return line_code_is_exception(scope->line_code, row_width(block, 2));
}

INLINED uint64_t scope_block_entry_mask(const struct row_block *block) {
    return index_load_u64(block->header);
}

/* Where the entry pcs of a block end; UINT64_MAX when they are not inside the section. */
uint64_t scope_block_entries_end(const struct row_block *block);

/* Of a scope in entry_mask; false when it is damaged. */
bool scope_block_entry(const struct row_block *block, uint32_t record, uint64_t *ret_pc);

/* The exceptions of a block; false when they are not inside the section. */
bool scope_block_exceptions(const struct row_block *block, struct exception_list *ret_list);

/* --- functions --- */

struct function_record {
    struct span name;
    uint32_t file;
    uint32_t line;
    uint32_t attributes;
};

INLINED uint32_t index_attributes_origin(uint32_t attributes) {
    return attributes >> FORMAT_ATTRIBUTE_ORIGIN_SHIFT & FORMAT_ATTRIBUTE_ORIGIN_MASK;
}

INLINED bool index_function_block(const struct index *index, uint64_t position,
                                  struct row_block *ret_block) {
    return index_row_block(index, FORMAT_FUNCTIONS, position, sizeof(struct format_function_block),
                           offsetof(struct format_function_block, end_bits), UINT32_MAX, ret_block);
}

/* The bytes of a section from base + begin to base + end. */
INLINED bool index_section_span(const struct index *index, enum format_section_kind kind,
                                uint64_t base, uint64_t begin, uint64_t end,
                                struct span *ret_span) {
    const struct index_section *section = &index->sections[kind];
    if (begin > end || base > section->size || end > section->size - base)
        return false;
    *ret_span = span_of(section->bytes + base + begin, end - begin);
    return true;
}

/* Where the strings that rows name the ends of begin and end. */
INLINED uint64_t row_string_begin(const struct row_block *block, uint32_t record) {
    uint64_t at = (uint64_t)(record - 1) * block->row_bits;
    return record ? bit_field(block->bits, at, row_width(block, 0)) : 0;
}

/* False when there is no such function or its name is not in the file. */
INLINED bool index_function(const struct index *index, uint32_t number,
                            struct function_record *ret_record) {
    struct row_block block;
    uint32_t position = number - 1;
    if (position >= index->sections[FORMAT_FUNCTIONS].count ||
        !index_function_block(index, position / FORMAT_BLOCK_RECORDS, &block))
        return false;
    uint32_t record = position % FORMAT_BLOCK_RECORDS;
    struct row row = row_get(&block, record);
    ret_record->file =
        index_load_u32(block.header + offsetof(struct format_function_block, file_base)) +
        (uint32_t)row.fields[1];
    ret_record->line = (uint32_t)row.fields[2];
    ret_record->attributes =
        index_load_u32(block.header + offsetof(struct format_function_block, attribute_base)) +
        (uint32_t)row.fields[3];
    return index_section_span(index, FORMAT_NAME_BYTES, index_load_u64(block.header),
                              row_string_begin(&block, record), row.fields[0], &ret_record->name);
}

/* --- files --- */

INLINED bool index_file_block(const struct index *index, uint64_t position,
                              struct row_block *ret_block) {
    return index_row_block(index, FORMAT_FILES, position, sizeof(struct format_file_block),
                           offsetof(struct format_file_block, end_bits), 0xffff, ret_block);
}

struct file_parts {
    struct span directory;
    struct span name;
};

INLINED bool index_directory(const struct index *index, uint32_t number, struct span *ret_bytes) {
    const struct index_section *ends = &index->sections[FORMAT_DIRECTORY_ENDS];
    *ret_bytes = (struct span){NULL, 0};
    if (number == 0)
        return true;
    if (number > ends->count)
        return false;
    const uint8_t *end_at = ends->bytes + (uint64_t)(number - 1) * sizeof(uint32_t);
    uint64_t begin = number == 1 ? 0 : index_load_u32(end_at - sizeof(uint32_t));
    return index_section_span(index, FORMAT_DIRECTORY_BYTES, 0, begin, index_load_u32(end_at),
                              ret_bytes);
}

INLINED bool index_file_parts(const struct index *index, uint32_t number,
                              struct file_parts *ret_parts) {
    struct row_block block;
    uint32_t position = number - 1;
    if (position >= index->sections[FORMAT_FILES].count ||
        !index_file_block(index, position / FORMAT_BLOCK_RECORDS, &block))
        return false;
    uint32_t record = position % FORMAT_BLOCK_RECORDS;
    struct row row = row_get(&block, record);
    uint32_t directory =
        index_load_u32(block.header + offsetof(struct format_file_block, directory_base)) +
        (uint32_t)row.fields[1];
    return index_section_span(index, FORMAT_PATH_BYTES, index_load_u64(block.header),
                              row_string_begin(&block, record), row.fields[0], &ret_parts->name) &&
           index_directory(index, directory, &ret_parts->directory);
}

/* The path of both in one piece: in `room` of FORMAT_JOINED_PATH_MAX bytes if there is a directory;
 * false when that does not hold it. */
INLINED bool index_join(struct span directory, struct span name, char *room,
                        struct span *ret_path) {
    *ret_path = name;
    if (directory.size == 0)
        return true;
    if (directory.size > FORMAT_JOINED_PATH_MAX ||
        name.size > FORMAT_JOINED_PATH_MAX - directory.size)
        return false;
    memcpy(room, directory.data, directory.size);
    memcpy(room + directory.size, name.data, name.size);
    *ret_path = span_of(room, directory.size + name.size);
    return true;
}

/* True and the path of file `number` (0 is the empty span), joined in `room`; or false: no such
 * file. */
INLINED bool index_file(const struct index *index, uint32_t number, char *room,
                        struct span *ret_path) {
    struct file_parts parts;
    *ret_path = (struct span){NULL, 0};
    if (number == 0)
        return true;
    return index_file_parts(index, number, &parts) &&
           index_join(parts.directory, parts.name, room, ret_path);
}

/* Takes one id from the front; false when it is damaged, and then nothing more can be taken. */
bool index_take_id(struct span *ids, struct binary_id *ret_id);
