/*
 * Growable arrays of fixed-size records, and the budget that they are paid from: what an uploaded
 * file makes us take is bounded as a whole. A growth is paid for while old and new coexist.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbolizer/build/budget.h"

/* Start with {.record_size = n}. */
struct record_array {
    char *data;
    size_t record_size;
    size_t count;
    size_t capacity;
};

/* Room for `count` more records behind the last. ERR_LIMIT, ERR_NO_MEMORY. */
enum err record_array_reserve(struct record_array *array, size_t count,
                              struct memory_budget *budget, struct error *error);

/* Copies `count` records behind the last. */
enum err record_array_add(struct record_array *array, const void *records, size_t count,
                          struct memory_budget *budget, struct error *error);

/* Frees the records; the budget they were paid from ends with them. */
void record_array_clear(struct record_array *array);

static inline void *record_array_at(const struct record_array *array, size_t position) {
    return array->data + position * array->record_size;
}

static inline size_t record_array_size(const struct record_array *array) {
    return array->count * array->record_size;
}
