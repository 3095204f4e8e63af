/*
 * Reading fields of bits (symbolizer/index/format.h says how they lie). Nothing is checked here:
 * eight bytes from the field's first byte on must be readable.
 */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t bit_field_word(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return le64toh(word);
}

/* A field of at most 57 bits. */
static inline uint64_t bit_field(const uint8_t *bits, uint64_t at, unsigned width) {
    return bit_field_word(bits + at / 8) >> (at % 8) & (((uint64_t)1 << width) - 1);
}

/* A field of at most 64 bits. */
static inline uint64_t bit_field_wide(const uint8_t *bits, uint64_t at, unsigned width) {
    if (width <= 32)
        return bit_field(bits, at, width);
    return bit_field(bits, at, 32) | bit_field(bits, at + 32, width - 32) << 32;
}

/* How many bits hold the value; 0 for 0. */
static inline unsigned bit_length(uint64_t value) {
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}
