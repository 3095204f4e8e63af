#include "debuginfo/place_map.h"

#include <stdlib.h>

#define SLOT_COUNT_FIRST 256

void place_map_clear(struct place_map *map) {
    free(map->slots);
    *map = (struct place_map){0};
}

/* The slot of the place, or the free one where it belongs. The multiplication spreads neighbours;
 * hostile bytes can at worst make their own file's build slow. */
static struct place_entry *find_slot(struct place_entry *slots, size_t slot_count,
                                     const void *place, uint32_t index) {
    uint64_t hash = ((uint64_t)(uintptr_t)place + ((uint64_t)index << 40)) * 0x9e3779b97f4a7c15;
    size_t position = (hash >> 32) & (slot_count - 1);
    while (slots[position].place &&
           (slots[position].place != place || slots[position].index != index))
        position = (position + 1) & (slot_count - 1);
    return &slots[position];
}

static enum err grow(struct place_map *map, struct error *error) {
    size_t slot_count = map->slot_count ? 2 * map->slot_count : SLOT_COUNT_FIRST;
    struct place_entry *slots = calloc(slot_count, sizeof(*slots));
    if (!slots)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu places", slot_count);
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].place)
            *find_slot(slots, slot_count, map->slots[i].place, map->slots[i].index) = map->slots[i];
    free(map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
    return ERR_OK;
}

enum err place_map_at(struct place_map *map, const void *place, uint32_t index,
                      uint32_t **ret_number, struct error *error) {
    if (2 * map->used >= map->slot_count) {
        enum err err = grow(map, error);
        if (err)
            return err;
    }
    struct place_entry *slot = find_slot(map->slots, map->slot_count, place, index);
    if (!slot->place) {
        slot->place = place;
        slot->index = index;
        map->used++;
    }
    *ret_number = &slot->number;
    return ERR_OK;
}
