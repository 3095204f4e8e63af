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

/*
 * On x86-64 this exists twice: for the processors of the ABI, and, in functions that have the
 * attribute BIT_FIELD_FAST, for those with instructions that count, find and cut out bits. The
 * compiler finds the instructions for a build that demands them; `fast` is a constant to it.
 */
#define BIT_FIELD_INLINED static inline __attribute__((always_inline))
#ifdef __x86_64__
#define BIT_FIELD_FAST __attribute__((target("popcnt,bmi,bmi2")))
#endif

BIT_FIELD_INLINED uint64_t bit_field_cut(uint64_t word, unsigned width) {
    return word & ~(UINT64_MAX << width);
}

/* A field of at most 57 bits. */
BIT_FIELD_INLINED uint64_t bit_field(const uint8_t *bits, uint64_t at, unsigned width) {
    return bit_field_cut(bit_field_word(bits + at / 8) >> (at % 8), width);
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

/* "Hacker's Delight", section 5-1: sums of neighbours, then of the bits of each byte. */
static inline uint64_t bit_counts_of_bytes(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    return (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
}

static inline unsigned bit_count_portably(uint64_t word) {
    return (unsigned)(bit_counts_of_bytes(word) * 0x0101010101010101 >> 56);
}
