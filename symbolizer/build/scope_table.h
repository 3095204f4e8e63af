/*
 * Tells the scopes of one function apart: copies of the same function, inlined by the same call
 * into the same scope, are one scope. Scopes of different functions are never equal, since their
 * chains end in different code; so the table is that of one function, and small.
 */
#pragma once

#include "symbolizer/build/keyed_hash.h"
#include "symbolizer/build/shard.h"

struct scope_slot {
    uint32_t function; /* the slot is in use if that is the present one */
    uint32_t scope;
};

/* Zero-initialise with the key. */
struct scope_table {
    struct hash_key key;
    struct scope_slot *slots;
    size_t slot_capacity;
    uint32_t mask;     /* of the slots in use for this function */
    uint32_t function; /* changes with each; never 0 */
    uint32_t first;    /* scope of the function itself; those behind it are its copies */
};

void scope_table_clear(struct scope_table *table, struct memory_budget *budget);

/* Begins a function: adds its own scope, which is found nowhere. */
enum err scope_table_start(struct scope_table *table, struct shard *shard,
                           const struct shard_scope *scope, uint32_t *ret_scope,
                           struct error *error);

/* The number of an equal copy of this function, or of a new one. */
enum err scope_table_copy(struct scope_table *table, struct shard *shard,
                          const struct shard_scope *scope, uint32_t *ret_scope,
                          struct error *error);
