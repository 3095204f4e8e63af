/*
 * Overlapping ranges in, disjoint ones out: at each address the range with the smallest key wins,
 * ties go to the smallest id. One pass over the ranges sorted by begin with a heap of those that
 * are open: O(n log n) whatever the overlaps are, and at most 2n segments.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbolizer/build/budget.h"

struct sweep_range {
    uint64_t begin; /* < end */
    uint64_t end;
    uint64_t key;
    uint32_t id;
};

struct sweep_segment {
    uint64_t begin;
    uint64_t end;
    uint32_t id; /* of the winner */
};

struct sweep_segments {
    struct sweep_segment *list; /* ascending, disjoint; neighbours of one winner are joined */
    size_t count;
    size_t capacity;
};

/* Sorts by begin, end and id. */
enum err sweep_sort(struct memory_budget *budget, struct sweep_range *ranges, size_t count,
                    struct error *error);

/* Sorts `ranges`, and appends to *segments. */
enum err sweep(struct memory_budget *budget, struct sweep_range *ranges, size_t count,
               struct sweep_segments *segments, struct error *error);

/* The first segment that ends behind pc; segments->count when there is none. */
size_t sweep_segments_find(const struct sweep_segments *segments, uint64_t pc);

static inline void sweep_segments_clear(struct memory_budget *budget,
                                        struct sweep_segments *segments) {
    BUDGET_FREE(budget, segments->list, segments->capacity);
    segments->count = 0;
}
