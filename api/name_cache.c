#include "api/name_cache.h"

#include <stdint.h>
#include <stdlib.h>

struct place {
    char *bytes; /* the mangled name, then the readable one */
    uint32_t mangled_size;
    uint32_t size;
};

struct name_cache {
    size_t size; /* of all names */
    struct place places[NAME_CACHE_COUNT];
};

struct name_cache *name_cache_new(void) {
    return calloc(1, sizeof(struct name_cache));
}

void name_cache_free(struct name_cache *cache) {
    if (!cache)
        return;
    for (size_t i = 0; i < NAME_CACHE_COUNT; i++)
        free(cache->places[i].bytes);
    free(cache);
}

/* Multiplication carries differences up, the shift brings them down again. */
static size_t place_of(struct span mangled) {
    const uint64_t factor = 0x9e3779b97f4a7c15; /* 2^64 over the golden ratio: odd, no pattern */
    uint64_t hash = mangled.size;
    for (size_t at = 0; at < mangled.size; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        size_t left = mangled.size - at;
        memcpy(&word, mangled.data + at, left < sizeof(word) ? left : sizeof(word));
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
    }
    return (hash * factor >> 32) % NAME_CACHE_COUNT;
}

bool name_cache_find(const struct name_cache *cache, struct span mangled, struct span *ret_name) {
    const struct place *place = &cache->places[place_of(mangled)];
    if (!place->bytes || !span_equal(span_of(place->bytes, place->mangled_size), mangled))
        return false;
    *ret_name = span_of(place->bytes + place->mangled_size, place->size - place->mangled_size);
    return true;
}

void name_cache_put(struct name_cache *cache, struct span mangled, struct span name) {
    if (mangled.size > NAME_CACHE_ENTRY_SIZE_MAX ||
        name.size > NAME_CACHE_ENTRY_SIZE_MAX - mangled.size || mangled.size + name.size == 0)
        return;
    struct place *place = &cache->places[place_of(mangled)];
    size_t size = mangled.size + name.size;
    if (cache->size - place->size + size > NAME_CACHE_SIZE_MAX)
        return;
    char *bytes = malloc(size);
    if (!bytes)
        return;
    memcpy(bytes, mangled.data, mangled.size);
    memcpy(bytes + mangled.size, name.data, name.size);
    cache->size += size - place->size;
    free(place->bytes);
    *place = (struct place){
        .bytes = bytes,
        .mangled_size = (uint32_t)mangled.size,
        .size = (uint32_t)size,
    };
}
