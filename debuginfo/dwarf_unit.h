/*
 * One unit of .debug_info or .debug_types, as its header and its unit DIE describe it (DWARF 5,
 * 7.5.1 and 3.1). Made by dwarf_info.h and immutable from then on, but for what is read on first
 * use: the abbreviations, which any thread may ask for.
 */
#pragma once

#include <stdatomic.h>

#include "debuginfo/dwarf_abbrev.h"
#include "debuginfo/dwarf_ranges.h"

struct dwarf_info;

struct dwarf_unit {
    const struct dwarf_info *info; /* the file that holds it */
    const uint8_t *header;
    const uint8_t *root; /* the unit DIE */
    const uint8_t *end;
    uint64_t offset; /* of the header in its section */
    uint64_t abbrev_offset;
    uint64_t id; /* signature of a type unit, DWO id of a skeleton or split unit; valid if has_id */
    uint64_t type_offset; /* of a type unit's type, from the header */
    struct dwarf_unit_bases bases;
    uint64_t gnu_ranges_base;             /* of a version 4 skeleton, for its .dwo */
    uint64_t line_offset;                 /* DW_AT_stmt_list; valid if has_line_offset */
    struct dwarf_range_attributes ranges; /* of the unit DIE */
    struct span name;
    struct span comp_dir;
    struct span dwo_name; /* of a skeleton */

    /* Split DWARF: a skeleton has the addresses and rows, its split unit the functions (3.1.2 and
     * 3.1.3). NULL: it is no such unit, or its other half is missing. */
    const struct dwarf_unit *split;    /* of a skeleton */
    const struct dwarf_unit *skeleton; /* of a split unit */
    const char *split_fault; /* of a skeleton: why its split unit is missing; NULL: it is not */

    /* Where its parts of a package's sections begin; 0 outside of packages. */
    uint64_t str_offsets_part;
    uint64_t rnglists_part;
    uint64_t line_part;
    const char *damage; /* why the unit cannot be read; NULL: it can */
    uint32_t language;  /* DW_LANG_*; 0: unknown */
    uint32_t number;    /* position among all units of the file */
    uint8_t type;       /* DW_UT_* */
    bool in_types;      /* in .debug_types */
    bool has_id;
    bool has_line_offset;
    bool has_code;   /* may hold functions: no type unit */
    bool first_rows; /* no unit before it names the same line table */
    bool in_package;

    /* Read on first use; owned by the file. */
    _Atomic(const struct dwarf_abbrevs *) abbrevs;
};

/* Where the functions of a unit are, which for others than skeletons is the unit itself. */
static inline const struct dwarf_unit *dwarf_unit_of_code(const struct dwarf_unit *unit) {
    return unit->split ? unit->split : unit;
}

/* Whose line table and ranges are those of a unit: a split unit has none of its own. */
static inline const struct dwarf_unit *dwarf_unit_of_lines(const struct dwarf_unit *unit) {
    return unit->skeleton ? unit->skeleton : unit;
}

/* The unit's abbreviations. ERR_MALFORMED, ERR_LIMIT: they cannot be read; ERR_NO_MEMORY. */
enum err dwarf_unit_abbrevs(const struct dwarf_unit *unit, const struct dwarf_abbrevs **ret_abbrevs,
                            struct error *error);
