/* Writes the bytes of hand-made debug sections. Running out of memory ends the test. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

struct dwarf_bytes {
    struct buffer buffer;
    bool big_endian;
};

void dwarf_bytes_clear(struct dwarf_bytes *bytes);
struct span dwarf_bytes_span(const struct dwarf_bytes *bytes);

/* A number of 1 to 8 bytes in the byte order. */
void put_number(struct dwarf_bytes *bytes, uint8_t size, uint64_t value);
void put_u8(struct dwarf_bytes *bytes, uint8_t value);
void put_uleb(struct dwarf_bytes *bytes, uint64_t value);
void put_sleb(struct dwarf_bytes *bytes, int64_t value);
void put_text(struct dwarf_bytes *bytes, const char *text); /* with its NUL */
void put_bytes(struct dwarf_bytes *bytes, struct span what);

/* Puts a number over bytes that are there. */
void patch_number(struct dwarf_bytes *bytes, size_t offset, uint8_t size, uint64_t value);

/* Leaves room for the length of a table and returns where it is; end_length fills it in. */
size_t begin_length(struct dwarf_bytes *bytes, uint8_t offset_size);
void end_length(struct dwarf_bytes *bytes, size_t begin, uint8_t offset_size);
