#include "symbolizer/build/sweep.h"

#include <stdbool.h>
#include <stdlib.h>

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

/* Inputs are mostly in order already; asking first is cheaper than sorting again. */
static void sort(struct sweep_range *ranges, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (compare(&ranges[i - 1], &ranges[i]) > 0) {
            qsort(ranges, count, sizeof(*ranges), compare);
            return;
        }
    }
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
    sort(ranges, count);
    struct heap heap = {.ranges = ranges};
    enum err err = run(budget, &heap, count, segments, error);
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
