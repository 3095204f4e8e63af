#include "symbolizer/build/inline_paint.h"

#include <assert.h>
#include <stdlib.h>

#define STEPS_PER_RANGE 64
#define STEPS_MIN 4096

#define NO_RANGE UINT32_MAX
#define OFF_PATH UINT32_MAX

/* A range of an inlined copy. Open ranges of one parent form a pairing heap, smallest first. */
struct paint_range {
    uint64_t begin;
    uint64_t end;
    uint32_t member; /* whose range it is; see struct inline_paint */
    uint32_t parent; /* member whose heap it belongs to */
    uint32_t order;  /* in which it was pushed */
    uint32_t child;  /* of the heap */
    uint32_t sibling;
};

/* Where the walk stands: the path from the function (not in it) to the innermost copy. */
struct path_step {
    uint32_t range;
    uint64_t end; /* the smallest end on the path up to here */
};

struct inline_paint {
    struct symbol_model *model;
    /* Nodes grouped by function: those of the function `f` are members group_first[f] and on, the
     * function itself first. position is the inverse of members. */
    uint32_t *members;
    uint32_t *position;
    size_t members_capacity, position_capacity;

    /* Of the function at hand; a member is counted from the function, which is 0. */
    uint32_t *open;  /* per member: root of its heap */
    uint32_t *level; /* per member: its place on the path, or OFF_PATH */
    struct paint_range *ranges;
    struct paint_piece *pieces;
    size_t open_capacity, level_capacity;
    size_t range_count, range_capacity;
    size_t piece_count, piece_capacity;
    struct path_step path[FRAME_COUNT_MAX];
    uint32_t depth;
    uint64_t steps_left;
};

/* Parents come before children, so one pass finds every node's function. members serves as the
 * map from node to function first. */
static enum err group_nodes(struct inline_paint *paint, struct error *error) {
    struct symbol_model *model = paint->model;
    size_t count = model->node_count;
    uint32_t *next = NULL; /* per function node: where its next member goes */
    size_t next_capacity = 0;
    enum err err =
        BUDGET_GROW(&model->budget, paint->members, paint->members_capacity, count, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(&model->budget, paint->position, paint->position_capacity, count, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(&model->budget, next, next_capacity, count, error);
    if (err) {
        BUDGET_FREE(&model->budget, next, next_capacity);
        return err;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t parent = model->nodes[i].parent;
        uint32_t function = parent == MODEL_NONE ? (uint32_t)i : paint->members[parent];
        paint->members[i] = function;
        next[i] = 0;
        next[function]++;
    }
    uint32_t first = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t size = next[i];
        next[i] = first;
        first += size;
    }
    for (size_t i = 0; i < count; i++)
        paint->position[i] = next[paint->members[i]]++;
    for (size_t i = 0; i < count; i++)
        paint->members[paint->position[i]] = (uint32_t)i;
    BUDGET_FREE(&model->budget, next, next_capacity);
    return ERR_OK;
}

enum err inline_paint_new(struct symbol_model *model, struct inline_paint **ret_paint,
                          struct error *error) {
    CLEANUP(cleanup_inline_paint) struct inline_paint *paint = calloc(1, sizeof(*paint));
    if (!paint)
        return error_set(error, ERR_NO_MEMORY, "no memory for painting inlined copies");
    paint->model = model;
    enum err err = group_nodes(paint, error);
    if (err == ERR_OK)
        *ret_paint = TAKE(paint);
    return err;
}

void inline_paint_free(struct inline_paint *paint) {
    if (!paint)
        return;
    struct memory_budget *budget = &paint->model->budget;
    BUDGET_FREE(budget, paint->members, paint->members_capacity);
    BUDGET_FREE(budget, paint->position, paint->position_capacity);
    BUDGET_FREE(budget, paint->open, paint->open_capacity);
    BUDGET_FREE(budget, paint->level, paint->level_capacity);
    BUDGET_FREE(budget, paint->ranges, paint->range_capacity);
    BUDGET_FREE(budget, paint->pieces, paint->piece_capacity);
    free(paint);
}

/* --- the heaps --- */

static bool beats(const struct paint_range *a, const struct paint_range *b) {
    uint64_t a_size = a->end - a->begin;
    uint64_t b_size = b->end - b->begin;
    return a_size != b_size ? a_size < b_size : a->order < b->order;
}

static uint32_t heap_merge(struct paint_range *ranges, uint32_t a, uint32_t b) {
    if (a == NO_RANGE || b == NO_RANGE)
        return a == NO_RANGE ? b : a;
    if (beats(&ranges[b], &ranges[a])) {
        uint32_t kept = a;
        a = b;
        b = kept;
    }
    ranges[b].sibling = ranges[a].child;
    ranges[a].child = b;
    return a;
}

/* The heap without its root: children merged in pairs, then the pairs into one. */
static uint32_t heap_pop(struct paint_range *ranges, uint32_t root) {
    uint32_t pairs = NO_RANGE;
    uint32_t next = ranges[root].child;
    while (next != NO_RANGE) {
        uint32_t first = next;
        uint32_t second = ranges[first].sibling;
        next = second == NO_RANGE ? NO_RANGE : ranges[second].sibling;
        uint32_t pair = heap_merge(ranges, first, second);
        ranges[pair].sibling = pairs;
        pairs = pair;
    }
    uint32_t merged = NO_RANGE;
    while (pairs != NO_RANGE) {
        uint32_t pair = pairs;
        pairs = ranges[pair].sibling;
        merged = heap_merge(ranges, merged, pair);
    }
    return merged;
}

/* --- one function --- */

static int compare(const void *left, const void *right) {
    const struct paint_range *a = left;
    const struct paint_range *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void sort_ranges(struct inline_paint *paint) {
    for (size_t i = 1; i < paint->range_count; i++) {
        if (compare(&paint->ranges[i - 1], &paint->ranges[i]) > 0) {
            qsort(paint->ranges, paint->range_count, sizeof(*paint->ranges), compare);
            return;
        }
    }
}

static enum err take_ranges(struct inline_paint *paint, uint32_t first, uint32_t member,
                            struct error *error) {
    struct symbol_model *model = paint->model;
    const struct model_node *node = &model->nodes[paint->members[first + member]];
    enum err err = BUDGET_GROW(&model->budget, paint->ranges, paint->range_capacity,
                               paint->range_count + node->range_count, error);
    if (err)
        return err;
    for (uint32_t i = node->range_first; i < node->range_first + node->range_count; i++)
        paint->ranges[paint->range_count++] = (struct paint_range){
            .begin = model->ranges[i].begin,
            .end = model->ranges[i].end,
            .member = member,
            .parent = paint->position[node->parent] - first,
            .order = i,
            .child = NO_RANGE,
            .sibling = NO_RANGE,
        };
    return ERR_OK;
}

/* Loads the function's members; none of them but the function itself is on the path. */
static enum err load(struct inline_paint *paint, uint32_t node, struct error *error) {
    struct memory_budget *budget = &paint->model->budget;
    uint32_t first = paint->position[node];
    uint32_t count = 1;
    paint->range_count = 0;
    enum err err = ERR_OK;
    while (err == ERR_OK && first + count < paint->model->node_count &&
           paint->model->nodes[paint->members[first + count]].parent != MODEL_NONE)
        err = take_ranges(paint, first, count++, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(budget, paint->open, paint->open_capacity, count, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(budget, paint->level, paint->level_capacity, count, error);
    if (err)
        return err;
    for (uint32_t i = 0; i < count; i++) {
        paint->open[i] = NO_RANGE;
        paint->level[i] = i == 0 ? 0 : OFF_PATH;
    }
    sort_ranges(paint);
    paint->depth = 0;
    paint->piece_count = 0;
    paint->steps_left = STEPS_MIN + STEPS_PER_RANGE * (uint64_t)paint->range_count;
    return ERR_OK;
}

static void cut_path(struct inline_paint *paint, uint32_t depth) {
    while (paint->depth > depth)
        paint->level[paint->ranges[paint->path[--paint->depth].range].member] = OFF_PATH;
}

/* From the end of the path further down, as far as ranges cover pc. False: out of steps. */
static bool extend_path(struct inline_paint *paint, uint64_t pc) {
    for (;;) {
        const struct path_step *last = paint->depth ? &paint->path[paint->depth - 1] : NULL;
        uint32_t member = last ? paint->ranges[last->range].member : 0;
        uint32_t top = paint->open[member];
        while (top != NO_RANGE && paint->ranges[top].end <= pc)
            top = heap_pop(paint->ranges, top);
        paint->open[member] = top;
        if (top == NO_RANGE)
            return true;
        if (paint->steps_left-- == 0)
            return false;
        uint64_t end = paint->ranges[top].end;
        if (last && last->end < end)
            end = last->end;
        assert(paint->depth < FRAME_COUNT_MAX);
        paint->path[paint->depth++] = (struct path_step){top, end};
        paint->level[paint->ranges[top].member] = paint->depth;
    }
}

/* Opens the ranges that begin at pc; returns up to where the path still holds. */
static uint32_t open_ranges(struct inline_paint *paint, uint64_t pc, size_t *next) {
    uint32_t holds = paint->depth;
    for (; *next < paint->range_count && paint->ranges[*next].begin <= pc; (*next)++) {
        uint32_t opened = (uint32_t)*next;
        uint32_t parent = paint->ranges[opened].parent;
        paint->open[parent] = heap_merge(paint->ranges, paint->open[parent], opened);
        uint32_t level = paint->level[parent];
        if (paint->open[parent] == opened && level < holds)
            holds = level;
    }
    return holds;
}

static enum err emit(struct inline_paint *paint, uint64_t begin, uint64_t end,
                     struct error *error) {
    uint32_t first = paint->ranges[paint->path[paint->depth - 1].range].member;
    struct paint_piece piece = {begin, end, first};
    struct paint_piece *last = paint->piece_count ? &paint->pieces[paint->piece_count - 1] : NULL;
    if (last && last->end == begin && last->node == piece.node) {
        last->end = end;
        return ERR_OK;
    }
    enum err err = BUDGET_GROW(&paint->model->budget, paint->pieces, paint->piece_capacity,
                               paint->piece_count + 1, error);
    if (err == ERR_OK)
        paint->pieces[paint->piece_count++] = piece;
    return err;
}

/* Sweeps over the loaded ranges; pieces name members. */
static enum err walk(struct inline_paint *paint, uint64_t *ret_unpainted, struct error *error) {
    size_t next = 0;
    uint64_t pc = paint->range_count ? paint->ranges[0].begin : 0;
    *ret_unpainted = UINT64_MAX;
    for (;;) {
        uint32_t holds = open_ranges(paint, pc, &next);
        /* Ends shrink along the path, so what has ended is its tail. */
        while (holds > 0 && paint->path[holds - 1].end <= pc)
            holds--;
        cut_path(paint, holds);
        if (!extend_path(paint, pc)) {
            *ret_unpainted = pc;
            return ERR_OK;
        }
        bool more = next < paint->range_count;
        if (paint->depth == 0) {
            if (!more)
                return ERR_OK;
            pc = paint->ranges[next].begin;
            continue;
        }
        uint64_t end = paint->path[paint->depth - 1].end;
        if (more && paint->ranges[next].begin < end)
            end = paint->ranges[next].begin;
        enum err err = emit(paint, pc, end, error);
        if (err)
            return err;
        pc = end;
    }
}

enum err inline_paint_function(struct inline_paint *paint, uint32_t node,
                               struct paint_pieces *ret_pieces, struct error *error) {
    assert(node < paint->model->node_count && paint->model->nodes[node].parent == MODEL_NONE);
    uint64_t unpainted = UINT64_MAX;
    enum err err = load(paint, node, error);
    if (err == ERR_OK)
        err = walk(paint, &unpainted, error);
    if (err)
        return err;
    uint32_t first = paint->position[node];
    for (size_t i = 0; i < paint->piece_count; i++)
        paint->pieces[i].node = paint->members[first + paint->pieces[i].node];
    *ret_pieces = (struct paint_pieces){paint->pieces, paint->piece_count, unpainted};
    return ERR_OK;
}
