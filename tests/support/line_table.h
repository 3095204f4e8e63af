/* A hand-made line table, and what the reader makes of it. */
#pragma once

#include "debuginfo/dwarf_line.h"
#include "tests/support/dwarf_bytes.h"

/* Set the fields, then begin; put opcodes; finish; visit. */
struct line_site {
    uint16_t version;
    uint8_t address_size;
    uint8_t offset_size;
    uint8_t min_instruction_length;
    uint8_t operations_max;
    uint8_t opcode_base;
    uint8_t line_range;
    bool default_is_stmt;

    struct dwarf_bytes line;
    struct dwarf_bytes line_str;
    struct dwarf_bytes str;
    struct dwarf_bytes str_offsets;
    struct dwarf_sections sections;
    struct dwarf_unit_bases bases;
    struct dwarf_extents extents;
    struct dwarf_line_table *table;
    size_t length_at;
    size_t header_length_at;

    /* What a visit saw: a text line per sequence, "1000:5 1004:6 -1008", and the last one's rows.
     */
    struct buffer seen;
    struct dwarf_row last_rows[16];
    struct dwarf_sequence last;
    bool damaged;
};

/* Version 4 with addresses of 8 bytes and code at [0x1000, 0x9000). */
void line_site_init(struct line_site *site);
void line_site_clear(struct line_site *site);

/* The header up to the lists of files, which the test puts, and then the program. */
void line_site_begin(struct line_site *site);
void line_site_begin_program(struct line_site *site);
void line_site_finish(struct line_site *site);

/* Header with one file "a.c" in the compilation directory, ready for opcodes. */
void line_site_begin_simple(struct line_site *site);

void put_set_address(struct line_site *site, uint64_t address);
void put_advance_line(struct line_site *site, int64_t lines);
void put_advance_pc(struct line_site *site, uint64_t operations);
void put_copy(struct line_site *site);
void put_extended(struct line_site *site, uint8_t opcode, struct span operands);
void put_end_sequence(struct line_site *site);

enum err line_site_open(struct line_site *site);
/* Finishes, opens, visits: what was seen. */
const char *line_site_visit(struct line_site *site);
