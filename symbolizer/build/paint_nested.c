#include "symbolizer/build/inline_paint_internal.h"
#include "symbolizer/build/key_sort.h"

/* Keys hold a begin above the lowest and a position, 32 bits each. False: they do not fit. Parents
 * are loaded before their children, so of ranges that begin together the parent's comes first. */
static bool make_keys(struct inline_paint *paint) {
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    for (size_t i = 0; i < paint->range_count; i++) {
        uint64_t begin = paint->ranges[i].begin;
        low = begin < low ? begin : low;
        high = begin > high ? begin : high;
    }
    if (paint->range_count > UINT32_MAX || high - low > UINT32_MAX)
        return false;
    for (size_t i = 0; i < paint->range_count; i++)
        paint->keys[i] = (paint->ranges[i].begin - low) << 32 | i;
    return true;
}

/* Closes what ends at or before pc; *from is up to where pieces were emitted. */
static enum err close_until(struct inline_paint *paint, uint64_t pc, uint64_t *from,
                            struct error *error) {
    enum err err = ERR_OK;
    while (err == ERR_OK && paint->depth > 0 && paint->path[paint->depth - 1].end <= pc) {
        const struct path_step *top = &paint->path[--paint->depth];
        if (*from < top->end)
            err = paint_emit(paint, *from, top->end, paint->ranges[top->range].member, error);
        *from = top->end;
    }
    return err;
}

/* Whether the range lies right inside the innermost open one, and that is its parent's. */
static bool nests(const struct inline_paint *paint, const struct paint_range *range) {
    if (paint->depth == 0)
        return range->parent == 0;
    const struct path_step *top = &paint->path[paint->depth - 1];
    return paint->depth < FRAME_COUNT_MAX && range->end <= top->end &&
           paint->ranges[top->range].member == range->parent;
}

enum err paint_nested(struct inline_paint *paint, bool *ret_nest, struct error *error) {
    *ret_nest = false;
    enum err err =
        BUDGET_GROW(paint->budget, paint->keys, paint->key_capacity, 2 * paint->range_count, error);
    if (err || !make_keys(paint))
        return err;
    key_sort(paint->keys, paint->range_count, paint->keys + paint->range_count);
    uint64_t from = 0;
    paint->depth = 0;
    paint->piece_count = 0;
    for (size_t i = 0; err == ERR_OK && i < paint->range_count; i++) {
        uint32_t position = (uint32_t)paint->keys[i];
        const struct paint_range *range = &paint->ranges[position];
        err = close_until(paint, range->begin, &from, error);
        if (err || !nests(paint, range))
            return err;
        if (paint->depth > 0 && from < range->begin)
            err = paint_emit(paint, from, range->begin,
                             paint->ranges[paint->path[paint->depth - 1].range].member, error);
        from = range->begin;
        paint->path[paint->depth++] = (struct path_step){position, range->end};
    }
    if (err == ERR_OK)
        err = close_until(paint, UINT64_MAX, &from, error);
    *ret_nest = err == ERR_OK;
    return err;
}
