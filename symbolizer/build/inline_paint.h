/*
 * Which inlined copy is innermost at each address of one function. At an address, the innermost
 * is found by going down from the function: among the copies whose parent is where we are, the one
 * with the smallest range that covers the address (ties: the first pushed), until none covers it.
 * So a copy counts only where its parent does.
 *
 * One pass over the ranges in address order. Where they nest as compilers write them, every range
 * inside one of its parent's and apart from its siblings, what is open is a stack. Others take a
 * heap of open ranges per node, in O(n log n) where few interrupt one another. Ranges made to
 * interrupt one another could force the way down to be walked anew at each of them, so the steps
 * down are capped at a multiple of n; past it the rest of the function is reported as unpainted.
 */
#pragma once

#include "symbolizer/build/unit.h"

struct inline_paint;

enum err inline_paint_new(struct memory_budget *budget, struct inline_paint **ret_paint,
                          struct error *error);
void inline_paint_free(struct inline_paint *paint);
DEFINE_CLEANUP(inline_paint, struct inline_paint, inline_paint_free)

/* Groups the unit's nodes by function. The unit must not change while its functions are painted. */
enum err inline_paint_start(struct inline_paint *paint, const struct unit *unit,
                            struct error *error);

struct paint_piece {
    uint64_t begin;
    uint64_t end;
    uint32_t node; /* of the unit; an inlined copy */
};

/* Ascending and disjoint; where there is no piece, the function itself is innermost. */
struct paint_pieces {
    const struct paint_piece *list; /* until the next call */
    size_t count;
    uint64_t unpainted_from; /* from here on nothing is known of inlined copies; else UINT64_MAX */
};

/* `node` is a function. */
enum err inline_paint_function(struct inline_paint *paint, uint32_t node,
                               struct paint_pieces *ret_pieces, struct error *error);
