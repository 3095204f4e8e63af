/*
 * The bounds-checked reader through which all bytes from outside pass. It latches its first
 * underflow: later reads return 0 and do not move. Read the record, then ask cursor_failed() once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

struct cursor {
    const uint8_t *start;
    const uint8_t *position;
    const uint8_t *end;
    const char *name; /* what is read, for error texts: ".debug_line" */
    bool big_endian;
    bool failed;
};

struct cursor cursor_of(struct span bytes, bool big_endian, const char *name);

uint8_t cursor_u8(struct cursor *cursor);
uint16_t cursor_u16(struct cursor *cursor);
uint32_t cursor_u32(struct cursor *cursor);
uint64_t cursor_u64(struct cursor *cursor);

/* LEB128 (DWARF 5, 7.6), which is also protobuf's varint. More than ten bytes, or bits past the
 * 64th, is a failure. */
uint64_t cursor_uleb128(struct cursor *cursor);
int64_t cursor_sleb128(struct cursor *cursor);

/* `size` bytes where they lie, or {NULL, 0} and failed. */
struct span cursor_bytes(struct cursor *cursor, size_t size);

/* A NUL-terminated string without its NUL; a missing NUL is a failure. */
struct span cursor_cstring(struct cursor *cursor);

void cursor_skip(struct cursor *cursor, uint64_t size);
void cursor_seek(struct cursor *cursor, uint64_t offset);

static inline bool cursor_failed(const struct cursor *cursor) {
    return cursor->failed;
}

static inline size_t cursor_offset(const struct cursor *cursor) {
    return (size_t)(cursor->position - cursor->start);
}

static inline size_t cursor_left(const struct cursor *cursor) {
    return cursor->failed ? 0 : (size_t)(cursor->end - cursor->position);
}

/* ERR_OK, or ERR_MALFORMED naming what was read and where it ended. */
enum err cursor_check(const struct cursor *cursor, struct error *error);
