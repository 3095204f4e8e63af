/*
 * Reading numbers where they lie, inline: for the loops over DIEs, where a call for each byte of
 * base/cursor.h would be most of the work. Same rules: nothing is read at or past `end`, and the
 * caller learns of it (false, or NULL in the place of the next position).
 */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bytes are there; checked by the caller. */
static inline uint16_t dwarf_u16_at(const uint8_t *bytes, bool big_endian) {
    uint16_t value;
    memcpy(&value, bytes, sizeof(value));
    return big_endian ? be16toh(value) : le16toh(value);
}

static inline uint32_t dwarf_u32_at(const uint8_t *bytes, bool big_endian) {
    uint32_t value;
    memcpy(&value, bytes, sizeof(value));
    return big_endian ? be32toh(value) : le32toh(value);
}

static inline uint64_t dwarf_u64_at(const uint8_t *bytes, bool big_endian) {
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return big_endian ? be64toh(value) : le64toh(value);
}

/* A number of 1, 2, 3, 4 or 8 bytes. */
static inline uint64_t dwarf_number_at(const uint8_t *bytes, unsigned size, bool big_endian) {
    switch (size) {
    case 1:
        return bytes[0];
    case 2:
        return dwarf_u16_at(bytes, big_endian);
    case 3:
        return big_endian ? (uint64_t)bytes[0] << 16 | (uint64_t)bytes[1] << 8 | bytes[2]
                          : (uint64_t)bytes[2] << 16 | (uint64_t)bytes[1] << 8 | bytes[0];
    case 4:
        return dwarf_u32_at(bytes, big_endian);
    default:
        return dwarf_u64_at(bytes, big_endian);
    }
}

/* LEB128 (DWARF 5, 7.6). Producers may pad, so more than ten bytes are legal as long as they add
 * nothing; bits past the 64th are a failure. */
static inline bool dwarf_take_uleb(const uint8_t **position, const uint8_t *end,
                                   uint64_t *ret_value) {
    const uint8_t *next = *position;
    if (__builtin_expect(next < end && *next < 0x80, 1)) {
        *ret_value = *next;
        *position = next + 1;
        return true;
    }
    uint64_t value = 0;
    unsigned shift = 0;
    for (; next < end; next++, shift += 7) {
        uint64_t bits = *next & 0x7f;
        if (shift >= 64 ? bits != 0 : bits << shift >> shift != bits)
            return false;
        if (shift < 64)
            value |= bits << shift;
        if (!(*next & 0x80)) {
            *ret_value = value;
            *position = next + 1;
            return true;
        }
    }
    return false;
}

static inline bool dwarf_take_sleb(const uint8_t **position, const uint8_t *end,
                                   int64_t *ret_value) {
    uint64_t value = 0;
    unsigned shift = 0;
    for (const uint8_t *next = *position; next < end; next++) {
        if (shift < 64)
            value |= (uint64_t)(*next & 0x7f) << shift;
        shift += shift < 64 ? 7 : 0;
        if (*next & 0x80)
            continue;
        if (shift < 64 && (*next & 0x40))
            value |= ~(uint64_t)0 << shift;
        *ret_value = (int64_t)value;
        *position = next + 1;
        return true;
    }
    return false;
}

/* Past one LEB128; NULL when it does not end. */
static inline const uint8_t *dwarf_skip_leb(const uint8_t *position, const uint8_t *end) {
    while (position < end)
        if (!(*position++ & 0x80))
            return position;
    return NULL;
}

/* Past `size` bytes; NULL when there are not so many. */
static inline const uint8_t *dwarf_skip(const uint8_t *position, const uint8_t *end,
                                        uint64_t size) {
    return size <= (uint64_t)(end - position) ? position + size : NULL;
}

/* Past a block behind its length as a ULEB128; NULL when there is not so much. */
static inline const uint8_t *dwarf_skip_block(const uint8_t *position, const uint8_t *end) {
    uint64_t size;
    return dwarf_take_uleb(&position, end, &size) ? dwarf_skip(position, end, size) : NULL;
}
