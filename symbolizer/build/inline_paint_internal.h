/* What grouping and loading (inline_paint.c), the walk over ranges that nest (paint_nested.c) and
 * the one over any (paint_heaps.c) share. */
#pragma once

#include "symbolizer/build/inline_paint.h"

#define NO_RANGE UINT32_MAX

/* A range of an inlined copy. A member is a node of the function, counted from the function itself,
 * which is 0. */
struct paint_range {
    uint64_t begin;
    uint64_t end;
    uint32_t member;
    uint32_t parent; /* a member */
    uint32_t order;  /* in which it was pushed */
    uint32_t child;  /* of a heap; see paint_heaps.c */
    uint32_t sibling;
};

/* Where the walk stands: the path from the function (not in it) to the innermost copy. */
struct path_step {
    uint32_t range;
    uint64_t end; /* the smallest end on the path up to here */
};

struct inline_paint {
    struct memory_budget *budget;
    const struct unit *unit;
    /* Nodes grouped by function: those of the function `f` are members position[f] and on, the
     * function itself first. position is the inverse of members. */
    uint32_t *members;
    uint32_t *position;
    uint32_t *next; /* per function: where its next member goes */
    size_t members_capacity, position_capacity, next_capacity;

    /* Of the function at hand. */
    size_t member_count;
    struct paint_range *ranges;
    struct paint_piece *pieces; /* their nodes are members until all are there */
    size_t range_count, range_capacity;
    size_t piece_count, piece_capacity;
    struct path_step path[FRAME_COUNT_MAX];
    uint32_t depth;

    uint64_t *keys; /* paint_nested.c */
    size_t key_capacity;

    /* paint_heaps.c */
    uint32_t *open;  /* per member: root of its heap */
    uint32_t *level; /* per member: its place on the path, or none */
    size_t open_capacity, level_capacity;
    uint64_t steps_left;
};

/* The loaded ranges into pieces, if they nest; *ret_nest says so. */
enum err paint_nested(struct inline_paint *paint, bool *ret_nest, struct error *error);

/* The loaded ranges, whatever they are. */
enum err paint_heaps(struct inline_paint *paint, uint64_t *ret_unpainted, struct error *error);

/* [begin, end) for a member, behind what was emitted before. */
static inline enum err paint_emit(struct inline_paint *paint, uint64_t begin, uint64_t end,
                                  uint32_t member, struct error *error) {
    struct paint_piece *last = paint->piece_count ? &paint->pieces[paint->piece_count - 1] : NULL;
    if (last && last->end == begin && last->node == member) {
        last->end = end;
        return ERR_OK;
    }
    enum err err = BUDGET_GROW(paint->budget, paint->pieces, paint->piece_capacity,
                               paint->piece_count + 1, error);
    if (err == ERR_OK)
        paint->pieces[paint->piece_count++] = (struct paint_piece){begin, end, member};
    return err;
}
