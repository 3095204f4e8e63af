#include "symbolizer/build/scope_table.h"

#include <string.h>

#define SLOTS_MIN 16

void scope_table_clear(struct scope_table *table, struct memory_budget *budget) {
    BUDGET_FREE(budget, table->slots, table->slot_capacity);
}

static enum err add_scope(struct shard *shard, const struct shard_scope *scope, uint32_t *ret_scope,
                          struct error *error) {
    enum err err = SHARD_RESERVE(shard, scopes, scope_count, scope_capacity, error);
    if (err)
        return err;
    shard->scopes[shard->scope_count++] = *scope;
    *ret_scope = (uint32_t)shard->scope_count;
    return ERR_OK;
}

/* Growing keeps what is there; the rest is free for every function. */
static enum err grow_slots(struct scope_table *table, struct memory_budget *budget, size_t count,
                           struct error *error) {
    size_t before = table->slot_capacity;
    enum err err = BUDGET_GROW(budget, table->slots, table->slot_capacity, count, error);
    if (err == ERR_OK && table->slot_capacity > before)
        memset(table->slots + before, 0, (table->slot_capacity - before) * sizeof(*table->slots));
    return err;
}

/* The key makes it hard to aim at one slot. */
static uint64_t hash(const struct scope_table *table, const struct shard_scope *scope) {
    uint64_t a = (uint64_t)scope->subject << 32 | scope->parent;
    uint64_t b = (uint64_t)scope->call.line << 32 | scope->call.file;
    a = (a ^ table->key.words[0]) * 0x9e3779b97f4a7c15 + scope->call.column;
    unsigned __int128 product = (unsigned __int128)(a ^ a >> 32) * ((b ^ table->key.words[1]) | 1);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static bool is_equal(const struct shard_scope *a, const struct shard_scope *b) {
    return a->subject == b->subject && a->parent == b->parent && a->call.file == b->call.file &&
           a->call.line == b->call.line && a->call.column == b->call.column;
}

/* The slot of an equal scope, or the free one that it would go to. At most half are in use. */
static struct scope_slot *find(const struct scope_table *table, const struct shard *shard,
                               const struct shard_scope *scope) {
    for (uint64_t i = hash(table, scope);; i++) {
        struct scope_slot *slot = &table->slots[i & table->mask];
        if (slot->function != table->function || is_equal(&shard->scopes[slot->scope - 1], scope))
            return slot;
    }
}

/* What a table of any size was used for is forgotten by a new number of the function. */
static void forget(struct scope_table *table) {
    if (++table->function == 0) {
        memset(table->slots, 0, table->slot_capacity * sizeof(*table->slots));
        table->function = 1;
    }
}

enum err scope_table_start(struct scope_table *table, struct shard *shard,
                           const struct shard_scope *scope, uint32_t *ret_scope,
                           struct error *error) {
    enum err err = grow_slots(table, shard->budget, SLOTS_MIN, error);
    if (err == ERR_OK)
        err = add_scope(shard, scope, &table->first, error);
    if (err)
        return err;
    table->mask = SLOTS_MIN - 1;
    forget(table);
    *ret_scope = table->first;
    return ERR_OK;
}

static enum err make_room(struct scope_table *table, struct shard *shard, struct error *error) {
    if (shard->scope_count - table->first < (table->mask + 1) / 2)
        return ERR_OK;
    if (table->mask > UINT32_MAX / 4)
        return error_set(error, ERR_LIMIT, "too many inlined copies in one function");
    size_t count = 2 * ((size_t)table->mask + 1);
    enum err err = grow_slots(table, shard->budget, count, error);
    if (err)
        return err;
    table->mask = (uint32_t)count - 1;
    forget(table);
    for (size_t i = table->first; i < shard->scope_count; i++)
        *find(table, shard, &shard->scopes[i]) =
            (struct scope_slot){table->function, (uint32_t)i + 1};
    return ERR_OK;
}

enum err scope_table_copy(struct scope_table *table, struct shard *shard,
                          const struct shard_scope *scope, uint32_t *ret_scope,
                          struct error *error) {
    struct scope_slot *slot = find(table, shard, scope);
    if (slot->function == table->function) {
        *ret_scope = slot->scope;
        return ERR_OK;
    }
    enum err err = make_room(table, shard, error);
    if (err == ERR_OK)
        err = add_scope(shard, scope, ret_scope, error);
    if (err == ERR_OK)
        *find(table, shard, scope) = (struct scope_slot){table->function, *ret_scope};
    return err;
}
