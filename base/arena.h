/*
 * Memory that lives and dies together: one arena per build job or request. Allocations are never
 * freed one by one. The limit bounds what hostile input can make us take; reaching it returns NULL.
 * Not thread-safe.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"
#include "base/span.h"

struct arena;

/* NULL when out of memory. size_max counts bytes handed out, rounded up to 16 each. */
struct arena *arena_new(size_t size_max);
void arena_free(struct arena *arena);
DEFINE_CLEANUP(arena, struct arena, arena_free)

/* Zeroed, aligned to 16. NULL when the limit or memory is exhausted. */
void *arena_alloc(struct arena *arena, size_t size);

/* A copy of the bytes with a NUL behind it; {NULL, 0} when it could not be had. */
struct span arena_copy(struct arena *arena, struct span bytes);

size_t arena_used(const struct arena *arena);
