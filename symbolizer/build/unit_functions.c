#include <stdlib.h>

#include "symbolizer/build/outer_name.h"
#include "symbolizer/build/unit_flatten_internal.h"

uint64_t unit_function_entry(const struct unit *unit, uint32_t node, bool *ret_known) {
    const struct unit_node *function = &unit->nodes[node];
    *ret_known = function->entry != UNIT_NONE;
    return *ret_known ? unit->entries[function->entry] : unit->ranges[function->range_first].begin;
}

uint32_t unit_function_symbol(const struct unit_flattener *flattener, uint32_t node,
                              bool *ret_known) {
    uint64_t end;
    uint64_t entry = unit_function_entry(flattener->unit, node, ret_known);
    return symbol_map_at(flattener->symbols, entry, &end);
}

bool unit_function_name(const struct unit_flattener *flattener, uint32_t node, uint32_t symbol,
                        uint32_t *ret_name) {
    const struct symbol_map *symbols = flattener->symbols;
    const struct mapped_symbol *mapped = &symbols->list[symbol];
    const struct unit_node *function = &flattener->unit->nodes[node];
    const struct shard_subject *subject = &flattener->shard->subjects[function->subject - 1];
    bool known;
    if (mapped->entry_pc != unit_function_entry(flattener->unit, node, &known) ||
        (mapped->name_count == 0 && mapped->name == subject->name))
        return false;
    const uint32_t *numbers = mapped->name_count ? &symbols->names[mapped->name_first]
                                                 : &mapped->name;
    size_t count = mapped->name_count ? mapped->name_count : 1;
    struct span names[SINK_SYMBOL_NAMES_MAX];
    for (size_t i = 0; i < count; i++)
        names[i] = shared_strings_get(symbols->strings, numbers[i]);
    struct outer_name dwarf = {
        .name = shared_strings_get(symbols->strings, subject->name),
        .short_name = shared_strings_get(symbols->strings, subject->short_name),
    };
    size_t chosen = outer_name_choose(&dwarf, names, count);
    if (chosen == OUTER_NAME_KEEP || numbers[chosen] == subject->name)
        return false;
    *ret_name = numbers[chosen];
    return true;
}

struct line_context unit_function_context(const struct unit_flattener *flattener, uint32_t node) {
    const struct unit *unit = flattener->unit;
    const struct shard_subject *subject =
        &flattener->shard->subjects[unit->nodes[node].subject - 1];
    bool known;
    return (struct line_context){
        .entry_pc = unit_function_entry(unit, node, &known),
        .decl_file = subject->file,
        .decl_line = subject->line,
    };
}

/* --- functions of the same range --- */

static bool fits_its_lines(struct unit_flattener *flattener, uint32_t node) {
    struct line_context context = unit_function_context(flattener, node);
    return line_map_fits(&flattener->lines, &context);
}

static int compare_claims(const struct unit_claim *a, const struct unit_claim *b) {
    if (a->fits != b->fits)
        return a->fits ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Sorted by begin and end, claims of the same range are neighbours: all but the best of them are
 * left out. Returns how many stay. */
static size_t drop_twins(struct unit_flattener *flattener, size_t count) {
    struct sweep_range *ranges = flattener->ranges;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct sweep_range *last = kept ? &ranges[kept - 1] : NULL;
        if (!last || last->begin != ranges[i].begin || last->end != ranges[i].end)
            ranges[kept++] = ranges[i];
        else if (compare_claims(&flattener->claims[ranges[i].id], &flattener->claims[last->id]) < 0)
            last->id = ranges[i].id;
    }
    return kept;
}

/* --- claims --- */

static enum err claim(struct unit_flattener *flattener, uint32_t node, struct error *error) {
    const struct unit *unit = flattener->unit;
    const struct unit_node *function = &unit->nodes[node];
    size_t count = flattener->claim_count + function->range_count;
    enum err err =
        BUDGET_GROW(flattener->budget, flattener->claims, flattener->claim_capacity, count, error);
    if (err || function->range_count == 0)
        return err;
    bool fits = fits_its_lines(flattener, node);
    for (uint32_t i = 0; i < function->range_count; i++)
        flattener->claims[flattener->claim_count++] =
            (struct unit_claim){unit->ranges[function->range_first + i], node, fits};
    return ERR_OK;
}

static int compare_by_claim(const void *left, const void *right) {
    const struct sweep_segment *a = left;
    const struct sweep_segment *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void sort_by_claim(struct sweep_segments *segments) {
    for (size_t i = 1; i < segments->count; i++) {
        if (compare_by_claim(&segments->list[i - 1], &segments->list[i]) > 0) {
            qsort(segments->list, segments->count, sizeof(*segments->list), compare_by_claim);
            return;
        }
    }
}

enum err unit_claim_functions(struct unit_flattener *flattener, struct error *error) {
    enum err err = ERR_OK;
    flattener->claim_count = 0;
    flattener->owned.count = 0;
    for (size_t i = 0; err == ERR_OK && i < flattener->unit->node_count; i++)
        if (flattener->unit->nodes[i].parent == UNIT_NONE)
            err = claim(flattener, (uint32_t)i, error);
    size_t count = flattener->claim_count;
    if (err == ERR_OK)
        err = BUDGET_GROW(flattener->budget, flattener->ranges, flattener->range_capacity, count,
                          error);
    if (err)
        return err;
    for (size_t i = 0; i < count; i++) {
        struct pc_range range = flattener->claims[i].range;
        flattener->ranges[i] = (struct sweep_range){
            range.begin, range.end, .key = range.end - range.begin, .id = (uint32_t)i};
    }
    err = sweep_sort(flattener->budget, flattener->ranges, count, error);
    if (err)
        return err;
    count = drop_twins(flattener, count);
    err = sweep(flattener->budget, flattener->ranges, count, &flattener->owned, error);
    if (err == ERR_OK)
        sort_by_claim(&flattener->owned);
    return err;
}
