#include <stdlib.h>
#include <string.h>

#include "debuginfo/dwarf_cursor.h"
#include "debuginfo/dwarf_line_internal.h"

struct dwarf_line_table *dwarf_line_table_new(void) {
    return calloc(1, sizeof(struct dwarf_line_table));
}

void dwarf_line_table_free(struct dwarf_line_table *table) {
    if (!table)
        return;
    free(table->directories.items);
    free(table->files.items);
    free(table->rows.items);
    free(table->rows.sorted);
    free(table);
}

void dwarf_line_table_close(struct dwarf_line_table *table) {
    table->sections = NULL;
    table->directories.count = 0;
    table->files.count = 0;
    table->header_file_count = 0;
    table->files_damaged = false;
}

bool dwarf_line_table_files_damaged(const struct dwarf_line_table *table) {
    return table->files_damaged;
}

/* What a special opcode adds to the address and to the line (DWARF 5, 6.2.5.1). */
static void make_steps(struct dwarf_line_table *table) {
    const struct line_opcodes *opcodes = &table->opcodes;
    if (memcmp(opcodes, &table->steps_of, sizeof(*opcodes)) == 0)
        return;
    memset(table->steps, 0, sizeof(table->steps));
    for (unsigned i = opcodes->opcode_base; i < 256 && opcodes->line_range > 0; i++) {
        unsigned adjusted = i - opcodes->opcode_base;
        table->steps[i].operations = (uint16_t)(adjusted / opcodes->line_range);
        table->steps[i].lines =
            (int16_t)(opcodes->line_base + (int)(adjusted % opcodes->line_range));
    }
    table->steps_of = *opcodes;
}

static enum err read_opcodes(struct dwarf_line_table *table, struct cursor *cursor,
                             struct error *error) {
    table->min_instruction_length = cursor_u8(cursor);
    table->operations_max = table->version >= 4 ? cursor_u8(cursor) : 1;
    if (table->operations_max == 0)
        table->operations_max = 1;
    table->default_is_stmt = cursor_u8(cursor) != 0;
    table->opcodes.line_base = (int8_t)cursor_u8(cursor);
    table->opcodes.line_range = cursor_u8(cursor);
    table->opcodes.opcode_base = cursor_u8(cursor);
    memset(table->operand_counts, 0, sizeof(table->operand_counts));
    for (unsigned i = 1; i < table->opcodes.opcode_base; i++)
        table->operand_counts[i] = cursor_u8(cursor);
    if (!cursor_failed(cursor) && table->opcodes.opcode_base == 0)
        return error_set(error, ERR_MALFORMED, ".debug_line: opcode_base is 0");
    make_steps(table);
    return cursor_check(cursor, error);
}

/* Version and sizes; the cursor then ends with the table. */
static enum err read_start(struct dwarf_line_table *table, const struct dwarf_unit_bases *bases,
                           struct cursor *cursor, struct error *error) {
    uint64_t length = cursor_initial_length(cursor, &table->offset_size);
    if (cursor_failed(cursor))
        return cursor_check(cursor, error);
    cursor->end = cursor->position + length;
    table->version = cursor_u16(cursor);
    if (!cursor_failed(cursor) && (table->version < 2 || table->version > 5))
        return error_set(error, ERR_UNSUPPORTED, ".debug_line: version %u", table->version);
    table->address_size = bases->encoding.address_size;
    uint8_t selector_size = 0;
    if (table->version >= 5) {
        table->address_size = cursor_u8(cursor);
        selector_size = cursor_u8(cursor);
    }
    if (!cursor_failed(cursor) &&
        (table->address_size == 0 || table->address_size > 8 || selector_size > 0))
        return error_set(error, ERR_UNSUPPORTED,
                         ".debug_line: addresses of %u bytes, segment selectors of %u",
                         table->address_size, selector_size);
    return cursor_check(cursor, error);
}

static enum err read_header(struct dwarf_line_table *table, const struct dwarf_unit_bases *bases,
                            struct cursor *cursor, struct error *error) {
    enum err err = read_start(table, bases, cursor, error);
    if (err)
        return err;
    uint64_t header_length = cursor_unsigned(cursor, table->offset_size);
    table->program = *cursor;
    cursor_skip(&table->program, header_length);
    err = cursor_check(&table->program, error);
    if (err)
        return err;
    cursor->end = table->program.position;
    err = read_opcodes(table, cursor, error);
    if (!err)
        err = line_entries_read(table, cursor, error);
    return err;
}

static bool is_open_at(const struct dwarf_line_table *table, const struct dwarf_sections *sections,
                       const struct dwarf_unit_bases *bases, uint64_t offset) {
    return table->sections == sections && table->offset == offset &&
           (const char *)table->program.start == sections->line.data &&
           (table->version >= 5 || table->address_size == bases->encoding.address_size);
}

enum err dwarf_line_table_open(struct dwarf_line_table *table,
                               const struct dwarf_sections *sections,
                               const struct dwarf_unit_bases *bases, uint64_t offset,
                               struct error *error) {
    table->unit_offset_size = bases->encoding.offset_size;
    table->str_offsets_base = bases->str_offsets_base;
    if (is_open_at(table, sections, bases, offset))
        return ERR_OK;
    dwarf_line_table_close(table);
    table->sections = sections;
    table->offset = offset;
    struct cursor cursor = cursor_of(sections->line, bases->encoding.big_endian, ".debug_line");
    cursor_seek(&cursor, offset);
    enum err err = read_header(table, bases, &cursor, error);
    table->header_file_count = table->files.count;
    if (err)
        dwarf_line_table_close(table);
    return err;
}
