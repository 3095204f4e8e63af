#include "symbolizer/build/inline_paint.h"

#include <assert.h>
#include <stdlib.h>

#include "symbolizer/build/inline_paint_internal.h"

enum err inline_paint_new(struct memory_budget *budget, struct inline_paint **ret_paint,
                          struct error *error) {
    struct inline_paint *paint = calloc(1, sizeof(*paint));
    if (!paint)
        return error_set(error, ERR_NO_MEMORY, "no memory for painting inlined copies");
    paint->budget = budget;
    *ret_paint = paint;
    return ERR_OK;
}

void inline_paint_free(struct inline_paint *paint) {
    if (!paint)
        return;
    BUDGET_FREE(paint->budget, paint->members, paint->members_capacity);
    BUDGET_FREE(paint->budget, paint->position, paint->position_capacity);
    BUDGET_FREE(paint->budget, paint->next, paint->next_capacity);
    BUDGET_FREE(paint->budget, paint->ranges, paint->range_capacity);
    BUDGET_FREE(paint->budget, paint->pieces, paint->piece_capacity);
    BUDGET_FREE(paint->budget, paint->keys, paint->key_capacity);
    BUDGET_FREE(paint->budget, paint->open, paint->open_capacity);
    BUDGET_FREE(paint->budget, paint->level, paint->level_capacity);
    free(paint);
}

/* Parents come before children, so one pass finds every node's function. members serves as the
 * map from node to function first. */
static void group_nodes(struct inline_paint *paint) {
    const struct unit *unit = paint->unit;
    size_t count = unit->node_count;
    bool grouped = true; /* already: no function's nodes are interrupted by those of another */
    for (size_t i = 0; i < count; i++) {
        uint32_t parent = unit->nodes[i].parent;
        uint32_t function = parent == UNIT_NONE ? (uint32_t)i : paint->members[parent];
        grouped &= i == 0 || function >= paint->members[i - 1];
        paint->members[i] = function;
        paint->next[i] = 0;
        paint->next[function]++;
    }
    uint32_t first = 0;
    for (size_t i = 0; i < count && !grouped; i++) {
        uint32_t size = paint->next[i];
        paint->next[i] = first;
        first += size;
    }
    for (size_t i = 0; i < count; i++)
        paint->position[i] = grouped ? (uint32_t)i : paint->next[paint->members[i]]++;
    for (size_t i = 0; i < count; i++)
        paint->members[paint->position[i]] = (uint32_t)i;
}

enum err inline_paint_start(struct inline_paint *paint, const struct unit *unit,
                            struct error *error) {
    size_t count = unit->node_count;
    paint->unit = unit;
    enum err err =
        BUDGET_GROW(paint->budget, paint->members, paint->members_capacity, count, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(paint->budget, paint->position, paint->position_capacity, count, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(paint->budget, paint->next, paint->next_capacity, count, error);
    if (err == ERR_OK)
        group_nodes(paint);
    return err;
}

static enum err take_ranges(struct inline_paint *paint, uint32_t first, uint32_t member,
                            struct error *error) {
    const struct unit_node *node = &paint->unit->nodes[paint->members[first + member]];
    enum err err = BUDGET_GROW(paint->budget, paint->ranges, paint->range_capacity,
                               paint->range_count + node->range_count, error);
    if (err)
        return err;
    for (uint32_t i = node->range_first; i < node->range_first + node->range_count; i++)
        paint->ranges[paint->range_count++] = (struct paint_range){
            .begin = paint->unit->ranges[i].begin,
            .end = paint->unit->ranges[i].end,
            .member = member,
            .parent = paint->position[node->parent] - first,
            .order = i,
            .child = NO_RANGE,
            .sibling = NO_RANGE,
        };
    return ERR_OK;
}

/* The ranges of the function's members. */
static enum err load(struct inline_paint *paint, uint32_t node, struct error *error) {
    uint32_t first = paint->position[node];
    uint32_t count = 1;
    paint->range_count = 0;
    paint->piece_count = 0;
    enum err err = ERR_OK;
    while (err == ERR_OK && first + count < paint->unit->node_count &&
           paint->unit->nodes[paint->members[first + count]].parent != UNIT_NONE)
        err = take_ranges(paint, first, count++, error);
    paint->member_count = count;
    return err;
}

enum err inline_paint_function(struct inline_paint *paint, uint32_t node,
                               struct paint_pieces *ret_pieces, struct error *error) {
    assert(node < paint->unit->node_count && paint->unit->nodes[node].parent == UNIT_NONE);
    uint64_t unpainted = UINT64_MAX;
    bool nest = false;
    enum err err = load(paint, node, error);
    if (err == ERR_OK && paint->range_count > 0) {
        err = paint_nested(paint, &nest, error);
        if (err == ERR_OK && !nest)
            err = paint_heaps(paint, &unpainted, error);
    }
    if (err)
        return err;
    uint32_t first = paint->position[node];
    for (size_t i = 0; i < paint->piece_count; i++)
        paint->pieces[i].node = paint->members[first + paint->pieces[i].node];
    *ret_pieces = (struct paint_pieces){paint->pieces, paint->piece_count, unpainted};
    return ERR_OK;
}
