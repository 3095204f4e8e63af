#include <stdlib.h>

#include "symbolizer/build/flatten_internal.h"
#include "symbolizer/build/inline_paint.h"

/* Function by function, in the order of units, so that one unit's line map is made once. */
struct function_walk {
    struct location_maker *maker;
    struct symbol_model *model;
    struct flat_intervals *intervals;
    struct inline_paint *paint;
    struct sweep_segments owned; /* what each function node answers for; by node and address */
    struct line_map unit_lines;
    struct line_map *all_lines; /* for what the function's own unit has no row */
    struct line_context context;
    size_t unit; /* whose lines are mapped; plus one, 0: none yet */
    uint64_t damage;
};

static void cleanup_function_walk(struct function_walk *walk) {
    sweep_segments_clear(&walk->model->budget, &walk->owned);
    line_map_clear(&walk->unit_lines);
    inline_paint_free(walk->paint);
}

static int compare_by_node(const void *left, const void *right) {
    const struct sweep_segment *a = left;
    const struct sweep_segment *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void sort_by_node(struct sweep_segments *segments) {
    for (size_t i = 1; i < segments->count; i++) {
        if (compare_by_node(&segments->list[i - 1], &segments->list[i]) > 0) {
            qsort(segments->list, segments->count, sizeof(*segments->list), compare_by_node);
            return;
        }
    }
}

/* Which function answers where: of those that cover an address the one with the smallest range. */
static enum err sweep_functions(struct function_walk *walk, struct error *error) {
    struct symbol_model *model = walk->model;
    struct sweep_range *ranges = NULL;
    size_t count = 0;
    size_t capacity = 0;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < model->node_count; i++) {
        const struct model_node *node = &model->nodes[i];
        if (node->parent != MODEL_NONE)
            continue;
        err = BUDGET_GROW(&model->budget, ranges, capacity, count + node->range_count, error);
        for (uint32_t j = 0; err == ERR_OK && j < node->range_count; j++) {
            struct pc_range range = model->ranges[node->range_first + j];
            ranges[count++] = (struct sweep_range){.begin = range.begin,
                                                   .end = range.end,
                                                   .key = range.end - range.begin,
                                                   .id = (uint32_t)i};
        }
    }
    if (err == ERR_OK)
        err = sweep(&model->budget, ranges, count, &walk->owned, error);
    BUDGET_FREE(&model->budget, ranges, capacity);
    sort_by_node(&walk->owned);
    return err;
}

static enum err map_unit_of(struct function_walk *walk, uint32_t node, struct error *error) {
    struct symbol_model *model = walk->model;
    size_t unit = walk->unit;
    while (unit == 0 || model_unit_node_end(model, unit - 1) <= node)
        unit++;
    if (unit == walk->unit)
        return ERR_OK;
    walk->unit = unit;
    return line_map_build(&walk->unit_lines, model, model->units[unit - 1].sequence_first,
                          model_unit_sequence_end(model, unit - 1), error);
}

/* The row at pc. Own lines first; the answer of others holds only up to where own ones begin. */
static struct line_answer row_at(struct function_walk *walk, uint64_t pc) {
    struct line_answer own = line_map_at(&walk->unit_lines, pc, &walk->context);
    if (own.row)
        return own;
    struct line_answer other = line_map_at(walk->all_lines, pc, &walk->context);
    if (own.end < other.end)
        other.end = own.end;
    return other;
}

static enum symbol_miss miss_of(const struct model_row *row, bool painted) {
    if (!painted)
        return SYMBOL_MISS_INLINE_UNAVAILABLE;
    return row && row->line ? SYMBOL_MISS_NONE : SYMBOL_MISS_NO_LINE;
}

/* [begin, end), throughout which `node` is innermost, by rows. */
static enum err add_rows(struct function_walk *walk, struct pc_range range, uint32_t node,
                         bool painted, struct error *error) {
    struct flat_intervals *intervals = walk->intervals;
    bool named = location_node_is_named(walk->maker, node);
    uint64_t pc = range.begin;
    while (pc < range.end) {
        struct line_answer answer = row_at(walk, pc);
        struct flat_interval interval = {.begin = pc, .end = range.end, .named = named};
        if (answer.end < interval.end)
            interval.end = answer.end;
        interval.miss = (uint8_t)miss_of(answer.row, painted);
        enum err err = location_of_node(walk->maker, node, answer.row, &interval.location, error);
        if (err == ERR_OK)
            err = BUDGET_GROW(&walk->model->budget, intervals->list, intervals->capacity,
                              intervals->count + 1, error);
        if (err)
            return err;
        intervals->list[intervals->count++] = interval;
        pc = interval.end;
    }
    return ERR_OK;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* One stretch that the function answers for: pieces of inlined copies and what lies between them.
 * *position is the first piece that may reach into it; stretches and pieces both ascend. */
static enum err add_stretch(struct function_walk *walk, const struct sweep_segment *stretch,
                            const struct paint_pieces *pieces, size_t *position,
                            struct error *error) {
    uint64_t pc = stretch->begin;
    while (pc < stretch->end) {
        while (*position < pieces->count && pieces->list[*position].end <= pc)
            (*position)++;
        const struct paint_piece *piece = *position < pieces->count ? &pieces->list[*position]
                                                                    : NULL;
        bool painted = pc < pieces->unpainted_from;
        uint32_t node = stretch->id;
        uint64_t end = painted ? smaller(stretch->end, pieces->unpainted_from) : stretch->end;
        if (piece && piece->begin <= pc) {
            node = piece->node;
            end = smaller(end, piece->end);
        } else if (piece) {
            end = smaller(end, piece->begin);
        }
        enum err err = add_rows(walk, (struct pc_range){pc, end}, node, painted, error);
        if (err)
            return err;
        pc = end;
    }
    return ERR_OK;
}

/* All stretches of one function. */
static enum err add_function(struct function_walk *walk, const struct sweep_segment *stretches,
                             size_t count, struct error *error) {
    uint32_t node = stretches[0].id;
    struct model_function function =
        symbol_model_function(walk->model, walk->model->nodes[node].function);
    walk->context = (struct line_context){
        .entry_pc = function.has_entry_pc ? function.entry_pc : stretches[0].begin,
        .decl_file = function.start_file,
        .decl_line = function.start_line,
    };
    struct paint_pieces pieces;
    enum err err = map_unit_of(walk, node, error);
    if (err == ERR_OK)
        err = inline_paint_function(walk->paint, node, &pieces, error);
    if (err)
        return err;
    walk->damage += pieces.unpainted_from != UINT64_MAX;
    size_t position = 0;
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        err = add_stretch(walk, &stretches[i], &pieces, &position, error);
    return err;
}

enum err flatten_functions(struct location_maker *maker, struct line_map *all_lines,
                           struct flat_intervals *intervals, uint64_t *ret_damage,
                           struct error *error) {
    struct symbol_model *model = maker->model;
    CLEANUP(cleanup_function_walk)
    struct function_walk walk = {
        .maker = maker, .model = model, .intervals = intervals, .all_lines = all_lines};
    enum err err = inline_paint_new(model, &walk.paint, error);
    if (err == ERR_OK)
        err = sweep_functions(&walk, error);
    const struct sweep_segments *owned = &walk.owned;
    size_t next = 0;
    for (size_t first = 0; err == ERR_OK && first < owned->count; first = next) {
        while (next < owned->count && owned->list[next].id == owned->list[first].id)
            next++;
        err = add_function(&walk, &owned->list[first], next - first, error);
    }
    if (err == ERR_OK)
        *ret_damage = walk.damage;
    return err;
}
