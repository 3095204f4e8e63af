#include "symbolizer/build/unit_flatten.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/build/unit_flatten_internal.h"

enum err unit_flattener_new(struct memory_budget *budget, const struct symbol_map *symbols,
                            struct unit_flattener **ret_flattener, struct error *error) {
    CLEANUP(cleanup_unit_flattener)
    struct unit_flattener *flattener = calloc(1, sizeof(*flattener));
    if (!flattener)
        return error_set(error, ERR_NO_MEMORY, "no memory to flatten units with");
    flattener->budget = budget;
    flattener->symbols = symbols;
    flattener->scopes_told.key = hash_key_of_process();
    enum err err = inline_paint_new(budget, &flattener->paint, error);
    if (err == ERR_OK)
        *ret_flattener = TAKE(flattener);
    return err;
}

void unit_flattener_free(struct unit_flattener *flattener) {
    if (!flattener)
        return;
    struct memory_budget *budget = flattener->budget;
    line_map_clear(&flattener->lines);
    inline_paint_free(flattener->paint);
    scope_table_clear(&flattener->scopes_told, budget);
    sweep_segments_clear(budget, &flattener->owned);
    BUDGET_FREE(budget, flattener->ranges, flattener->range_capacity);
    BUDGET_FREE(budget, flattener->claims, flattener->claim_capacity);
    BUDGET_FREE(budget, flattener->scopes, flattener->scope_capacity);
    free(flattener);
}

/* --- scopes --- */

/* The function's subject, or one like it with the name of the symbol at its entry: where that
 * agrees and says more, or where DWARF has no name. Then the answer is the symbol table's. */
static enum err subject_of_function(struct unit_flattener *flattener, uint32_t node,
                                    uint32_t *ret_subject, struct error *error) {
    struct shard *shard = flattener->shard;
    *ret_subject = flattener->unit->nodes[node].subject;
    bool is_entry;
    uint32_t symbol = unit_function_symbol(flattener, node, &is_entry);
    bool has_name = shard->subjects[*ret_subject - 1].name != 0;
    if (symbol == SYMBOL_NONE || (!has_name && !is_entry))
        return ERR_OK;
    uint32_t name = flattener->symbols->list[symbol].name;
    if (has_name && !unit_function_name(flattener, node, symbol, &name))
        return ERR_OK;
    enum err err = SHARD_RESERVE(shard, subjects, subject_count, subject_capacity, error);
    if (err)
        return err;
    struct shard_subject named = shard->subjects[*ret_subject - 1];
    named.name = name;
    named.is_linkage = true;
    if (!has_name)
        named.origin = (uint8_t)flattener->symbols->list[symbol].origin;
    shard->subjects[shard->subject_count++] = named;
    *ret_subject = (uint32_t)shard->subject_count;
    return ERR_OK;
}

static enum err scope_of_function(struct unit_flattener *flattener, uint32_t node,
                                  struct error *error) {
    const struct unit_node *function = &flattener->unit->nodes[node];
    struct shard_scope scope = {.has_entry_pc = function->entry != UNIT_NONE};
    if (scope.has_entry_pc)
        scope.entry_pc = flattener->unit->entries[function->entry];
    enum err err = subject_of_function(flattener, node, &scope.subject, error);
    return err ? err
               : scope_table_start(&flattener->scopes_told, flattener->shard, &scope,
                                   &flattener->scopes[node], error);
}

/* The scope of a node, and those around it as far as they were not needed before. The function's
 * is there. */
static enum err scope_of(struct unit_flattener *flattener, uint32_t node, uint32_t *ret_scope,
                         struct error *error) {
    const struct unit_node *nodes = flattener->unit->nodes;
    uint32_t *scopes = flattener->scopes;
    size_t count = 0;
    enum err err = ERR_OK;
    for (uint32_t at = node; scopes[at] == 0; at = nodes[at].parent) {
        assert(count < FRAME_COUNT_MAX && nodes[at].parent != UNIT_NONE);
        flattener->path[count++] = at;
    }
    while (err == ERR_OK && count > 0) {
        const struct unit_node *copy = &nodes[flattener->path[--count]];
        struct shard_scope scope = {
            .subject = copy->subject, .parent = scopes[copy->parent], .call = copy->call};
        err = scope_table_copy(&flattener->scopes_told, flattener->shard, &scope,
                               &scopes[flattener->path[count]], error);
    }
    *ret_scope = scopes[node];
    return err;
}

/* --- stretches --- */

static bool same_place(const struct index_place *a, const struct index_place *b) {
    return a->file == b->file && a->line == b->line && a->column == b->column;
}

static bool goes_on(const struct shard_stretch *last, const struct shard_stretch *wanted) {
    return last->end == wanted->begin && last->function == wanted->function &&
           last->sequence == wanted->sequence && last->unpainted == wanted->unpainted &&
           last->range.begin == wanted->range.begin && last->range.end == wanted->range.end;
}

/* The stretch that goes on at `begin`, or a new one like `wanted`. */
static enum err continue_stretch(struct shard *shard, const struct shard_stretch *wanted,
                                 struct shard_stretch **ret_stretch, struct error *error) {
    size_t count = shard->stretch_count;
    if (count > 0 && goes_on(&shard->stretches[count - 1], wanted)) {
        *ret_stretch = &shard->stretches[count - 1];
        return ERR_OK;
    }
    enum err err = SHARD_RESERVE(shard, stretches, stretch_count, stretch_capacity, error);
    if (err)
        return err;
    *ret_stretch = &shard->stretches[shard->stretch_count++];
    **ret_stretch = *wanted;
    (*ret_stretch)->end = wanted->begin;
    (*ret_stretch)->interval_first = (uint32_t)shard->interval_count;
    return ERR_OK;
}

static enum err add_interval(struct shard *shard, const struct shard_stretch *wanted,
                             const struct shard_interval *interval, struct error *error) {
    struct shard_stretch *stretch;
    enum err err = continue_stretch(shard, wanted, &stretch, error);
    if (err)
        return err;
    stretch->end = wanted->end;
    if (stretch->interval_count > 0) {
        const struct shard_interval *last = &shard->intervals[shard->interval_count - 1];
        if (last->scope == interval->scope && same_place(&last->row, &interval->row))
            return ERR_OK;
    }
    err = SHARD_RESERVE(shard, intervals, interval_count, interval_capacity, error);
    if (err)
        return err;
    shard->intervals[shard->interval_count++] = *interval;
    stretch->interval_count++;
    return ERR_OK;
}

/* [wanted->begin, end), throughout which `scope` executes, by rows. */
static enum err add_rows(struct unit_flattener *flattener, struct shard_stretch wanted,
                         uint64_t end, uint32_t scope, struct error *error) {
    enum err err = ERR_OK;
    while (err == ERR_OK && wanted.begin < end) {
        struct line_answer answer =
            line_map_at(&flattener->lines, wanted.begin, &flattener->context);
        struct shard_interval interval = {.begin = wanted.begin, .scope = scope};
        if (answer.row)
            interval.row = answer.row->place;
        wanted.sequence = answer.row ? flattener->sequence_first + answer.sequence : 0;
        wanted.end = answer.end < end ? answer.end : end;
        err = add_interval(flattener->shard, &wanted, &interval, error);
        wanted.begin = wanted.end;
    }
    return err;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* What one range answers for in one piece: inlined copies and what lies between them. *position is
 * the first piece that may reach into it. */
static enum err add_owned(struct unit_flattener *flattener, const struct sweep_segment *owned,
                          const struct paint_pieces *pieces, size_t *position,
                          struct error *error) {
    const struct unit_claim *claim = &flattener->claims[owned->id];
    struct shard_stretch wanted = {
        .begin = owned->begin,
        .range = claim->range,
        .function = flattener->scopes[claim->node],
        .fits = claim->fits,
    };
    enum err err = ERR_OK;
    while (err == ERR_OK && wanted.begin < owned->end) {
        uint64_t pc = wanted.begin;
        while (*position < pieces->count && pieces->list[*position].end <= pc)
            (*position)++;
        const struct paint_piece *piece = *position < pieces->count ? &pieces->list[*position]
                                                                    : NULL;
        wanted.unpainted = pc >= pieces->unpainted_from;
        uint64_t end = owned->end;
        if (!wanted.unpainted)
            end = smaller(end, pieces->unpainted_from);
        uint32_t scope = wanted.function;
        if (piece && piece->begin <= pc) {
            end = smaller(end, piece->end);
            err = scope_of(flattener, piece->node, &scope, error);
        } else if (piece) {
            end = smaller(end, piece->begin);
        }
        if (err == ERR_OK)
            err = add_rows(flattener, wanted, end, scope, error);
        wanted.begin = end;
    }
    return err;
}

/* --- functions --- */

static int compare_begin(const void *left, const void *right) {
    const struct sweep_segment *a = left;
    const struct sweep_segment *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* All that one function answers for. Its ranges come in any order; the pieces ascend. */
static enum err add_function(struct unit_flattener *flattener, struct sweep_segment *owned,
                             size_t count, struct error *error) {
    uint32_t node = flattener->claims[owned[0].id].node;
    struct paint_pieces pieces;
    flattener->context = unit_function_context(flattener, node);
    enum err err = scope_of_function(flattener, node, error);
    if (err == ERR_OK)
        err = inline_paint_function(flattener->paint, node, &pieces, error);
    if (err)
        return err;
    flattener->shard->counts.damage += pieces.unpainted_from != UINT64_MAX;
    if (count > 1)
        qsort(owned, count, sizeof(*owned), compare_begin);
    size_t position = 0;
    for (size_t i = 0; err == ERR_OK && i < count; i++)
        err = add_owned(flattener, &owned[i], &pieces, &position, error);
    return err;
}

static enum err add_functions(struct unit_flattener *flattener, struct error *error) {
    const struct sweep_segments *owned = &flattener->owned;
    enum err err = ERR_OK;
    size_t next = 0;
    for (size_t first = 0; err == ERR_OK && first < owned->count; first = next) {
        uint32_t node = flattener->claims[owned->list[first].id].node;
        while (next < owned->count && flattener->claims[owned->list[next].id].node == node)
            next++;
        err = add_function(flattener, &owned->list[first], next - first, error);
    }
    return err;
}

static enum err add_sequences(struct unit_flattener *flattener, struct error *error) {
    const struct unit *unit = flattener->unit;
    struct shard *shard = flattener->shard;
    if (unit->sequence_count > SHARD_RECORDS_MAX - shard->sequence_count)
        return error_set(error, ERR_LIMIT, "too many line sequences");
    enum err err = BUDGET_GROW(shard->budget, shard->sequences, shard->sequence_capacity,
                               shard->sequence_count + unit->sequence_count, error);
    if (err)
        return err;
    flattener->sequence_first = (uint32_t)shard->sequence_count + 1;
    for (size_t i = 0; i < unit->sequence_count; i++)
        shard->sequences[shard->sequence_count++] =
            (struct pc_range){unit->sequences[i].begin, unit->sequences[i].end};
    return ERR_OK;
}

enum err unit_flatten(struct unit_flattener *flattener, const struct unit *unit,
                      struct shard *shard, struct error *error) {
    flattener->unit = unit;
    flattener->shard = shard;
    enum err err = BUDGET_GROW(flattener->budget, flattener->scopes, flattener->scope_capacity,
                               unit->node_count, error);
    if (err == ERR_OK && unit->node_count > 0)
        memset(flattener->scopes, 0, unit->node_count * sizeof(*flattener->scopes));
    if (err == ERR_OK)
        err = add_sequences(flattener, error);
    if (err == ERR_OK)
        err = line_map_build(&flattener->lines, unit, error);
    if (err == ERR_OK)
        err = unit_claim_functions(flattener, error);
    if (err == ERR_OK)
        err = inline_paint_start(flattener->paint, unit, error);
    if (err == ERR_OK)
        err = add_functions(flattener, error);
    return err ? err : unit_add_orphans(flattener, error);
}
