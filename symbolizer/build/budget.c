#include "symbolizer/build/budget.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum err memory_budget_take(struct memory_budget *budget, uint64_t size, struct error *error) {
    uint_fast64_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
    do {
        if (size > budget->max - used)
            return error_set(error, ERR_LIMIT, "over the memory limit of %llu bytes",
                             (unsigned long long)budget->max);
    } while (!atomic_compare_exchange_weak_explicit(&budget->used, &used, used + size,
                                                    memory_order_relaxed, memory_order_relaxed));
    used += size;
    uint_fast64_t peak = atomic_load_explicit(&budget->peak, memory_order_relaxed);
    while (peak < used &&
           !atomic_compare_exchange_weak_explicit(&budget->peak, &peak, used, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
    return ERR_OK;
}

void memory_budget_give(struct memory_budget *budget, uint64_t size) {
    uint_fast64_t used = atomic_fetch_sub_explicit(&budget->used, size, memory_order_relaxed);
    assert(size <= used);
    (void)used;
}

/* Half as much again, or what just suffices when that no longer fits into the budget. */
static size_t next_capacity(const struct memory_budget *budget, size_t capacity, size_t count,
                            size_t element_size) {
    size_t wanted = capacity + capacity / 2 + 64;
    uint64_t left = budget->max - atomic_load_explicit(&budget->used, memory_order_relaxed);
    if (wanted < count || wanted - capacity > left / element_size)
        return count;
    return wanted;
}

/* Arrays of so many bytes are mapped. */
#define MAPPED_SIZE_MIN ((size_t)64 << 10)

static void release(void *array, size_t size) {
    if (size >= MAPPED_SIZE_MIN)
        munmap(array, size);
    else
        free(array);
}

static void *map(size_t size) {
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

/* As realloc. A mapped array could be moved by mremap without a copy, but ThreadSanitizer does not
 * see that, and takes who gets the addresses next for a rival; growing by half, copies are few. */
static void *resize(void *array, size_t before, size_t size) {
    if (size < MAPPED_SIZE_MIN)
        return realloc(array, size);
    void *mapped = map(size);
    if (mapped && before > 0) {
        memcpy(mapped, array, before);
        release(array, before);
    }
    return mapped;
}

static enum err set_capacity(struct memory_budget *budget, void **array, size_t *capacity,
                             size_t wanted, size_t element_size, struct error *error) {
    uint64_t more = (uint64_t)(wanted - *capacity) * element_size;
    enum err err = memory_budget_take(budget, more, error);
    if (err)
        return err;
    void *grown = resize(*array, *capacity * element_size, wanted * element_size);
    if (!grown) {
        memory_budget_give(budget, more);
        return error_set(error, ERR_NO_MEMORY, "no memory for a table of %zu entries", wanted);
    }
    *array = grown;
    *capacity = wanted;
    return ERR_OK;
}

enum err budget_grow(struct memory_budget *budget, void **array, size_t *capacity, size_t count,
                     size_t element_size, struct error *error) {
    if (count <= *capacity)
        return ERR_OK;
    if (count > SIZE_MAX / 2 / element_size)
        return error_set(error, ERR_LIMIT, "a table of %zu entries is too large", count);
    size_t wanted = next_capacity(budget, *capacity, count, element_size);
    return set_capacity(budget, array, capacity, wanted, element_size, error);
}

enum err budget_make(struct memory_budget *budget, void **array, size_t *capacity, size_t count,
                     size_t element_size, struct error *error) {
    if (count > SIZE_MAX / 2 / element_size)
        return error_set(error, ERR_LIMIT, "a table of %zu entries is too large", count);
    *array = NULL;
    *capacity = 0;
    return set_capacity(budget, array, capacity, count, element_size, error);
}

void budget_free(struct memory_budget *budget, void *array, size_t capacity, size_t element_size) {
    release(array, capacity * element_size);
    memory_budget_give(budget, (uint64_t)capacity * element_size);
}
