/*
 * Readable names of the mangled ones that an answer has shown already. Demangling takes some
 * microseconds, and the addresses of one request share most of their functions. Each place holds
 * one name, and a newer one replaces it; all together they hold NAME_CACHE_SIZE_MAX bytes at most.
 * Names that collide on purpose only cost the time of demangling them.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/span.h"

#define NAME_CACHE_COUNT ((size_t)8192)
#define NAME_CACHE_SIZE_MAX ((size_t)4 << 20)
#define NAME_CACHE_ENTRY_SIZE_MAX ((size_t)4096) /* a mangled name and its readable one */

struct name_cache;

/* NULL when out of memory. */
struct name_cache *name_cache_new(void);
void name_cache_free(struct name_cache *cache);
DEFINE_CLEANUP(name_cache, struct name_cache, name_cache_free)

/* The span lives until the next name_cache_put. */
bool name_cache_find(const struct name_cache *cache, struct span mangled, struct span *ret_name);

/* Copies both. What is too long, or finds no room, is not kept. */
void name_cache_put(struct name_cache *cache, struct span mangled, struct span name);
