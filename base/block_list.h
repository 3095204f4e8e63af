/*
 * Bytes gathered in blocks of one size: a list grows without moving what it holds, and is handed
 * over as a whole. Blocks come from a pool that keeps a few empty ones, so that memory which is
 * filled and emptied all the time is not given back to the system in between.
 *
 * Threads: any may share a pool; a list belongs to one at a time.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"

#define BLOCK_SIZE ((size_t)65536)

struct block;
struct block_pool;

/* At most spare_max empty blocks are kept. NULL when out of memory. */
struct block_pool *block_pool_new(size_t spare_max);
void block_pool_free(struct block_pool *pool);
DEFINE_CLEANUP(block_pool, struct block_pool, block_pool_free)

/* Zero-initialise but for the pool, which must outlive the bytes. */
struct block_list {
    struct block_pool *pool;
    struct block *first;
    struct block *last;
    size_t size; /* of the bytes in all blocks */
};

/* ERR_NO_MEMORY: some of the bytes may have been taken, and the list can only be cleared. */
enum err block_list_append(struct block_list *list, struct span bytes, struct error *error);

/* Moves all bytes to an empty list. */
void block_list_move(struct block_list *from, struct block_list *to);

/* The bytes of one block after another: give NULL for the first; NULL when there are no more. */
const struct block *block_list_next(const struct block_list *list, const struct block *block);
struct span block_bytes(const struct block *block);

/* Gives the blocks back. */
void block_list_clear(struct block_list *list);
