/*
 * Which units can answer at an address. The first questions look at every unit's list of ranges;
 * when more come, all ranges are sorted once, so that a question costs a search.
 */
#include <stdlib.h>

#include "debuginfo/dwarf_lookup_internal.h"

/* Sorting pays after about as many questions. */
#define QUESTIONS_UNSORTED 16

void lookup_units_clear(struct dwarf_lookup *lookup) {
    range_index_clear(&lookup->stated);
    free(lookup->candidates);
}

static enum err sort_ranges(struct dwarf_lookup *lookup, struct error *error) {
    enum err err = ERR_OK;
    for (size_t i = 0; i < lookup->unit_count; i++) {
        const struct range_list *ranges = &lookup->units[i].ranges;
        for (size_t j = 0; !err && j < ranges->count; j++)
            err = range_index_add(&lookup->stated, ranges->items[j], (uint32_t)i, error);
    }
    range_index_sort(&lookup->stated);
    lookup->has_stated = !err;
    return err;
}

static void add_candidate(struct dwarf_lookup *lookup, size_t number) {
    lookup->candidates[lookup->candidate_count++] = (uint32_t)number;
}

static int compare_numbers(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* A unit's own ranges do not touch each other, so that each unit is found once. */
static void find_stated(struct dwarf_lookup *lookup, uint64_t pc) {
    size_t position = range_index_start(&lookup->stated, pc);
    const struct range_index_item *item;
    while ((item = range_index_next(&lookup->stated, pc, &position)))
        add_candidate(lookup, item->id);
    qsort(lookup->candidates, lookup->candidate_count, sizeof(*lookup->candidates),
          compare_numbers);
}

static bool may_answer(const struct dwarf_lookup *lookup, size_t number) {
    const struct dwarf_unit *unit = dwarf_info_unit(lookup->info, number);
    return !unit->damage && unit->has_code;
}

static void look_through(struct dwarf_lookup *lookup, uint64_t pc, bool hidden) {
    for (size_t i = 0; i < lookup->unit_count; i++) {
        const struct lookup_unit *known = &lookup->units[i];
        if ((hidden && !known->may_have_more) || !may_answer(lookup, i))
            continue;
        if (range_list_covers(&known->ranges, pc) != hidden)
            add_candidate(lookup, i);
    }
}

enum err lookup_find_candidates(struct dwarf_lookup *lookup, uint64_t pc, bool hidden,
                                struct error *error) {
    lookup->candidate_count = 0;
    if (!lookup->candidates)
        lookup->candidates = malloc((lookup->unit_count + 1) * sizeof(*lookup->candidates));
    if (!lookup->candidates)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu units", lookup->unit_count);
    if (!hidden && !lookup->has_stated && lookup->questions++ >= QUESTIONS_UNSORTED) {
        lookup->stated.count = 0;
        enum err err = sort_ranges(lookup, error);
        if (err)
            return err;
    }
    if (lookup->has_stated && !hidden)
        find_stated(lookup, pc);
    else
        look_through(lookup, pc, hidden);
    return ERR_OK;
}
