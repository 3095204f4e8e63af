/*
 * A growable list of address ranges, as the DWARF readers collect them for one DIE after another.
 * Zero-initialise, end with range_list_clear; setting the count to 0 keeps the memory for reuse.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/symbol.h"

struct range_list {
    struct pc_range *items;
    size_t count;
    size_t capacity;
};

void range_list_clear(struct range_list *list);
enum err range_list_add(struct range_list *list, struct pc_range range, struct error *error);

/* True, with the smallest range that covers pc, if there is one. */
bool range_list_find(const struct range_list *list, uint64_t pc, struct pc_range *ret_range);

/* Sorts the list and joins what touches; then range_list_covers may be asked. */
void range_list_join(struct range_list *list);
bool range_list_covers(const struct range_list *list, uint64_t pc);
/* Of a joined list too: true if all of the range lies in it. */
bool range_list_contains(const struct range_list *list, struct pc_range range);
