#include "debuginfo/symbol_winners.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct winner_list {
    struct symbol_winner *items;
    size_t count;
    size_t capacity;
};

static void winner_list_clear(struct winner_list *list) {
    free(list->items);
    *list = (struct winner_list){0};
}

static enum err winner_list_add(struct winner_list *list, uint64_t begin, uint64_t end,
                                uint32_t candidate, struct error *error) {
    if (begin >= end)
        return ERR_OK;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 256;
        struct symbol_winner *grown = realloc(list->items, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu symbols", capacity);
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = (struct symbol_winner){begin, end, candidate};
    return ERR_OK;
}

static int compare_names(struct span a, struct span b) {
    size_t shared = a.size < b.size ? a.size : b.size;
    int order = shared ? memcmp(a.data, b.data, shared) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

int symbol_candidate_compare(const struct symbol_candidate *a, const struct symbol_candidate *b) {
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    int order = compare_names(b->name, a->name);
    if (order)
        return order;
    return (a->end > b->end) - (a->end < b->end);
}

static int compare_candidates(const void *left, const void *right) {
    return symbol_candidate_compare(left, right);
}

/* The intervals open at the sweep's position; the top one answers. */
struct sweep {
    const struct symbol_candidate *candidates;
    uint32_t *open;
    size_t open_count;
    uint64_t position;
    struct winner_list *out;
};

/* Moves the position to `until`, writing down who answers on the way. */
static enum err sweep_to(struct sweep *sweep, uint64_t until, struct error *error) {
    while (sweep->open_count > 0 && sweep->position < until) {
        uint32_t top = sweep->open[sweep->open_count - 1];
        uint64_t end = sweep->candidates[top].end;
        uint64_t stop = end < until ? end : until;
        enum err err = winner_list_add(sweep->out, sweep->position, stop, top, error);
        if (err)
            return err;
        if (stop > sweep->position)
            sweep->position = stop;
        if (end <= sweep->position)
            sweep->open_count--;
    }
    sweep->position = until;
    return ERR_OK;
}

/* True if begin lies in a winner; *cursor only moves forward, as begins ascend. */
static bool is_covered(const struct winner_list *winners, size_t *cursor, uint64_t begin) {
    while (*cursor < winners->count && winners->items[*cursor].end <= begin)
        (*cursor)++;
    return *cursor < winners->count && winners->items[*cursor].begin <= begin;
}

/* The disjoint intervals of one kind alone, without the symbols that begin inside `better`. */
static enum err sweep_kind(const struct symbol_candidate *candidates, size_t count,
                           enum symbol_kind kind, const struct winner_list *better,
                           struct winner_list *out, struct error *error) {
    CLEANUP(cleanup_free) uint32_t *open = calloc(count ? count : 1, sizeof(*open));
    if (!open)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu symbols", count);
    struct sweep sweep = {.candidates = candidates, .open = open, .out = out};
    size_t cursor = 0;
    for (size_t i = 0; i < count; i++) {
        if (candidates[i].kind != kind || is_covered(better, &cursor, candidates[i].begin))
            continue;
        enum err err = sweep_to(&sweep, candidates[i].begin, error);
        if (err)
            return err;
        sweep.open[sweep.open_count++] = (uint32_t)i;
    }
    return sweep_to(&sweep, UINT64_MAX, error);
}

/* Adds to `out` what is left of one interval outside `better`, then returns. */
static enum err add_outside(const struct symbol_winner *piece, const struct winner_list *better,
                            size_t cursor, struct winner_list *out, struct error *error) {
    uint64_t begin = piece->begin;
    for (; cursor < better->count && better->items[cursor].begin < piece->end; cursor++) {
        const struct symbol_winner *blocker = &better->items[cursor];
        enum err err = winner_list_add(out, begin, blocker->begin, piece->candidate, error);
        if (err)
            return err;
        if (blocker->end > begin)
            begin = blocker->end;
    }
    return winner_list_add(out, begin, piece->end, piece->candidate, error);
}

static enum err subtract(const struct winner_list *pieces, const struct winner_list *better,
                         struct winner_list *out, struct error *error) {
    size_t cursor = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        const struct symbol_winner *piece = &pieces->items[i];
        while (cursor < better->count && better->items[cursor].end <= piece->begin)
            cursor++;
        enum err err = add_outside(piece, better, cursor, out, error);
        if (err)
            return err;
    }
    return ERR_OK;
}

/* Both lists are ascending, and disjoint also from each other. */
static enum err merge(const struct winner_list *a, const struct winner_list *b,
                      struct winner_list *out, struct error *error) {
    size_t i = 0;
    size_t j = 0;
    while (i < a->count || j < b->count) {
        bool take_a = j == b->count || (i < a->count && a->items[i].begin < b->items[j].begin);
        const struct symbol_winner *next = take_a ? &a->items[i++] : &b->items[j++];
        assert(out->count == 0 || out->items[out->count - 1].end <= next->begin);
        enum err err = winner_list_add(out, next->begin, next->end, next->candidate, error);
        if (err)
            return err;
    }
    return ERR_OK;
}

static enum err add_kind(const struct symbol_candidate *candidates, size_t count,
                         enum symbol_kind kind, struct winner_list *winners, struct error *error) {
    CLEANUP(winner_list_clear) struct winner_list pieces = {0};
    CLEANUP(winner_list_clear) struct winner_list outside = {0};
    CLEANUP(winner_list_clear) struct winner_list merged = {0};
    enum err err = sweep_kind(candidates, count, kind, winners, &pieces, error);
    if (!err)
        err = subtract(&pieces, winners, &outside, error);
    if (!err)
        err = merge(winners, &outside, &merged, error);
    if (err)
        return err;
    struct winner_list before = *winners;
    *winners = merged;
    merged = before;
    return ERR_OK;
}

enum err symbol_winners_choose(struct symbol_candidate *candidates, size_t count,
                               struct symbol_winner **ret_winners, size_t *ret_count,
                               struct error *error) {
    assert(count <= UINT32_MAX);
    if (count > 0)
        qsort(candidates, count, sizeof(*candidates), compare_candidates);
    CLEANUP(winner_list_clear) struct winner_list winners = {0};
    for (int kind = 0; kind < SYMBOL_KIND_COUNT; kind++) {
        enum err err = add_kind(candidates, count, (enum symbol_kind)kind, &winners, error);
        if (err)
            return err;
    }
    *ret_count = winners.count;
    *ret_winners = TAKE(winners.items);
    return ERR_OK;
}
