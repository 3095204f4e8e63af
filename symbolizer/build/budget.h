/*
 * The memory that one build may take for its tables. Hostile input decides how many functions,
 * ranges and rows there are; the budget decides when that is too many. Every growing array of the
 * build side is accounted here.
 *
 * Threads: several may take from one budget; each array belongs to one of them.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Zero-initialise with the limit. */
struct memory_budget {
    uint64_t max;
    atomic_uint_fast64_t used;
    atomic_uint_fast64_t peak; /* the most that was ever used */
};

/* ERR_LIMIT when `size` more bytes would be over the limit. */
enum err memory_budget_take(struct memory_budget *budget, uint64_t size, struct error *error);
void memory_budget_give(struct memory_budget *budget, uint64_t size);

/*
 * Makes room for `count` elements of `element_size` in the array at *array, which holds *capacity
 * of them: at least half as many more than before, so that appending stays linear. Large arrays are
 * mapped: they leave no holes behind, and go back to the system when they are freed. ERR_LIMIT,
 * ERR_NO_MEMORY; the array then is as it was.
 */
enum err budget_grow(struct memory_budget *budget, void **array, size_t *capacity, size_t count,
                     size_t element_size, struct error *error);

/* Room for exactly `count` elements (at least one), for an array that does not grow. */
enum err budget_make(struct memory_budget *budget, void **array, size_t *capacity, size_t count,
                     size_t element_size, struct error *error);

/* Frees an array that budget_grow or budget_make made. */
void budget_free(struct memory_budget *budget, void *array, size_t capacity, size_t element_size);

/* The same on typed arrays. */
/* Asking whether there is room needs no call; clang's analyzer would take it that an array without
 * room can be one that is not there. */
#ifdef __clang_analyzer__
#define BUDGET_HAS_ROOM(capacity, count) false
#else
#define BUDGET_HAS_ROOM(capacity, count) ((count) <= (capacity))
#endif

#define BUDGET_GROW(budget, array, capacity, count, error)                                         \
    ({                                                                                             \
        size_t grown_count = (count);                                                              \
        enum err grown_err = ERR_OK;                                                               \
        if (!BUDGET_HAS_ROOM(capacity, grown_count)) {                                             \
            void *grown_array = (array);                                                           \
            grown_err = budget_grow((budget), &grown_array, &(capacity), grown_count,              \
                                    sizeof(*(array)), (error));                                    \
            (array) = grown_array;                                                                 \
        }                                                                                          \
        grown_err;                                                                                 \
    })

#define BUDGET_FREE(budget, array, capacity)                                                       \
    ({                                                                                             \
        budget_free((budget), (array), (capacity), sizeof(*(array)));                              \
        (array) = NULL;                                                                            \
        (capacity) = 0;                                                                            \
    })
