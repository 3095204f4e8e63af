/*
 * Which function and which row answer at an address. The first question reads the ranges that the
 * unit DIEs state; a unit is read when an address first leads to it and then remembered, so that
 * the second address in it costs a search alone. For one thread.
 */
#pragma once

#include "debuginfo/dwarf_code.h"
#include "debuginfo/dwarf_info.h"
#include "debuginfo/dwarf_line.h"
#include "debuginfo/string_pool.h"

struct dwarf_lookup;

/* The units and extents must outlive it. */
enum err dwarf_lookup_new(const struct dwarf_info *info, const struct dwarf_extents *extents,
                          struct string_pool *strings, struct dwarf_lookup **ret_lookup,
                          struct error *error);
void dwarf_lookup_free(struct dwarf_lookup *lookup);
DEFINE_CLEANUP(dwarf_lookup, struct dwarf_lookup, dwarf_lookup_free)

/* From now on paths are as in the line table: the compilation directory is left out. */
void dwarf_lookup_use_relative_paths(struct dwarf_lookup *lookup);

/* The function with the smallest range that covers pc; of equal ones the first. A place without a
 * unit: none does. */
enum err dwarf_lookup_function(struct dwarf_lookup *lookup, uint64_t pc,
                               struct dwarf_place *ret_function, struct error *error);

/* What decides between sequences of the very same range, which identical code folding leaves. */
struct dwarf_row_context {
    const struct dwarf_unit
        *unit; /* of the function; its sequences come first. NULL: no function */
    uint64_t entry_pc;
    struct span decl_file;
    uint32_t decl_line;
};

struct dwarf_row_answer {
    const struct dwarf_unit *unit; /* whose line table it is; NULL: no row covers pc */
    struct dwarf_row row;
};

enum err dwarf_lookup_row(struct dwarf_lookup *lookup, uint64_t pc,
                          const struct dwarf_row_context *context,
                          struct dwarf_row_answer *ret_answer, struct error *error);

/* Looks at all units for code outside of the ranges that they state, which later questions then
 * know of. Slow: once, and only for an address that nothing else answers at. *ret_new is false when
 * that had been done before. */
enum err dwarf_lookup_survey(struct dwarf_lookup *lookup, bool *ret_new, struct error *error);

/* The path of a file of a unit's line table, or of the unit's own file where the table has no such
 * index; empty when nothing is known. Belongs to the string pool. */
enum err dwarf_lookup_path(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                           uint64_t index, struct span *ret_path, struct error *error);

/* The same for DW_AT_decl_file or DW_AT_call_file, where 0 can mean that no file is named. */
enum err dwarf_lookup_declared(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                               uint64_t index, struct span *ret_path, struct error *error);

/* For walks that the caller makes. */
struct dwarf_code_walk *dwarf_lookup_code(struct dwarf_lookup *lookup);
