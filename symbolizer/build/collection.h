/*
 * Everything that the sources know of one binary, ready to be assembled into an index: the ELF
 * symbols, and what each shard of the source of functions comes to. Shards are pushed by several
 * threads, each into memory of its own; what comes of them does not depend on which thread did what
 * or how many there were.
 *
 * All memory is taken from one budget; what would be over it fails with ERR_LIMIT.
 */
#pragma once

#include "symbolizer/build/shard.h"
#include "symbolizer/build/symbol_map.h"

struct collection {
    struct memory_budget budget;
    struct shared_strings *strings;
    struct symbol_map symbols;
    struct shard *shards; /* in the order of the source */
    size_t shard_count;
};

/* memory_max bounds the collection and what assembling takes beside it. */
enum err collection_init(struct collection *collection, uint64_t memory_max, struct error *error);
void collection_clear(struct collection *collection);

/* Told of each shard that is done; any thread, one at a time. */
struct collection_progress {
    void (*report)(struct collection_progress *progress, size_t done, size_t total);
};

/*
 * Pushes a source of functions, once, after all symbols (which it settles). thread_count 0: one for
 * each processor. With fewer threads than asked for, because the system starts no more, it goes on.
 * `progress` may be NULL. When shards fail, the error is that of the first in their order which
 * was tried.
 */
enum err collection_push(struct collection *collection, struct symbol_source *source,
                         unsigned thread_count, struct collection_progress *progress,
                         struct error *error);

/* Finds which names demangle. After all pushes; once. */
void collection_try_names(struct collection *collection, unsigned thread_count);

struct shard_counts collection_count(const struct collection *collection);
