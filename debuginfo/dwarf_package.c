#include "debuginfo/dwarf_package.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/cursor.h"

/* DW_SECT_* (DWARF 5, 7.3.5.3); version 2 has .debug_types as 2. The others are not read. */
enum package_section {
    SECTION_INFO = 1,
    SECTION_TYPES = 2,
    SECTION_ABBREV = 3,
    SECTION_LINE = 4,
    SECTION_STR_OFFSETS = 6,
    SECTION_RNGLISTS = 8, /* of version 5; version 2 has macros there */
    SECTION_COUNT = 9,
};

/* A row by where its part of .debug_info begins. */
struct package_row {
    uint64_t begin;
    uint32_t row;
};

struct dwarf_package_index {
    struct cursor bytes;
    uint32_t version;
    uint32_t column_count;
    uint32_t unit_count;
    uint32_t slot_count;
    uint64_t ids_at; /* offsets in the section */
    uint64_t rows_at;
    uint64_t offsets_at;
    uint64_t sizes_at;
    uint32_t columns[SECTION_COUNT]; /* of a section, counted from 1; 0: there is none */
    struct package_row *by_offset;   /* ascending */
};

static uint32_t number_at(const struct dwarf_package_index *index, uint64_t offset) {
    struct cursor cursor = index->bytes;
    cursor_seek(&cursor, offset);
    return cursor_u32(&cursor);
}

static struct dwarf_part part_of(const struct dwarf_package_index *index, uint32_t row,
                                 enum package_section section) {
    uint32_t column = index->columns[section];
    if (column == 0)
        return (struct dwarf_part){0};
    uint64_t cell = 4 * ((uint64_t)row * index->column_count + column - 1);
    return (struct dwarf_part){number_at(index, index->offsets_at + cell),
                               number_at(index, index->sizes_at + cell)};
}

static struct dwarf_part info_of(const struct dwarf_package_index *index, uint32_t row) {
    return part_of(index, row, index->columns[SECTION_INFO] ? SECTION_INFO : SECTION_TYPES);
}

static void read_row(const struct dwarf_package_index *index, uint32_t row,
                     struct dwarf_parts *ret_parts) {
    *ret_parts = (struct dwarf_parts){
        .info = info_of(index, row),
        .abbrev = part_of(index, row, SECTION_ABBREV),
        .line = part_of(index, row, SECTION_LINE),
        .str_offsets = part_of(index, row, SECTION_STR_OFFSETS),
    };
    if (index->version >= 5)
        ret_parts->rnglists = part_of(index, row, SECTION_RNGLISTS);
}

/* The header of version 5 has 2 bytes of version and 2 of padding where that of 2 has 4. */
static uint32_t read_version(struct cursor cursor) {
    struct cursor again = cursor;
    return cursor_u16(&again) == 5 ? 5 : cursor_u32(&cursor);
}

static enum err read_header(struct dwarf_package_index *index, struct error *error) {
    struct cursor *bytes = &index->bytes;
    index->version = read_version(*bytes);
    cursor_skip(bytes, 4);
    index->column_count = cursor_u32(bytes);
    index->unit_count = cursor_u32(bytes);
    index->slot_count = cursor_u32(bytes);
    if (!cursor_failed(bytes) && index->version != 2 && index->version != 5)
        return error_set(error, ERR_UNSUPPORTED, "%s: version %u", bytes->name, index->version);
    /* The hash table is probed in steps that reach all slots of a power of two. */
    if (!cursor_failed(bytes) &&
        ((index->slot_count & (index->slot_count - 1)) != 0 || index->column_count > UINT16_MAX))
        return error_set(error, ERR_MALFORMED, "%s: %u columns, %u slots", bytes->name,
                         index->column_count, index->slot_count);
    index->ids_at = cursor_offset(bytes);
    index->rows_at = index->ids_at + (uint64_t)8 * index->slot_count;
    uint64_t columns_at = index->rows_at + (uint64_t)4 * index->slot_count;
    uint64_t row_size = (uint64_t)4 * index->column_count;
    index->offsets_at = columns_at + row_size;
    index->sizes_at = index->offsets_at + row_size * index->unit_count;
    cursor_skip(bytes, index->sizes_at + row_size * index->unit_count - index->ids_at);
    if (index->column_count == 0 && index->unit_count > 0)
        return error_set(error, ERR_MALFORMED, "%s: units without sections", bytes->name);
    for (uint32_t i = 0; i < index->column_count && !cursor_failed(bytes); i++) {
        uint32_t section = number_at(index, columns_at + (uint64_t)4 * i);
        if (section < SECTION_COUNT && index->columns[section] == 0)
            index->columns[section] = i + 1;
    }
    return cursor_check(bytes, error);
}

static int compare_rows(const void *a, const void *b) {
    const struct package_row *left = a;
    const struct package_row *right = b;
    if (left->begin != right->begin)
        return left->begin < right->begin ? -1 : 1;
    return left->row < right->row ? -1 : left->row > right->row;
}

static enum err sort_rows(struct dwarf_package_index *index, struct error *error) {
    index->by_offset = calloc((size_t)index->unit_count + 1, sizeof(*index->by_offset));
    if (!index->by_offset)
        return error_set(error, ERR_NO_MEMORY, "no memory for %u units", index->unit_count);
    for (uint32_t row = 0; row < index->unit_count; row++)
        index->by_offset[row] = (struct package_row){info_of(index, row).offset, row};
    qsort(index->by_offset, index->unit_count, sizeof(*index->by_offset), compare_rows);
    return ERR_OK;
}

enum err dwarf_package_index_new(struct span section, bool big_endian, const char *name,
                                 struct dwarf_package_index **ret_index, struct error *error) {
    CLEANUP(cleanup_dwarf_package_index)
    struct dwarf_package_index *index = calloc(1, sizeof(*index));
    if (!index)
        return error_set(error, ERR_NO_MEMORY, "no memory for an index");
    index->bytes = cursor_of(section, big_endian, name);
    enum err err = section.size > 0 ? read_header(index, error) : ERR_OK;
    if (!err)
        err = sort_rows(index, error);
    if (!err)
        *ret_index = TAKE(index);
    return err;
}

void dwarf_package_index_free(struct dwarf_package_index *index) {
    if (!index)
        return;
    free(index->by_offset);
    free(index);
}

size_t dwarf_package_index_unit_count(const struct dwarf_package_index *index) {
    return index->unit_count;
}

/* A table is at most two thirds full (DWARF 5, 7.3.5.3), so that real searches take a few steps. */
#define PROBE_MAX 4096

/* Double hashing; a slot with row 0 ends the search. */
bool dwarf_package_index_find(const struct dwarf_package_index *index, uint64_t id,
                              struct dwarf_parts *ret_parts) {
    uint64_t mask = (uint64_t)index->slot_count - 1;
    uint64_t slot = id & mask;
    uint64_t step = (id >> 32 & mask) | 1;
    for (uint32_t i = 0; i < index->slot_count && i < PROBE_MAX; i++) {
        uint32_t row = number_at(index, index->rows_at + 4 * slot);
        if (row == 0 || row > index->unit_count)
            return false;
        struct cursor cursor = index->bytes;
        cursor_seek(&cursor, index->ids_at + 8 * slot);
        if (cursor_u64(&cursor) == id) {
            read_row(index, row - 1, ret_parts);
            return true;
        }
        slot = (slot + step) & mask;
    }
    return false;
}

bool dwarf_package_index_at(const struct dwarf_package_index *index, uint64_t info_offset,
                            struct dwarf_parts *ret_parts) {
    size_t low = 0;
    size_t high = index->unit_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->by_offset[middle].begin <= info_offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    struct dwarf_parts parts;
    read_row(index, index->by_offset[low - 1].row, &parts);
    if (info_offset - parts.info.offset >= parts.info.size)
        return false;
    *ret_parts = parts;
    return true;
}
