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

/* The 57 bits or more from bit `at` on, and what a load has behind them. */
static inline uint64_t bit_field_shifted(const uint8_t *bits, uint64_t at) {
    return bit_field_word(bits + at / 8) >> (at % 8);
}

static inline uint64_t bit_field_cut(uint64_t word, unsigned width) {
    return word & (((uint64_t)1 << width) - 1);
}

/* A field of at most 57 bits. */
static inline uint64_t bit_field(const uint8_t *bits, uint64_t at, unsigned width) {
    return bit_field_cut(bit_field_shifted(bits, at), width);
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

/* The position of the set bit that has `rank` set bits below it; the word has more than that. */
static inline unsigned bit_select_portably(uint64_t word, unsigned rank) {
    uint64_t sums = bit_counts_of_bytes(word) * 0x0101010101010101;
    unsigned at = 0;
    while ((sums >> at & 0xff) <= rank)
        at += 8;
    rank -= at ? (unsigned)(sums >> (at - 8) & 0xff) : 0;
    for (uint64_t rest = word >> at;; rest >>= 1, at++) {
        if ((rest & 1) && rank-- == 0)
            return at;
    }
}

/*
 * What a lookup goes through exists twice on x86-64: for the processors of the ABI, and, in
 * functions that have the attribute BIT_WAYS_FAST, for those with instructions that count, find and
 * cut out bits. A way that is a constant is inlined like all else.
 */
struct bit_ways {
    unsigned (*count)(uint64_t word);
    unsigned (*select)(uint64_t word, unsigned rank); /* as bit_select_portably */
    uint64_t (*cut)(uint64_t word, unsigned width);
};

#define BIT_WAYS_PORTABLE                                                                          \
    ((struct bit_ways){bit_count_portably, bit_select_portably, bit_field_cut})

#ifdef __x86_64__
#define BIT_WAYS_FAST __attribute__((target("popcnt,bmi,bmi2")))

BIT_WAYS_FAST static inline unsigned bit_count_fast(uint64_t word) {
    return (unsigned)__builtin_popcountll(word);
}

BIT_WAYS_FAST static inline unsigned bit_select_fast(uint64_t word, unsigned rank) {
    return (unsigned)__builtin_ctzll(__builtin_ia32_pdep_di((uint64_t)1 << rank, word));
}

BIT_WAYS_FAST static inline uint64_t bit_cut_fast(uint64_t word, unsigned width) {
    return __builtin_ia32_bzhi_di(word, width);
}

#define BIT_WAYS_OF_FAST ((struct bit_ways){bit_count_fast, bit_select_fast, bit_cut_fast})
#endif
