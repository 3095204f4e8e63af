#include "debuginfo/range_index.h"

#include <stdlib.h>

void range_index_clear(struct range_index *index) {
    free(index->items);
    *index = (struct range_index){0};
}

enum err range_index_add(struct range_index *index, struct pc_range range, uint32_t id,
                         struct error *error) {
    if (index->count == index->capacity) {
        size_t capacity = index->capacity ? 2 * index->capacity : 16;
        struct range_index_item *grown = realloc(index->items, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu ranges", capacity);
        index->items = grown;
        index->capacity = capacity;
    }
    index->items[index->count++] = (struct range_index_item){.range = range, .id = id};
    return ERR_OK;
}

static int compare_items(const void *a, const void *b) {
    const struct range_index_item *left = a;
    const struct range_index_item *right = b;
    if (left->range.begin != right->range.begin)
        return left->range.begin < right->range.begin ? -1 : 1;
    return (left->id > right->id) - (left->id < right->id);
}

void range_index_sort(struct range_index *index) {
    if (index->count == 0)
        return;
    qsort(index->items, index->count, sizeof(*index->items), compare_items);
    uint64_t end_max = 0;
    for (size_t i = 0; i < index->count; i++) {
        uint64_t end = index->items[i].range.end;
        end_max = end > end_max ? end : end_max;
        index->items[i].end_max = end_max;
    }
}

size_t range_index_start(const struct range_index *index, uint64_t pc) {
    size_t low = 0;
    size_t high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->items[middle].range.begin <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct range_index_item *range_index_next(const struct range_index *index, uint64_t pc,
                                                size_t *io_position) {
    while (*io_position > 0 && index->items[*io_position - 1].end_max > pc) {
        const struct range_index_item *item = &index->items[--*io_position];
        if (item->range.end > pc)
            return item;
    }
    return NULL;
}

const struct range_index_item *range_index_smallest(const struct range_index *index, uint64_t pc) {
    const struct range_index_item *best = NULL;
    uint64_t best_size = 0;
    size_t position = range_index_start(index, pc);
    const struct range_index_item *item;
    while ((item = range_index_next(index, pc, &position))) {
        uint64_t size = item->range.end - item->range.begin;
        if (best && (size > best_size || (size == best_size && item->id > best->id)))
            continue;
        best = item;
        best_size = size;
    }
    return best;
}
