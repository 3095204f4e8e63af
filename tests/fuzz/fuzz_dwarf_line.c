/*
 * Input: a byte of flags and .debug_line, which also serves as the sections with strings.
 *     1 big endian   2 addresses of 4 bytes   4 no extents   128 sound: must be read without damage
 *
 * Property: each sequence has rows, ascending, the first one live, all below its end; a lookup
 * finds each row at its address; there are no more rows than bytes; paths are bounded; a second
 * visit sees the same. Sound tables have rows.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo/dwarf_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct pc_range code[] = {{0x1000, 0x10000000}};

struct check {
    struct dwarf_sequence_visitor visitor;
    const struct dwarf_extents *extents;
    const struct dwarf_line_table *table;
    uint8_t address_size;
    uint64_t rows;
    uint64_t hash;
    uint64_t next_number;
};

/* Every index of every row would take quadratic time on hostile tables. */
static void check_path(const struct check *check, uint64_t index) {
    const struct dwarf_line_origin origin = {.comp_dir = span_cstr("/comp"),
                                             .name = span_cstr("unit.c")};
    struct buffer path = {0};
    dwarf_line_path(check->table, index, &origin, &path);
    assert(path.size <= 3 * DWARF_PATH_SIZE_MAX + 2);
    if (!dwarf_line_table_has_file(check->table, index))
        assert(span_equal_cstr(buffer_span(&path), "/comp/unit.c"));
    buffer_clear(&path);
}

static enum err check_sequence(struct dwarf_sequence_visitor *visitor,
                               const struct dwarf_sequence *sequence, struct error *error) {
    (void)error;
    struct check *check = (struct check *)visitor;
    assert(sequence->count > 0);
    assert(sequence->number >= check->next_number);
    check->next_number = (uint64_t)sequence->number + 1;
    assert(dwarf_is_live(check->extents, sequence->rows[0].address, check->address_size));
    for (size_t i = 0; i < sequence->count; i++) {
        const struct dwarf_row *row = &sequence->rows[i];
        assert(row->address < sequence->end);
        assert(i == 0 || sequence->rows[i - 1].address < row->address);
        assert(dwarf_sequence_find(sequence, row->address) == row);
        check->hash = check->hash * 31 + row->address + row->line + row->file;
    }
    assert(!dwarf_sequence_find(sequence, sequence->end));
    check->rows += sequence->count;
    check_path(check, sequence->rows[0].file);
    return ERR_OK;
}

static struct check visit(struct dwarf_line_table *table, const struct dwarf_extents *extents,
                          uint8_t address_size, bool *ret_damaged) {
    struct check check = {
        .visitor = {check_sequence},
        .extents = extents,
        .table = table,
        .address_size = address_size,
    };
    struct error error;
    assert(dwarf_line_visit(table, extents, &check.visitor, ret_damaged, &error) == ERR_OK);
    return check;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    uint8_t flags = data[0];
    struct span bytes = span_of(data + 1, size - 1);
    struct dwarf_sections sections = {
        .line = bytes, .str = bytes, .line_str = bytes, .str_offsets = bytes};
    struct dwarf_unit_bases bases = {.encoding = {5, flags & 2 ? 4 : 8, 4, flags & 1}};
    struct dwarf_extents extents = {code, flags & 4 ? 0 : 1};
    struct dwarf_line_table *table = dwarf_line_table_new();
    assert(table);
    struct error error;
    enum err err = dwarf_line_table_open(table, &sections, &bases, 0, &error);
    assert(err == ERR_OK || err == ERR_MALFORMED || err == ERR_UNSUPPORTED);
    bool damaged = err != ERR_OK || dwarf_line_table_files_damaged(table);
    /* The size of addresses stands in version 5 tables; with that of the unit a tombstone of
     * another size could count as live. */
    uint8_t address_size = 8;
    struct check first = visit(table, &extents, address_size, &damaged);
    struct check second = visit(table, &extents, address_size, &damaged);
    assert(first.rows <= size && first.rows == second.rows && first.hash == second.hash);
    for (uint64_t i = 0; i < 20; i++)
        check_path(&second, i < 16 ? i : UINT64_MAX >> i);
    if (flags & 128)
        assert(!damaged && first.rows > 0);
    dwarf_line_table_free(table);
    return 0;
}
