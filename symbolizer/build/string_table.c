#include "symbolizer/build/string_table.h"

#include <assert.h>
#include <stdlib.h>

#include "symbolizer/build/intern_table.h"
#include "symbolizer/build/keyed_hash.h"

#define CHUNK_SIZE ((size_t)256 << 10)

struct string_chunk {
    struct string_chunk *next;
    size_t size;
    size_t used;
    char bytes[];
};

struct string_entry {
    const char *data;
    uint32_t size;
};

struct string_table {
    struct memory_budget *budget;
    struct hash_key key;
    struct intern_table numbers;
    struct string_chunk *chunks;
    struct string_entry *entries; /* of number - 1 */
    size_t entry_count;
    size_t entry_capacity;
};

enum err string_table_new(struct memory_budget *budget, struct string_table **ret_table,
                          struct error *error) {
    CLEANUP(cleanup_string_table) struct string_table *table = calloc(1, sizeof(*table));
    if (!table)
        return error_set(error, ERR_NO_MEMORY, "no memory for a string table");
    table->budget = budget;
    table->key = hash_key_of_process();
    *ret_table = TAKE(table);
    return ERR_OK;
}

void string_table_free(struct string_table *table) {
    if (!table)
        return;
    while (table->chunks) {
        struct string_chunk *chunk = table->chunks;
        table->chunks = chunk->next;
        memory_budget_give(table->budget, sizeof(*chunk) + chunk->size);
        free(chunk);
    }
    BUDGET_FREE(table->budget, table->entries, table->entry_capacity);
    memory_budget_give(table->budget, table->numbers.capacity * sizeof(struct intern_slot));
    intern_table_clear(&table->numbers);
    free(table);
}

/* Room for `size` bytes. A string that fills a chunk by itself goes behind the current one. */
static enum err reserve(struct string_table *table, size_t size, char **ret_room,
                        struct error *error) {
    struct string_chunk *chunk = table->chunks;
    if (!chunk || chunk->size - chunk->used < size) {
        size_t room = size > CHUNK_SIZE / 4 ? size : CHUNK_SIZE;
        enum err err = memory_budget_take(table->budget, sizeof(*chunk) + room, error);
        if (err)
            return err;
        struct string_chunk *added = malloc(sizeof(*added) + room);
        if (!added) {
            memory_budget_give(table->budget, sizeof(*added) + room);
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu bytes of strings", room);
        }
        *added = (struct string_chunk){.size = room};
        struct string_chunk **behind = chunk && room == size ? &chunk->next : &table->chunks;
        added->next = *behind;
        *behind = added;
        chunk = added;
    }
    *ret_room = chunk->bytes + chunk->used;
    chunk->used += size;
    return ERR_OK;
}

struct wanted_string {
    const struct string_table *table;
    struct span bytes;
};

static bool matches(const void *context, uint32_t number) {
    const struct wanted_string *wanted = context;
    return span_equal(string_table_get(wanted->table, number), wanted->bytes);
}

static enum err add(struct string_table *table, struct span bytes, struct error *error) {
    if (bytes.size > UINT32_MAX || table->entry_count >= UINT32_MAX / 2)
        return error_set(error, ERR_LIMIT, "a string table over its limits");
    char *copy = NULL;
    enum err err = BUDGET_GROW(table->budget, table->entries, table->entry_capacity,
                               table->entry_count + 1, error);
    if (err == ERR_OK)
        err = intern_table_reserve(&table->numbers, table->budget, error);
    if (err == ERR_OK)
        err = reserve(table, bytes.size, &copy, error);
    if (err)
        return err;
    assert(copy);
    if (bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    table->entries[table->entry_count++] = (struct string_entry){copy, (uint32_t)bytes.size};
    return ERR_OK;
}

enum err string_table_intern(struct string_table *table, struct span bytes, uint32_t *ret_number,
                             struct error *error) {
    struct wanted_string wanted = {table, bytes};
    uint64_t hash = keyed_hash(table->key, bytes);
    uint32_t number = intern_table_find(&table->numbers, hash, matches, &wanted);
    if (number == 0) {
        enum err err = add(table, bytes, error);
        if (err)
            return err;
        number = (uint32_t)table->entry_count;
        intern_table_add(&table->numbers, hash, number);
    }
    *ret_number = number;
    return ERR_OK;
}

struct span string_table_get(const struct string_table *table, uint32_t number) {
    if (number == 0)
        return (struct span){NULL, 0};
    assert(number <= table->entry_count);
    const struct string_entry *entry = &table->entries[number - 1];
    return span_of(entry->data, entry->size);
}

uint32_t string_table_count(const struct string_table *table) {
    return (uint32_t)table->entry_count;
}
