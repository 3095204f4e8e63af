#include "debuginfo/range_list.h"

#include <stdint.h>
#include <stdlib.h>

void range_list_clear(struct range_list *list) {
    free(list->items);
    *list = (struct range_list){0};
}

enum err range_list_add(struct range_list *list, struct pc_range range, struct error *error) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 8;
        struct pc_range *grown = realloc(list->items, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu ranges", capacity);
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = range;
    return ERR_OK;
}

bool range_list_find(const struct range_list *list, uint64_t pc, struct pc_range *ret_range) {
    bool found = false;
    for (size_t i = 0; i < list->count; i++) {
        struct pc_range range = list->items[i];
        if (pc < range.begin || pc >= range.end)
            continue;
        if (!found || range.end - range.begin < ret_range->end - ret_range->begin)
            *ret_range = range;
        found = true;
    }
    return found;
}

static int compare_ranges(const void *a, const void *b) {
    const struct pc_range *left = a;
    const struct pc_range *right = b;
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

void range_list_join(struct range_list *list) {
    if (list->count == 0)
        return;
    qsort(list->items, list->count, sizeof(*list->items), compare_ranges);
    size_t last = 0;
    for (size_t i = 1; i < list->count; i++) {
        if (list->items[i].begin > list->items[last].end)
            list->items[++last] = list->items[i];
        else if (list->items[i].end > list->items[last].end)
            list->items[last].end = list->items[i].end;
    }
    list->count = last + 1;
}

/* Position of the range that covers pc in a joined list; its count when there is none. */
static size_t covering(const struct range_list *list, uint64_t pc) {
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].end <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->items[low].begin <= pc ? low : list->count;
}

bool range_list_covers(const struct range_list *list, uint64_t pc) {
    return covering(list, pc) < list->count;
}

bool range_list_contains(const struct range_list *list, struct pc_range range) {
    size_t i = covering(list, range.begin);
    return i < list->count && range.end <= list->items[i].end;
}
