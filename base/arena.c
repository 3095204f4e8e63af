#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BLOCK_SIZE ((size_t)64 << 10)
#define ARENA_ALIGNMENT ((size_t)16)

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t size;
    _Alignas(16) char data[];
};

struct arena {
    struct arena_block *blocks;
    size_t used;
    size_t size_max;
};

struct arena *arena_new(size_t size_max) {
    struct arena *arena = calloc(1, sizeof(*arena));
    if (arena)
        arena->size_max = size_max;
    return arena;
}

void arena_free(struct arena *arena) {
    if (!arena)
        return;
    while (arena->blocks) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    free(arena);
}

static struct arena_block *add_block(struct arena *arena, size_t size) {
    size_t room = size > ARENA_BLOCK_SIZE ? size : ARENA_BLOCK_SIZE;
    struct arena_block *block = malloc(sizeof(*block) + room);
    if (!block)
        return NULL;
    block->used = 0;
    block->size = room;
    /* A large block goes behind the current one, whose remaining room stays in use. */
    if (size > ARENA_BLOCK_SIZE && arena->blocks) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block;
}

void *arena_alloc(struct arena *arena, size_t size) {
    if (size > SIZE_MAX - ARENA_ALIGNMENT)
        return NULL;
    size = (size + ARENA_ALIGNMENT - 1) & ~(ARENA_ALIGNMENT - 1);
    if (size == 0)
        size = ARENA_ALIGNMENT;
    if (size > arena->size_max - arena->used)
        return NULL;
    struct arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size)
        block = add_block(arena, size);
    if (!block)
        return NULL;
    void *result = block->data + block->used;
    block->used += size;
    arena->used += size;
    return memset(result, 0, size);
}

struct span arena_copy(struct arena *arena, struct span bytes) {
    char *copy = bytes.size < SIZE_MAX ? arena_alloc(arena, bytes.size + 1) : NULL;
    if (!copy)
        return (struct span){NULL, 0};
    if (bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    return span_of(copy, bytes.size);
}

size_t arena_used(const struct arena *arena) {
    return arena->used;
}
