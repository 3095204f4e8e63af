/*
 * The files of all units that one shard speaks of, as the sink numbers them: each path is composed
 * and handed over once for each unit that names it. For one thread.
 */
#pragma once

#include "base/symbol_source.h"
#include "debuginfo/dwarf_line.h"
#include "debuginfo/dwarf_unit.h"
#include "debuginfo/place_map.h"

/* Headers of line tables that are kept open. Declarations in other units come in no order. */
#define FOREIGN_TABLE_MAX 64

struct foreign_table {
    const struct dwarf_unit *unit; /* whose table is open; NULL: none is */
    struct dwarf_line_table *table;
};

/* A file of the present unit. */
struct present_file {
    uint32_t unit_count; /* of the unit that it was asked for; an older one means nothing */
    uint32_t number;     /* the sink's */
};

struct push_files {
    struct symbol_sink *sink;
    const struct dwarf_unit *unit;  /* the present one */
    struct dwarf_line_table *table; /* its line table; without files if it has none */
    bool table_damaged;             /* its header cannot be read */
    uint32_t unit_count;            /* units entered so far, the present one among them */
    struct present_file *present;   /* by index */
    struct present_file own;        /* what indexes mean that the table does not have */
    uint32_t present_count;
    size_t present_capacity;
    struct place_map others; /* numbers of files of other units, by unit and index */
    struct foreign_table foreign[FOREIGN_TABLE_MAX];
    struct buffer path;
};

/* Zero-initialise with the sink; end with push_files_clear. */
void push_files_clear(struct push_files *files);

/* Opens the line table of the unit that is pushed next. */
enum err push_files_enter(struct push_files *files, const struct dwarf_unit *unit,
                          struct error *error);

/* The sink's number of a file of the present unit's line table; that of the unit's own file where
 * the table has no such index. 0: nothing is known. */
enum err push_files_number(struct push_files *files, uint64_t index, uint32_t *ret_number,
                           struct error *error);

/* The same for DW_AT_decl_file or DW_AT_call_file of any unit, where an index of 0 can mean that no
 * file is named. */
enum err push_files_declared(struct push_files *files, const struct dwarf_unit *unit,
                             uint64_t index, uint32_t *ret_number, struct error *error);
