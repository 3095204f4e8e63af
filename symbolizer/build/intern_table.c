#include "symbolizer/build/intern_table.h"

#include <assert.h>
#include <stdlib.h>

#define CAPACITY_MIN 64
/* Slots keep 32 bits of the hash, which also place them. */
#define CAPACITY_MAX ((uint64_t)1 << 32)

uint32_t intern_table_find(const struct intern_table *table, uint64_t hash, intern_equal *equal,
                           const void *context) {
    if (table->capacity == 0)
        return 0;
    uint32_t wanted = (uint32_t)hash;
    for (uint64_t i = wanted & (table->capacity - 1);; i = (i + 1) & (table->capacity - 1)) {
        const struct intern_slot *slot = &table->slots[i];
        if (slot->number == 0)
            return 0;
        if (slot->hash == wanted && equal(context, slot->number))
            return slot->number;
    }
}

static void place(struct intern_slot *slots, uint64_t capacity, struct intern_slot slot) {
    uint64_t i = slot.hash & (capacity - 1);
    while (slots[i].number != 0)
        i = (i + 1) & (capacity - 1);
    slots[i] = slot;
}

enum err intern_table_reserve(struct intern_table *table, struct memory_budget *budget,
                              struct error *error) {
    /* At most three quarters full, so that probes stay short and a free slot always ends them. */
    if (table->count + 1 <= table->capacity / 4 * 3)
        return ERR_OK;
    uint64_t capacity = table->capacity ? table->capacity * 2 : CAPACITY_MIN;
    if (capacity > CAPACITY_MAX)
        return error_set(error, ERR_LIMIT, "the symbol index has too many records");
    enum err err = memory_budget_take(budget, capacity * sizeof(struct intern_slot), error);
    if (err)
        return err;
    struct intern_slot *slots = calloc(capacity, sizeof(*slots));
    if (!slots) {
        memory_budget_give(budget, capacity * sizeof(*slots));
        return error_set(error, ERR_NO_MEMORY, "no memory for the symbol index");
    }
    for (uint64_t i = 0; i < table->capacity; i++) {
        if (table->slots[i].number != 0)
            place(slots, capacity, table->slots[i]);
    }
    memory_budget_give(budget, table->capacity * sizeof(*slots));
    free(table->slots);
    table->slots = slots;
    table->capacity = capacity;
    return ERR_OK;
}

void intern_table_add(struct intern_table *table, uint64_t hash, uint32_t number) {
    assert(number != 0 && table->count < table->capacity / 4 * 3);
    place(table->slots, table->capacity,
          (struct intern_slot){.hash = (uint32_t)hash, .number = number});
    table->count++;
}

void intern_table_clear(struct intern_table *table) {
    free(table->slots);
    *table = (struct intern_table){0};
}
