/*
 * From a whole unit to what answers in it: stretches of a function's range with a scope and a row
 * for every address, and the rows that no function of the unit answers for.
 *
 *   functions  Among ranges that overlap the smallest wins, ties go to the first pushed. Among
 *              functions of the very same range, as identical code folding leaves them, the first
 *              that fits its lines: whose own row at the entry is in its file, at or below its
 *              first line.
 *   inlined    see symbolizer/build/inline_paint.h
 *   lines      see symbolizer/build/line_map.h
 *   names      a function that has none takes that of the symbol at its entry, and its origin
 *
 * Time is O(n log n) in what the unit holds, whatever overlaps what.
 *
 * One flattener belongs to one thread; it keeps its memory from unit to unit.
 */
#pragma once

#include "symbolizer/build/shard.h"
#include "symbolizer/build/symbol_map.h"
#include "symbolizer/build/unit.h"

struct unit_flattener;

/* The symbols are settled, and outlive it as budget and strings do. */
enum err unit_flattener_new(struct memory_budget *budget, const struct symbol_map *symbols,
                            struct unit_flattener **ret_flattener, struct error *error);
void unit_flattener_free(struct unit_flattener *flattener);
DEFINE_CLEANUP(unit_flattener, struct unit_flattener, unit_flattener_free)

/* Adds the unit's answers to the shard that its subjects are numbers of. */
enum err unit_flatten(struct unit_flattener *flattener, const struct unit *unit,
                      struct shard *shard, struct error *error);
