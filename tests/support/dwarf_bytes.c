#include "tests/support/dwarf_bytes.h"

#include <string.h>

#include "tests/support/test.h"

void dwarf_bytes_clear(struct dwarf_bytes *bytes) {
    buffer_clear(&bytes->buffer);
}

struct span dwarf_bytes_span(const struct dwarf_bytes *bytes) {
    assert_false(buffer_failed(&bytes->buffer));
    return buffer_span(&bytes->buffer);
}

static void write_number(const struct dwarf_bytes *bytes, char *at, uint8_t size, uint64_t value) {
    for (uint8_t i = 0; i < size; i++)
        at[bytes->big_endian ? size - 1 - i : i] = (char)(value >> 8 * i);
}

void put_number(struct dwarf_bytes *bytes, uint8_t size, uint64_t value) {
    char *room = buffer_reserve(&bytes->buffer, size);
    assert_non_null(room);
    write_number(bytes, room, size, value);
    bytes->buffer.size += size;
}

void put_u8(struct dwarf_bytes *bytes, uint8_t value) {
    put_number(bytes, 1, value);
}

void put_uleb(struct dwarf_bytes *bytes, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        put_u8(bytes, (uint8_t)(value | 0x80));
    put_u8(bytes, (uint8_t)value);
}

void put_sleb(struct dwarf_bytes *bytes, int64_t value) {
    for (; value < -0x40 || value >= 0x40; value >>= 7)
        put_u8(bytes, (uint8_t)(value | 0x80));
    put_u8(bytes, value & 0x7f);
}

void put_text(struct dwarf_bytes *bytes, const char *text) {
    buffer_append(&bytes->buffer, text, strlen(text) + 1);
}

void put_bytes(struct dwarf_bytes *bytes, struct span what) {
    buffer_append(&bytes->buffer, what.data, what.size);
}

void patch_number(struct dwarf_bytes *bytes, size_t offset, uint8_t size, uint64_t value) {
    assert_true(offset + size <= bytes->buffer.size);
    write_number(bytes, bytes->buffer.data + offset, size, value);
}

size_t begin_length(struct dwarf_bytes *bytes, uint8_t offset_size) {
    if (offset_size == 8)
        put_number(bytes, 4, 0xffffffff);
    size_t begin = bytes->buffer.size;
    put_number(bytes, offset_size, 0);
    return begin;
}

void end_length(struct dwarf_bytes *bytes, size_t begin, uint8_t offset_size) {
    patch_number(bytes, begin, offset_size, bytes->buffer.size - begin - offset_size);
}
