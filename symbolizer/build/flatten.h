/*
 * From a symbol model to ascending, disjoint intervals with a location chain each: decides who
 * answers at every address, once, so that a lookup only searches.
 *
 *   functions  DWARF functions before ELF symbols. Among overlapping ranges of functions the
 *              smallest wins, ties go to the first pushed.
 *   inlined    see symbolizer/build/inline_paint.h
 *   lines      see symbolizer/build/line_map.h; sequences of the function's own unit first, and
 *              only where they have no row those of other units
 *   symbols    .symtab before .dynsym, earlier pushes before later ones; they name what no function
 *              covers, and a function that has no name gets that of the symbol at its entry
 *
 * The innermost frame has the row's file and line, each outer one the place of the call in it. A
 * row of line 0, or none, is a frame without line and the miss NO_LINE. Rows outside functions and
 * symbols answer with a nameless frame. Where inlined copies could not be told within bounds, the
 * function answers alone, with the miss INLINE_UNAVAILABLE.
 *
 * Time is O(n log n) in what the model holds, whatever overlaps what; memory comes from the
 * model's budget.
 */
#pragma once

#include "symbolizer/build/index_writer.h"
#include "symbolizer/build/symbol_model.h"

/* Where code lies: what covered_bytes counts. Ascending and disjoint. */
struct flatten_extents {
    const struct pc_range *list;
    size_t count;
};

struct flatten_result {
    uint64_t covered_bytes;    /* within the extents, answered with at least a name */
    uint64_t symbol_functions; /* symbols that answer somewhere */
    uint64_t damage;           /* functions whose inlined copies could not be told */
};

/* Every push must have ended. Writes functions, locations and intervals; finishing is the
 * caller's. */
enum err flatten(struct symbol_model *model, const struct flatten_extents *extents,
                 struct index_writer *writer, struct flatten_result *ret_result,
                 struct error *error);
