/*
 * Appends fields of bits to bytes, as symbolizer/index/format.h lays them. The first failure stays
 * and ends all writing; ask for it once.
 */
#pragma once

#include "symbolizer/build/record_array.h"

struct bit_writer {
    struct record_array *bytes; /* records of one byte */
    struct memory_budget *budget;
    struct error *error;
    enum err err;
    uint64_t pending; /* bits that do not fill a byte yet, from the lowest */
    unsigned pending_bits;
};

/* A field of at most 64 bits; the value fits. */
void bit_writer_put(struct bit_writer *writer, uint64_t value, unsigned width);

/* Clear bits up to a whole byte; then ERR_OK or the first failure. */
enum err bit_writer_align(struct bit_writer *writer);
