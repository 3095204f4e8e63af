/*
 * What the files of the line table reader share. dwarf_line_header.c owns the object and reads a
 * table's header, dwarf_line_files.c the lists in it, of which dwarf_line_path.c makes paths;
 * dwarf_line_program.c runs the program, dwarf_line_rows.c turns what it emits into sequences.
 */
#pragma once

#include "base/cursor.h"
#include "debuginfo/dwarf_line.h"

/* A directory or file as the table states it; its name is looked up only when a path is made. */
struct line_entry {
    uint64_t name;      /* by the form: an offset or an index; of an inline one in .debug_line */
    uint32_t directory; /* of a file */
    uint16_t form;      /* 0: it has no name that can be read */
};

struct line_entry_list {
    struct line_entry *items;
    size_t count;
    size_t capacity;
};

enum err line_entry_list_add(struct line_entry_list *list, struct line_entry entry,
                             struct error *error);

/* The rows of the present sequence; the memory is used for all of them. */
struct line_rows {
    struct dwarf_row *items;
    struct dwarf_row *sorted; /* room for as many; taken when first needed */
    size_t count;
    size_t capacity;
    size_t sorted_capacity;
    bool unordered; /* some address is below the one before */
};

/* How special opcodes advance, which most tables of a file have in common. */
struct line_opcodes {
    uint8_t opcode_base;
    uint8_t line_range;
    int8_t line_base;
};

struct line_step {
    uint16_t operations;
    int16_t lines;
};

struct dwarf_line_table {
    const struct dwarf_sections *sections; /* NULL: closed */
    uint64_t offset;
    uint16_t version;
    uint8_t address_size;
    uint8_t offset_size;
    uint8_t unit_offset_size; /* of .debug_str_offsets */
    uint64_t str_offsets_base;

    uint8_t min_instruction_length;
    uint8_t operations_max; /* per instruction; at least 1 */
    bool default_is_stmt;
    struct line_opcodes opcodes;
    struct line_opcodes steps_of; /* what the steps were made for */
    struct line_step steps[256];  /* by opcode, from opcode_base on */
    uint8_t operand_counts[256];  /* of standard opcodes */
    struct cursor program;        /* over the section, ending with the table */

    struct line_entry_list directories;
    struct line_entry_list files;
    size_t header_file_count; /* those behind it were defined by the program */
    bool files_damaged;

    struct line_rows rows;

    /* Bytes of programs run so far. Tables that a compiler wrote do not overlap. */
    uint64_t run_size;
    const char *run_in; /* the section that they are of */
};

/* Hostile tables may overlap, each a little shorter than the one before. A push runs each program
 * once, a lookup twice. */
#define LINE_RUN_FACTOR 4
#define LINE_RUN_SLACK ((uint64_t)1 << 20)

/* Reads directories and files, from behind standard_opcode_lengths up to the cursor's end. What
 * breaks the format ends the list. Fails for lack of memory. */
enum err line_entries_read(struct dwarf_line_table *table, struct cursor *cursor,
                           struct error *error);

/* One entry of the kind that versions 2 to 4 list: name, directory index, time, size. False when
 * the name is empty, which ends the list. */
bool line_file_read(const struct dwarf_line_table *table, struct cursor *cursor,
                    struct line_entry *ret_file);

enum err line_rows_grow(struct line_rows *rows, struct error *error);

/* Turns the rows into a sequence that ends at `end`, with no rows if nothing is left, and forgets
 * them; `ret_sequence` is valid until the next row. */
enum err line_rows_finish(struct line_rows *rows, uint64_t end, struct dwarf_sequence *ret_sequence,
                          struct error *error);
