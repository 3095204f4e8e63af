/* The numbers of DWARF whose size stands elsewhere, read through the cursor. */
#pragma once

#include "base/cursor.h"

/* An unsigned number of 1 to 8 bytes. */
static inline uint64_t cursor_unsigned(struct cursor *cursor, uint8_t size) {
    if (size == 8)
        return cursor_u64(cursor);
    if (size == 4)
        return cursor_u32(cursor);
    struct span bytes = cursor_bytes(cursor, size);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        size_t next = cursor->big_endian ? i : bytes.size - 1 - i;
        value = value << 8 | (uint8_t)bytes.data[next];
    }
    return value;
}

/*
 * The length that begins a unit or table, and with it whether its offsets have 4 or 8 bytes (DWARF
 * 5, 7.4). One that reaches over the section's end, or is reserved, is a failure.
 */
static inline uint64_t cursor_initial_length(struct cursor *cursor, uint8_t *ret_offset_size) {
    uint64_t length = cursor_u32(cursor);
    *ret_offset_size = 4;
    if (length >= 0xfffffff0) {
        *ret_offset_size = 8;
        if (length != 0xffffffff)
            cursor->failed = true;
        length = cursor_u64(cursor);
    }
    if (length > cursor_left(cursor))
        cursor->failed = true;
    return cursor->failed ? 0 : length;
}
