#include "base/cursor.h"

#include <endian.h>
#include <string.h>

struct cursor cursor_of(struct span bytes, bool big_endian, const char *name) {
    const uint8_t *data = (const uint8_t *)bytes.data;
    return (struct cursor){
        .start = data,
        .position = data,
        .end = data ? data + bytes.size : data,
        .name = name,
        .big_endian = big_endian,
    };
}

static const uint8_t *advance(struct cursor *cursor, uint64_t size) {
    if (cursor->failed || size > (uint64_t)(cursor->end - cursor->position)) {
        cursor->failed = true;
        return NULL;
    }
    const uint8_t *bytes = cursor->position;
    if (size > 0) /* the position of an empty cursor is NULL */
        cursor->position += size;
    return bytes;
}

uint8_t cursor_u8(struct cursor *cursor) {
    const uint8_t *bytes = advance(cursor, 1);
    return bytes ? *bytes : 0;
}

uint16_t cursor_u16(struct cursor *cursor) {
    uint16_t value = 0;
    const uint8_t *bytes = advance(cursor, sizeof(value));
    if (!bytes)
        return 0;
    memcpy(&value, bytes, sizeof(value));
    return cursor->big_endian ? be16toh(value) : le16toh(value);
}

uint32_t cursor_u32(struct cursor *cursor) {
    uint32_t value = 0;
    const uint8_t *bytes = advance(cursor, sizeof(value));
    if (!bytes)
        return 0;
    memcpy(&value, bytes, sizeof(value));
    return cursor->big_endian ? be32toh(value) : le32toh(value);
}

uint64_t cursor_u64(struct cursor *cursor) {
    uint64_t value = 0;
    const uint8_t *bytes = advance(cursor, sizeof(value));
    if (!bytes)
        return 0;
    memcpy(&value, bytes, sizeof(value));
    return cursor->big_endian ? be64toh(value) : le64toh(value);
}

uint64_t cursor_uleb128(struct cursor *cursor) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = cursor_u8(cursor);
        if (cursor->failed)
            return 0;
        if (shift == 63 && (byte & 0x7e))
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    cursor->failed = true;
    return 0;
}

int64_t cursor_sleb128(struct cursor *cursor) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = cursor_u8(cursor);
        if (cursor->failed)
            return 0;
        /* The tenth byte carries bit 63 alone; its other bits must repeat the sign. */
        if (shift == 63 && (byte & 0x7f) != 0 && (byte & 0x7f) != 0x7f)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (shift + 7 < 64 && (byte & 0x40))
            value |= ~(uint64_t)0 << (shift + 7);
        return (int64_t)value;
    }
    cursor->failed = true;
    return 0;
}

struct span cursor_bytes(struct cursor *cursor, size_t size) {
    const uint8_t *bytes = advance(cursor, size);
    return bytes ? span_of(bytes, size) : (struct span){NULL, 0};
}

struct span cursor_cstring(struct cursor *cursor) {
    size_t left = cursor_left(cursor);
    const uint8_t *nul = left ? memchr(cursor->position, 0, left) : NULL;
    if (!nul) {
        cursor->failed = true;
        return (struct span){NULL, 0};
    }
    struct span text = span_of(cursor->position, (size_t)(nul - cursor->position));
    cursor->position = nul + 1;
    return text;
}

void cursor_skip(struct cursor *cursor, uint64_t size) {
    advance(cursor, size);
}

void cursor_seek(struct cursor *cursor, uint64_t offset) {
    if (cursor->failed || offset > (uint64_t)(cursor->end - cursor->start)) {
        cursor->failed = true;
        return;
    }
    cursor->position = offset > 0 ? cursor->start + offset : cursor->start;
}

enum err cursor_check(const struct cursor *cursor, struct error *error) {
    if (!cursor->failed)
        return ERR_OK;
    return error_set(error, ERR_MALFORMED, "%s ends early or is damaged at offset %zu of %zu",
                     cursor->name, (size_t)(cursor->position - cursor->start),
                     (size_t)(cursor->end - cursor->start));
}
