/*
 * Byte strings that several threads intern at once: equal bytes get an equal number, whichever
 * thread brings them first, so that a name which many units repeat is kept once.
 *
 * Numbers are not those of first appearance: they depend on which thread was first and on a hash
 * with a random key, which hostile names cannot be made to collide under. They tell strings apart
 * and order nothing.
 *
 * Threads: shared_strings_intern, and shared_strings_get of a number that the thread was given, may
 * be called by any number of threads. What reads all strings must wait until that is over.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"
#include "symbolizer/build/budget.h"

struct shared_strings;

/* The budget must outlive the strings. */
enum err shared_strings_new(struct memory_budget *budget, struct shared_strings **ret_strings,
                            struct error *error);
void shared_strings_free(struct shared_strings *strings);
DEFINE_CLEANUP(shared_strings, struct shared_strings, shared_strings_free)

/* The number of these bytes, never 0; they are copied when new. `is_linkage`: somebody says of them
 * that they may be mangled. */
enum err shared_strings_intern(struct shared_strings *strings, struct span bytes, bool is_linkage,
                               uint32_t *ret_number, struct error *error);

/* The bytes of a number; they stay until the strings are freed. Number 0 is the empty span. */
struct span shared_strings_get(const struct shared_strings *strings, uint32_t number);

/* --- when no thread interns any more --- */

struct shared_string {
    const char *data;
    uint32_t size;
    uint32_t written; /* for the caller: a number that it has given the string elsewhere */
    bool is_linkage;
    bool demangles; /* set by shared_strings_try_stripe */
};

/* `number` is not 0. */
struct shared_string *shared_strings_entry(struct shared_strings *strings, uint32_t number);

/* Tries to demangle what is said to be mangled, in one of SHARED_STRINGS_STRIPES parts; different
 * parts may be tried by different threads. The stack it takes is demangle()'s. */
#define SHARED_STRINGS_STRIPES 64u
void shared_strings_try_stripe(struct shared_strings *strings, unsigned stripe);
