#include <assert.h>
#include <stdlib.h>

#include "symbolizer/build/inline_paint_internal.h"

#define STEPS_PER_RANGE 64
#define STEPS_MIN 4096

#define OFF_PATH UINT32_MAX

/* --- the heaps: open ranges of one parent, smallest first; pairing heaps --- */

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

/* None of the members but the function itself is on the path. */
static enum err start(struct inline_paint *paint, struct error *error) {
    size_t count = paint->member_count;
    enum err err = BUDGET_GROW(paint->budget, paint->open, paint->open_capacity, count, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(paint->budget, paint->level, paint->level_capacity, count, error);
    if (err)
        return err;
    for (size_t i = 0; i < count; i++) {
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

/* Sweeps over the loaded ranges; pieces name members. */
enum err paint_heaps(struct inline_paint *paint, uint64_t *ret_unpainted, struct error *error) {
    enum err err = start(paint, error);
    if (err)
        return err;
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
        uint32_t top = paint->ranges[paint->path[paint->depth - 1].range].member;
        err = paint_emit(paint, pc, end, top, error);
        if (err)
            return err;
        pc = end;
    }
}
