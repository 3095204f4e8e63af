#include "symbolizer/build/shared_strings.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "symbolizer/build/intern_table.h"
#include "symbolizer/build/keyed_hash.h"
#include "symbolizer/index/demangle.h"

#define CHUNK_SIZE_MIN ((size_t)4 << 10)
#define CHUNK_SIZE_MAX ((size_t)64 << 10)

/* Entries never move, since other threads read them: block k has FIRST << k of them. */
#define BLOCK_BITS 7
#define BLOCK_COUNT 20
#define STRIPE_ENTRIES_MAX                                                                         \
    (((uint32_t)1 << (BLOCK_BITS + BLOCK_COUNT - 1)) - ((uint32_t)1 << BLOCK_BITS))

struct string_chunk {
    struct string_chunk *next;
    size_t size;
    size_t used;
    char bytes[];
};

/* What the upper bits of the hash choose; threads seldom meet in one. */
struct stripe {
    pthread_mutex_t mutex;
    struct intern_table numbers; /* counted from 1 within the stripe */
    struct string_chunk *chunks;
    struct shared_string *blocks[BLOCK_COUNT];
    uint32_t count;
};

struct shared_strings {
    struct memory_budget *budget;
    struct hash_key key;
    struct stripe stripes[SHARED_STRINGS_STRIPES];
};

enum err shared_strings_new(struct memory_budget *budget, struct shared_strings **ret_strings,
                            struct error *error) {
    struct shared_strings *strings = calloc(1, sizeof(*strings));
    if (!strings)
        return error_set(error, ERR_NO_MEMORY, "no memory for a string table");
    strings->budget = budget;
    strings->key = hash_key_of_process();
    for (unsigned i = 0; i < SHARED_STRINGS_STRIPES; i++)
        pthread_mutex_init(&strings->stripes[i].mutex, NULL);
    *ret_strings = strings;
    return ERR_OK;
}

/* --- entries by position within a stripe --- */

static unsigned block_of(uint32_t position) {
    return 31 - (unsigned)__builtin_clz(position + (1u << BLOCK_BITS)) - BLOCK_BITS;
}

static size_t block_size(unsigned block) {
    return ((size_t)1 << BLOCK_BITS) << block;
}

static struct shared_string *entry_at(const struct stripe *stripe, uint32_t position) {
    unsigned block = block_of(position);
    return &stripe->blocks[block][position + (1u << BLOCK_BITS) - (1u << (BLOCK_BITS + block))];
}

static void clear_stripe(struct shared_strings *strings, struct stripe *stripe) {
    while (stripe->chunks) {
        struct string_chunk *chunk = stripe->chunks;
        stripe->chunks = chunk->next;
        budget_free(strings->budget, chunk, sizeof(*chunk) + chunk->size, 1);
    }
    for (unsigned i = 0; i < BLOCK_COUNT && stripe->blocks[i]; i++) {
        memory_budget_give(strings->budget, block_size(i) * sizeof(struct shared_string));
        free(stripe->blocks[i]);
    }
    memory_budget_give(strings->budget, stripe->numbers.capacity * sizeof(struct intern_slot));
    intern_table_clear(&stripe->numbers);
    pthread_mutex_destroy(&stripe->mutex);
}

void shared_strings_free(struct shared_strings *strings) {
    if (!strings)
        return;
    for (unsigned i = 0; i < SHARED_STRINGS_STRIPES; i++)
        clear_stripe(strings, &strings->stripes[i]);
    free(strings);
}

/* --- adding, with the stripe's lock held --- */

static enum err reserve_entry(struct shared_strings *strings, struct stripe *stripe,
                              struct error *error) {
    if (stripe->count >= STRIPE_ENTRIES_MAX)
        return error_set(error, ERR_LIMIT, "a string table over its limits");
    unsigned block = block_of(stripe->count);
    if (stripe->blocks[block])
        return ERR_OK;
    size_t size = block_size(block) * sizeof(struct shared_string);
    enum err err = memory_budget_take(strings->budget, size, error);
    if (err)
        return err;
    stripe->blocks[block] = calloc(1, size);
    if (stripe->blocks[block])
        return ERR_OK;
    memory_budget_give(strings->budget, size);
    return error_set(error, ERR_NO_MEMORY, "no memory for %zu bytes of strings", size);
}

static enum err add_chunk(struct shared_strings *strings, struct stripe *stripe, size_t size,
                          struct error *error) {
    size_t room = stripe->chunks ? 2 * stripe->chunks->size : CHUNK_SIZE_MIN;
    if (room > CHUNK_SIZE_MAX)
        room = CHUNK_SIZE_MAX;
    if (room < size)
        room = size;
    /* As an array that does not grow: large ones are mapped, and cut nothing else into pieces. */
    void *made = NULL;
    size_t capacity = 0;
    enum err err = budget_make(strings->budget, &made, &capacity,
                               sizeof(struct string_chunk) + room, 1, error);
    if (err)
        return err;
    struct string_chunk *chunk = made;
    *chunk = (struct string_chunk){.next = stripe->chunks, .size = room};
    stripe->chunks = chunk;
    return ERR_OK;
}

static enum err add(struct shared_strings *strings, struct stripe *stripe, struct span bytes,
                    struct error *error) {
    if (bytes.size > UINT32_MAX)
        return error_set(error, ERR_LIMIT, "a string of %zu bytes", bytes.size);
    enum err err = reserve_entry(strings, stripe, error);
    if (err == ERR_OK)
        err = intern_table_reserve(&stripe->numbers, strings->budget, error);
    if (err == ERR_OK &&
        (!stripe->chunks || stripe->chunks->size - stripe->chunks->used < bytes.size))
        err = add_chunk(strings, stripe, bytes.size, error);
    if (err)
        return err;
    char *copy = stripe->chunks->bytes + stripe->chunks->used;
    stripe->chunks->used += bytes.size;
    if (bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    *entry_at(stripe, stripe->count++) =
        (struct shared_string){.data = copy, .size = (uint32_t)bytes.size};
    return ERR_OK;
}

struct wanted_string {
    const struct stripe *stripe;
    struct span bytes;
};

static bool matches(const void *context, uint32_t number) {
    const struct wanted_string *wanted = context;
    const struct shared_string *entry = entry_at(wanted->stripe, number - 1);
    return span_equal(span_of(entry->data, entry->size), wanted->bytes);
}

static enum err intern(struct shared_strings *strings, struct stripe *stripe, uint64_t hash,
                       const struct wanted_string *wanted, uint32_t *ret_position,
                       struct error *error) {
    uint32_t number = intern_table_find(&stripe->numbers, hash, matches, wanted);
    if (number == 0) {
        enum err err = add(strings, stripe, wanted->bytes, error);
        if (err)
            return err;
        number = stripe->count;
        intern_table_add(&stripe->numbers, hash, number);
    }
    *ret_position = number - 1;
    return ERR_OK;
}

enum err shared_strings_intern(struct shared_strings *strings, struct span bytes, bool is_linkage,
                               uint32_t *ret_number, struct error *error) {
    uint64_t hash = keyed_hash(strings->key, bytes);
    uint32_t at = (uint32_t)(hash >> 32) % SHARED_STRINGS_STRIPES;
    struct stripe *stripe = &strings->stripes[at];
    struct wanted_string wanted = {stripe, bytes};
    uint32_t position = 0;
    pthread_mutex_lock(&stripe->mutex);
    enum err err = intern(strings, stripe, hash, &wanted, &position, error);
    if (err == ERR_OK && is_linkage)
        entry_at(stripe, position)->is_linkage = true;
    pthread_mutex_unlock(&stripe->mutex);
    if (err == ERR_OK)
        *ret_number = position * SHARED_STRINGS_STRIPES + at + 1;
    return err;
}

struct span shared_strings_get(const struct shared_strings *strings, uint32_t number) {
    if (number == 0)
        return (struct span){NULL, 0};
    const struct stripe *stripe = &strings->stripes[(number - 1) % SHARED_STRINGS_STRIPES];
    const struct shared_string *entry = entry_at(stripe, (number - 1) / SHARED_STRINGS_STRIPES);
    return span_of(entry->data, entry->size);
}

struct shared_string *shared_strings_entry(struct shared_strings *strings, uint32_t number) {
    assert(number != 0);
    struct stripe *stripe = &strings->stripes[(number - 1) % SHARED_STRINGS_STRIPES];
    assert((number - 1) / SHARED_STRINGS_STRIPES < stripe->count);
    return entry_at(stripe, (number - 1) / SHARED_STRINGS_STRIPES);
}

/* The readable form is made again when asked for; here only whether there is one. */
void shared_strings_try_stripe(struct shared_strings *strings, unsigned stripe) {
    struct buffer text = {.size_max = DEMANGLE_OUTPUT_SIZE_MAX};
    for (uint32_t i = 0; i < strings->stripes[stripe].count; i++) {
        struct shared_string *entry = entry_at(&strings->stripes[stripe], i);
        struct span name = span_of(entry->data, entry->size);
        text.size = 0;
        entry->demangles = entry->is_linkage && (demangle_is_cheap(name) || demangle(name, &text));
    }
    buffer_clear(&text);
}
