/*
 * Which of many ranges cover an address: sorted once, searched many times. Ranges may overlap.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/symbol.h"

struct range_index_item {
    struct pc_range range;
    uint64_t end_max; /* of this and all items before it; filled in by range_index_sort */
    uint32_t id;      /* the caller's */
};

/* Zero-initialise, end with range_index_clear. */
struct range_index {
    struct range_index_item *items;
    size_t count;
    size_t capacity;
};

void range_index_clear(struct range_index *index);
enum err range_index_add(struct range_index *index, struct pc_range range, uint32_t id,
                         struct error *error);

/* After the last range_index_add, before the first search. */
void range_index_sort(struct range_index *index);

/* Search: the position behind the last range that begins at or before pc; then, from there, one
 * covering range after another, from the last to the first. NULL: there are no more. */
size_t range_index_start(const struct range_index *index, uint64_t pc);
const struct range_index_item *range_index_next(const struct range_index *index, uint64_t pc,
                                                size_t *io_position);

/* The smallest range that covers pc; of equal ones that with the lowest id. NULL: none does. */
const struct range_index_item *range_index_smallest(const struct range_index *index, uint64_t pc);
