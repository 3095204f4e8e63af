/*
 * Strings kept once: equal bytes give the same copy, which lives as long as the pool. For names and
 * paths that a source has to compose and hands out for its whole life. Not thread-safe.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"

struct string_pool;

/* NULL when out of memory. size_max bounds the bytes kept. */
struct string_pool *string_pool_new(size_t size_max);
void string_pool_free(struct string_pool *pool);
DEFINE_CLEANUP(string_pool, struct string_pool, string_pool_free)

/* ERR_NO_MEMORY when the limit or memory is exhausted. The copy has a NUL behind it. */
enum err string_pool_intern(struct string_pool *pool, struct span text, struct span *ret_copy,
                            struct error *error);
