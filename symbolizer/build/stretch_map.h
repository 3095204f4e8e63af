/*
 * Which stretch answers where, over all shards. Of ranges of functions that answer for an address
 * in their units the smallest wins, ties go to the first pushed; among functions of the very same
 * range the first that fits its unit's lines (symbolizer/build/unit_flatten.h).
 *
 * The rows of what lost stay known: they become orphans of their shard.
 */
#pragma once

#include "symbolizer/build/collection.h"

struct stretch_place {
    uint32_t shard;
    uint32_t position; /* in the shard's stretches */
};

struct stretch_map {
    struct memory_budget *budget;
    struct stretch_place *places; /* by id */
    size_t place_count, place_capacity;
    struct sweep_segments segments; /* ascending; ids as above */
};

/* Zero-initialise. */
enum err stretch_map_build(struct stretch_map *map, struct collection *collection,
                           struct error *error);
void stretch_map_clear(struct stretch_map *map);
