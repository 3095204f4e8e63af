#include "symbolizer/build/record_array.h"

#include <stdlib.h>
#include <string.h>

/* By half, which keeps the slack small; realloc moves large arrays without copying. */
static size_t grown_capacity(const struct record_array *array, size_t need) {
    size_t capacity = array->capacity + array->capacity / 2;
    size_t smallest = 64 / array->record_size + 1;
    if (capacity < smallest)
        capacity = smallest;
    return capacity < need ? need : capacity;
}

enum err record_array_reserve(struct record_array *array, size_t count,
                              struct memory_budget *budget, struct error *error) {
    if (count <= array->capacity - array->count)
        return ERR_OK;
    size_t limit = SIZE_MAX / 4 / array->record_size;
    if (count > limit || array->count > limit - count)
        return error_set(error, ERR_LIMIT, "the symbol index has too many records");
    size_t capacity = grown_capacity(array, array->count + count);
    enum err err = memory_budget_take(budget, (uint64_t)capacity * array->record_size, error);
    if (err)
        return err;
    char *data = realloc(array->data, capacity * array->record_size);
    if (!data) {
        memory_budget_give(budget, (uint64_t)capacity * array->record_size);
        return error_set(error, ERR_NO_MEMORY, "no memory for the symbol index");
    }
    memory_budget_give(budget, (uint64_t)array->capacity * array->record_size);
    array->data = data;
    array->capacity = capacity;
    return ERR_OK;
}

enum err record_array_add(struct record_array *array, const void *records, size_t count,
                          struct memory_budget *budget, struct error *error) {
    if (count == 0)
        return ERR_OK;
    enum err err = record_array_reserve(array, count, budget, error);
    if (err)
        return err;
    memcpy(array->data + array->count * array->record_size, records, count * array->record_size);
    array->count += count;
    return ERR_OK;
}

void record_array_clear(struct record_array *array) {
    free(array->data);
    *array = (struct record_array){.record_size = array->record_size};
}
