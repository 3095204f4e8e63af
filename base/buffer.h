/*
 * A growable byte buffer with a size limit. Appending past the limit or out of memory latches
 * `failed`; later appends do nothing. Write a whole record, then ask buffer_failed() once.
 * Zero-initialise with the limit: struct buffer b = {.size_max = 1 << 20}.  size_max 0: no limit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

struct buffer {
    char *data; /* owned; not terminated unless buffer_cstr was called */
    size_t size;
    size_t capacity;
    size_t size_max;
    bool failed;
};

void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_append_cstr(struct buffer *buffer, const char *text);
void buffer_append_byte(struct buffer *buffer, char byte);
void buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Room for `size` more bytes at data + size, which the caller fills and then adds to `size`.
 * NULL when it cannot be had (and the buffer has failed). */
char *buffer_reserve(struct buffer *buffer, size_t size);

/* The contents with a NUL behind them, owned by the buffer; "" when the buffer failed. */
const char *buffer_cstr(struct buffer *buffer);

static inline bool buffer_failed(const struct buffer *buffer) {
    return buffer->failed;
}

static inline struct span buffer_span(const struct buffer *buffer) {
    return span_of(buffer->data, buffer->size);
}

/* Frees the bytes and makes the buffer empty and usable again, with the same limit. */
void buffer_clear(struct buffer *buffer);
