/*
 * An open-addressing hash table from contents to a number, for contents that the caller stores: the
 * table knows hashes and numbers only. Hashes must come from keyed_hash, or hostile contents make
 * every probe long.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "symbolizer/build/record_array.h"

struct intern_slot {
    uint32_t hash;
    uint32_t number; /* 0: free */
};

/* Zero-initialise. */
struct intern_table {
    struct intern_slot *slots;
    uint64_t capacity; /* a power of two, or 0 */
    uint64_t count;
};

/* Whether the contents stored under `number` are those that are looked for. */
typedef bool intern_equal(const void *context, uint32_t number);

/* The number of equal contents, or 0. */
uint32_t intern_table_find(const struct intern_table *table, uint64_t hash, intern_equal *equal,
                           const void *context);

/* Room for one more. ERR_LIMIT, ERR_NO_MEMORY. */
enum err intern_table_reserve(struct intern_table *table, struct memory_budget *budget,
                              struct error *error);

/* Contents that are not there yet. Needs room from intern_table_reserve. */
void intern_table_add(struct intern_table *table, uint64_t hash, uint32_t number);

void intern_table_clear(struct intern_table *table);
