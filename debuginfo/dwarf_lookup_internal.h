/* What dwarf_lookup.c (functions), dwarf_lookup_units.c, dwarf_lookup_rows.c and dwarf_survey.c
 * share. */
#pragma once

#include "debuginfo/dwarf_lookup.h"
#include "debuginfo/range_index.h"

struct lookup_sequence {
    uint64_t end;
    size_t row_first;
    size_t row_count;
};

struct lookup_unit {
    struct range_list ranges; /* what the unit says it covers, as far as it is live; joined */
    bool may_have_more;       /* may hold code outside of `ranges` */
    bool functions_read;      /* which of the lists below have been read */
    bool rows_read;
    struct range_index function_ranges; /* ids are positions in `functions` */
    const uint8_t **functions;          /* DIEs */
    size_t function_count;
    size_t function_capacity;
    struct range_index sequence_ranges; /* ids are positions in `sequences` */
    struct lookup_sequence *sequences;
    size_t sequence_count;
    size_t sequence_capacity;
    struct dwarf_row *rows;
    size_t row_count;
    size_t row_capacity;
};

struct dwarf_lookup {
    const struct dwarf_info *info;
    const struct dwarf_extents *extents;
    struct string_pool *strings;
    struct lookup_unit *units; /* by number */
    size_t unit_count;
    struct range_index stated; /* all units' ranges, once they are worth sorting */
    bool has_stated;
    unsigned questions;   /* asked while they were not sorted */
    uint32_t *candidates; /* numbers of units, ascending; of the present question */
    size_t candidate_count;
    struct dwarf_code_walk code;
    struct dwarf_line_table *table;
    const struct dwarf_unit *table_unit; /* whose table is open; NULL: none is */
    struct buffer path;
    bool paths_are_relative;
    bool surveyed; /* may_have_more is true only of units that do */
};

/* Finds the units that say they cover pc or, if `hidden`, the others that may do so all the same.
 */
enum err lookup_find_candidates(struct dwarf_lookup *lookup, uint64_t pc, bool hidden,
                                struct error *error);
void lookup_units_clear(struct dwarf_lookup *lookup);

/* Opens the line table of the unit; one that cannot be read has no files and no rows. */
enum err lookup_open_table(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                           struct error *error);
