#include "tests/support/line_table.h"

#include <dwarf.h>
#include <inttypes.h>

#include "tests/support/test.h"

static const struct pc_range code[] = {{0x1000, 0x9000}};

void line_site_init(struct line_site *site) {
    *site = (struct line_site){
        .version = 4,
        .address_size = 8,
        .offset_size = 4,
        .min_instruction_length = 1,
        .operations_max = 1,
        .opcode_base = 13,
        .line_range = 14,
        .default_is_stmt = true,
        .extents = {code, 1},
        .table = dwarf_line_table_new(),
    };
    assert_non_null(site->table);
}

void line_site_clear(struct line_site *site) {
    dwarf_line_table_free(site->table);
    dwarf_bytes_clear(&site->line);
    dwarf_bytes_clear(&site->line_str);
    dwarf_bytes_clear(&site->str);
    dwarf_bytes_clear(&site->str_offsets);
    buffer_clear(&site->seen);
}

void line_site_begin(struct line_site *site) {
    static const uint8_t operand_counts[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    struct dwarf_bytes *line = &site->line;
    site->length_at = begin_length(line, site->offset_size);
    put_number(line, 2, site->version);
    if (site->version >= 5) {
        put_u8(line, site->address_size);
        put_u8(line, 0);
    }
    site->header_length_at = line->buffer.size;
    put_number(line, site->offset_size, 0);
    put_u8(line, site->min_instruction_length);
    if (site->version >= 4)
        put_u8(line, site->operations_max);
    put_u8(line, site->default_is_stmt);
    put_u8(line, (uint8_t)-5); /* line_base */
    put_u8(line, site->line_range);
    put_u8(line, site->opcode_base);
    for (unsigned i = 1; i < site->opcode_base; i++)
        put_u8(line, i <= sizeof(operand_counts) ? operand_counts[i - 1] : 2);
}

void line_site_begin_program(struct line_site *site) {
    size_t begin = site->header_length_at + site->offset_size;
    patch_number(&site->line, site->header_length_at, site->offset_size,
                 site->line.buffer.size - begin);
}

void line_site_finish(struct line_site *site) {
    end_length(&site->line, site->length_at, site->offset_size);
    site->sections.line = dwarf_bytes_span(&site->line);
    site->sections.line_str = dwarf_bytes_span(&site->line_str);
    site->sections.str = dwarf_bytes_span(&site->str);
    site->sections.str_offsets = dwarf_bytes_span(&site->str_offsets);
    site->bases.encoding = (struct dwarf_encoding){site->version, site->address_size,
                                                   site->offset_size, site->line.big_endian};
}

void line_site_begin_simple(struct line_site *site) {
    struct dwarf_bytes *line = &site->line;
    line_site_begin(site);
    if (site->version >= 5) {
        for (unsigned list = 0; list < 2; list++) {
            put_u8(line, 1);
            put_uleb(line, DW_LNCT_path);
            put_uleb(line, DW_FORM_string);
            put_uleb(line, 1);
            put_text(line, list == 0 ? "/src" : "a.c");
        }
    } else {
        put_u8(line, 0);
        put_text(line, "a.c");
        put_bytes(line, span_of("\0\0\0", 3));
        put_u8(line, 0);
    }
    line_site_begin_program(site);
}

void put_extended(struct line_site *site, uint8_t opcode, struct span operands) {
    put_u8(&site->line, 0);
    put_uleb(&site->line, 1 + operands.size);
    put_u8(&site->line, opcode);
    put_bytes(&site->line, operands);
}

void put_set_address(struct line_site *site, uint64_t address) {
    put_u8(&site->line, 0);
    put_uleb(&site->line, 1 + site->address_size);
    put_u8(&site->line, DW_LNE_set_address);
    put_number(&site->line, site->address_size, address);
}

void put_advance_line(struct line_site *site, int64_t lines) {
    put_u8(&site->line, DW_LNS_advance_line);
    put_sleb(&site->line, lines);
}

void put_advance_pc(struct line_site *site, uint64_t operations) {
    put_u8(&site->line, DW_LNS_advance_pc);
    put_uleb(&site->line, operations);
}

void put_copy(struct line_site *site) {
    put_u8(&site->line, DW_LNS_copy);
}

void put_end_sequence(struct line_site *site) {
    put_extended(site, DW_LNE_end_sequence, (struct span){NULL, 0});
}

struct collector {
    struct dwarf_sequence_visitor visitor;
    struct line_site *site;
};

static enum err collect(struct dwarf_sequence_visitor *visitor,
                        const struct dwarf_sequence *sequence, struct error *error) {
    (void)error;
    struct line_site *site = ((struct collector *)visitor)->site;
    for (size_t i = 0; i < sequence->count; i++) {
        const struct dwarf_row *row = &sequence->rows[i];
        buffer_printf(&site->seen, "%" PRIx64 ":%" PRIu32 " ", row->address, row->line);
        if (i < 16)
            site->last_rows[i] = *row;
    }
    buffer_printf(&site->seen, "-%" PRIx64 "\n", sequence->end);
    site->last = *sequence;
    site->last.rows = site->last_rows;
    return ERR_OK;
}

enum err line_site_open(struct line_site *site) {
    struct error error;
    return dwarf_line_table_open(site->table, &site->sections, &site->bases, 0, &error);
}

const char *line_site_visit(struct line_site *site) {
    struct collector collector = {{collect}, site};
    struct error error;
    line_site_finish(site);
    assert_int_equal(line_site_open(site), ERR_OK);
    site->seen.size = 0;
    site->damaged = false;
    assert_int_equal(
        dwarf_line_visit(site->table, &site->extents, &collector.visitor, &site->damaged, &error),
        ERR_OK);
    return buffer_cstr(&site->seen);
}
