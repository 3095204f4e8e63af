/* A run of bytes that somebody else owns; not terminated, may hold any byte. {NULL, 0} is empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
    const char *data;
    size_t size;
};

static inline struct span span_of(const void *data, size_t size) {
    return (struct span){(const char *)data, size};
}

static inline struct span span_cstr(const char *text) {
    return (struct span){text, text ? strlen(text) : 0};
}

static inline bool span_equal(struct span a, struct span b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool span_equal_cstr(struct span a, const char *text) {
    return span_equal(a, span_cstr(text));
}

static inline bool span_starts_with(struct span a, const char *prefix) {
    size_t size = strlen(prefix);
    return a.size >= size && memcmp(a.data, prefix, size) == 0;
}
