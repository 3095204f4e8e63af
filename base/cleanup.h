/*
 * Ownership at the end of a scope. `CLEANUP(f) struct x *x = NULL;` calls f(&x) on every way out;
 * TAKE(x) hands the value to somebody else and leaves NULL behind.
 */
#pragma once

#include <stdlib.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

#define TAKE(pointer)                                                                              \
    ({                                                                                             \
        __typeof__(pointer) *taken_from = &(pointer);                                              \
        __typeof__(pointer) taken = *taken_from;                                                   \
        *taken_from = NULL;                                                                        \
        taken;                                                                                     \
    })

#define TAKE_FD(fd)                                                                                \
    ({                                                                                             \
        int *taken_from = &(fd);                                                                   \
        int taken = *taken_from;                                                                   \
        *taken_from = -1;                                                                          \
        taken;                                                                                     \
    })

/* Defines cleanup_<name>(type **), for use with CLEANUP, from the type's own end function. */
#define DEFINE_CLEANUP(name, type, end)                                                            \
    static inline void cleanup_##name(type **pointer) {                                            \
        if (*pointer)                                                                              \
            end(*pointer);                                                                         \
    }

static inline void cleanup_free(void *pointer) {
    free(*(void **)pointer);
}

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
