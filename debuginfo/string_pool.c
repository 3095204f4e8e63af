#include "debuginfo/string_pool.h"

#include <stdint.h>

#include "base/arena.h"

/* An open hash table of at most half load. A slot with data NULL is free; the empty string has no
 * slot. */
struct string_pool {
    struct arena *arena;
    struct span *slots;
    size_t slot_count; /* a power of two */
    size_t used;
};

#define SLOT_COUNT_FIRST 256

struct string_pool *string_pool_new(size_t size_max) {
    CLEANUP(cleanup_string_pool) struct string_pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return NULL;
    pool->slot_count = SLOT_COUNT_FIRST;
    pool->slots = calloc(pool->slot_count, sizeof(*pool->slots));
    pool->arena = arena_new(size_max);
    return pool->slots && pool->arena ? TAKE(pool) : NULL;
}

void string_pool_free(struct string_pool *pool) {
    if (!pool)
        return;
    free(pool->slots);
    arena_free(pool->arena);
    free(pool);
}

/* FNV-1a: the strings are short, and hostile ones can at worst make this file's own lookups slow.
 */
static uint64_t hash_of(struct span text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (uint8_t)text.data[i]) * 0x100000001b3;
    return hash;
}

/* The slot that holds the text, or the free one where it belongs. */
static struct span *find_slot(struct span *slots, size_t slot_count, struct span text) {
    size_t position = hash_of(text) & (slot_count - 1);
    while (slots[position].data && !span_equal(slots[position], text))
        position = (position + 1) & (slot_count - 1);
    return &slots[position];
}

static bool grow(struct string_pool *pool) {
    size_t slot_count = 2 * pool->slot_count;
    struct span *slots = calloc(slot_count, sizeof(*slots));
    if (!slots)
        return false;
    for (size_t i = 0; i < pool->slot_count; i++)
        if (pool->slots[i].data)
            *find_slot(slots, slot_count, pool->slots[i]) = pool->slots[i];
    free(pool->slots);
    pool->slots = slots;
    pool->slot_count = slot_count;
    return true;
}

enum err string_pool_intern(struct string_pool *pool, struct span text, struct span *ret_copy,
                            struct error *error) {
    if (text.size == 0) {
        *ret_copy = span_cstr("");
        return ERR_OK;
    }
    struct span *slot = find_slot(pool->slots, pool->slot_count, text);
    if (!slot->data) {
        if (2 * (pool->used + 1) > pool->slot_count) {
            if (!grow(pool))
                return error_set(error, ERR_NO_MEMORY, "no memory for %zu strings", pool->used);
            slot = find_slot(pool->slots, pool->slot_count, text);
        }
        struct span copy = arena_copy(pool->arena, text);
        if (!copy.data)
            return error_set(error, ERR_NO_MEMORY, "no memory for a string of %zu bytes",
                             text.size);
        *slot = copy;
        pool->used++;
    }
    *ret_copy = *slot;
    return ERR_OK;
}
