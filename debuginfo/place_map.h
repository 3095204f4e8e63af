/*
 * From the address of something that lies in a file's bytes, and an index in it, to a number: which
 * subject a DIE is, which file a unit means by an index. For one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct place_entry {
    const void *place; /* NULL: free */
    uint32_t index;
    uint32_t number;
};

/* An open hash table; zero-initialise, end with place_map_clear. */
struct place_map {
    struct place_entry *slots;
    size_t slot_count; /* 0 or a power of two, at least twice `used` */
    size_t used;
};

void place_map_clear(struct place_map *map);

/* The number is that of the entry, which stays the caller's to change until the next call; a new
 * entry's is 0. ERR_NO_MEMORY. */
enum err place_map_at(struct place_map *map, const void *place, uint32_t index,
                      uint32_t **ret_number, struct error *error);
