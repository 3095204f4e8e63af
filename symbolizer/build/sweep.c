#include "symbolizer/build/sweep.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct heap {
    const struct sweep_range *ranges;
    uint32_t *open; /* positions in ranges, the winner first */
    size_t count;
    size_t capacity;
};

static bool beats(const struct sweep_range *a, const struct sweep_range *b) {
    return a->key != b->key ? a->key < b->key : a->id < b->id;
}

static bool heap_less(const struct heap *heap, size_t a, size_t b) {
    return beats(&heap->ranges[heap->open[a]], &heap->ranges[heap->open[b]]);
}

static void heap_swap(struct heap *heap, size_t a, size_t b) {
    uint32_t kept = heap->open[a];
    heap->open[a] = heap->open[b];
    heap->open[b] = kept;
}

static enum err heap_push(struct memory_budget *budget, struct heap *heap, uint32_t position,
                          struct error *error) {
    enum err err = BUDGET_GROW(budget, heap->open, heap->capacity, heap->count + 1, error);
    if (err)
        return err;
    size_t at = heap->count++;
    heap->open[at] = position;
    while (at > 0 && heap_less(heap, at, (at - 1) / 2)) {
        heap_swap(heap, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
    return ERR_OK;
}

static void heap_pop(struct heap *heap) {
    heap->open[0] = heap->open[--heap->count];
    size_t at = 0;
    for (;;) {
        size_t best = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count; child++)
            if (heap_less(heap, child, best))
                best = child;
        if (best == at)
            return;
        heap_swap(heap, at, best);
        at = best;
    }
}

static int compare(const void *left, const void *right) {
    const struct sweep_range *a = left;
    const struct sweep_range *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

#define RADIX_BITS 11
#define RADIX_SIZE ((size_t)1 << RADIX_BITS)

/* One pass of a stable sort by begin, which is what counts of it above `shift`. */
static void radix_pass(const struct sweep_range *from, struct sweep_range *to, size_t count,
                       uint64_t base, unsigned shift) {
    size_t starts[RADIX_SIZE] = {0};
    for (size_t i = 0; i < count; i++)
        starts[(from[i].begin - base) >> shift & (RADIX_SIZE - 1)]++;
    size_t start = 0;
    for (size_t i = 0; i < RADIX_SIZE; i++) {
        size_t size = starts[i];
        starts[i] = start;
        start += size;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[(from[i].begin - base) >> shift & (RADIX_SIZE - 1)]++] = from[i];
}

/* Those that begin together, by end and id. */
static void sort_equals(struct sweep_range *ranges, size_t count) {
    size_t first = 0;
    for (size_t i = 1; i <= count; i++) {
        if (i < count && ranges[i].begin == ranges[first].begin)
            continue;
        if (i - first > 1)
            qsort(ranges + first, i - first, sizeof(*ranges), compare);
        first = i;
    }
}

static enum err radix_sort(struct memory_budget *budget, struct sweep_range *ranges, size_t count,
                           struct error *error) {
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    for (size_t i = 0; i < count; i++) {
        low = ranges[i].begin < low ? ranges[i].begin : low;
        high = ranges[i].begin > high ? ranges[i].begin : high;
    }
    struct sweep_range *other = NULL;
    size_t capacity = 0;
    enum err err = BUDGET_GROW(budget, other, capacity, count, error);
    if (err)
        return err;
    struct sweep_range *from = ranges;
    struct sweep_range *to = other;
    for (unsigned shift = 0; shift < 64 && (high - low) >> shift > 0; shift += RADIX_BITS) {
        radix_pass(from, to, count, low, shift);
        struct sweep_range *kept = from;
        from = to;
        to = kept;
    }
    if (from != ranges)
        memcpy(ranges, from, count * sizeof(*ranges));
    sort_equals(ranges, count);
    BUDGET_FREE(budget, other, capacity);
    return ERR_OK;
}

#define RADIX_COUNT_MIN 256

/* Inputs are mostly in order already; asking first is cheaper than sorting again. */
enum err sweep_sort(struct memory_budget *budget, struct sweep_range *ranges, size_t count,
                    struct error *error) {
    size_t ordered = 1;
    while (ordered < count && compare(&ranges[ordered - 1], &ranges[ordered]) <= 0)
        ordered++;
    if (ordered >= count)
        return ERR_OK;
    if (count >= RADIX_COUNT_MIN)
        return radix_sort(budget, ranges, count, error);
    qsort(ranges, count, sizeof(*ranges), compare);
    return ERR_OK;
}

static enum err emit(struct memory_budget *budget, struct sweep_segments *segments,
                     struct sweep_segment segment, struct error *error) {
    struct sweep_segment *last = segments->count ? &segments->list[segments->count - 1] : NULL;
    if (last && last->end == segment.begin && last->id == segment.id) {
        last->end = segment.end;
        return ERR_OK;
    }
    enum err err =
        BUDGET_GROW(budget, segments->list, segments->capacity, segments->count + 1, error);
    if (err == ERR_OK)
        segments->list[segments->count++] = segment;
    return err;
}

static enum err run(struct memory_budget *budget, struct heap *heap, size_t count,
                    struct sweep_segments *segments, struct error *error) {
    const struct sweep_range *ranges = heap->ranges;
    uint64_t pc = 0;
    size_t next = 0;
    enum err err = ERR_OK;
    while (err == ERR_OK) {
        if (heap->count == 0) {
            if (next == count)
                break;
            pc = ranges[next].begin;
        }
        while (err == ERR_OK && next < count && ranges[next].begin <= pc)
            err = heap_push(budget, heap, (uint32_t)next++, error);
        while (heap->count > 0 && ranges[heap->open[0]].end <= pc)
            heap_pop(heap);
        if (err || heap->count == 0)
            continue;
        const struct sweep_range *winner = &ranges[heap->open[0]];
        uint64_t end = winner->end;
        if (next < count && ranges[next].begin < end)
            end = ranges[next].begin;
        err = emit(budget, segments, (struct sweep_segment){pc, end, winner->id}, error);
        pc = end;
    }
    return err;
}

enum err sweep(struct memory_budget *budget, struct sweep_range *ranges, size_t count,
               struct sweep_segments *segments, struct error *error) {
    if (count > UINT32_MAX)
        return error_set(error, ERR_LIMIT, "%zu ranges are too many", count);
    enum err err = sweep_sort(budget, ranges, count, error);
    struct heap heap = {.ranges = ranges};
    if (err == ERR_OK)
        err = run(budget, &heap, count, segments, error);
    BUDGET_FREE(budget, heap.open, heap.capacity);
    return err;
}

size_t sweep_segments_find(const struct sweep_segments *segments, uint64_t pc) {
    size_t low = 0;
    size_t high = segments->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (segments->list[middle].end <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
