#include "api/descriptor_files.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

/* A google.protobuf.FileDescriptorSet. */
static const uint8_t descriptor_set[] = {
#include "rpc/proto/descriptors.inc"
};

/* Field numbers of descriptor.proto. */
enum { SET_FILE = 1 };
enum { NAME = 1 }; /* of anything */
enum { FILE_PACKAGE = 2 };

enum kind { NO_KIND, FILE_KIND, MESSAGE_KIND, ENUM_KIND, SERVICE_KIND, LEAF_KIND };

/* What is declared in this field of a declaration; NO_KIND if nothing is. */
static enum kind part_kind(enum kind whole, uint64_t number) {
    static const enum kind parts[][7] = {
        [FILE_KIND] = {[4] = MESSAGE_KIND, [5] = ENUM_KIND, [6] = SERVICE_KIND},
        [MESSAGE_KIND] = {[2] = LEAF_KIND, [3] = MESSAGE_KIND, [4] = ENUM_KIND},
        [ENUM_KIND] = {[2] = LEAF_KIND},
        [SERVICE_KIND] = {[2] = LEAF_KIND},
        [LEAF_KIND] = {NO_KIND},
    };
    return number < ARRAY_SIZE(parts[0]) ? parts[whole][number] : NO_KIND;
}

static uint64_t take_varint(struct span *bytes) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        assert(bytes->size > 0);
        uint8_t byte = (uint8_t)bytes->data[0];
        *bytes = span_of(bytes->data + 1, bytes->size - 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    return value;
}

/* The next field, with the bytes of one that has a length. Descriptors hold no fixed numbers. The
 * bytes are our own compiler's: what else is in them is a bug of the build. */
static bool next_field(struct span *message, uint64_t *ret_number, struct span *ret_bytes) {
    if (message->size == 0)
        return false;
    uint64_t tag = take_varint(message);
    uint64_t value = take_varint(message);
    assert((tag & 7) == 0 || (tag & 7) == 2);
    *ret_number = tag >> 3;
    *ret_bytes = (struct span){NULL, 0};
    if ((tag & 7) == 2) {
        assert(value <= message->size);
        *ret_bytes = span_of(message->data, (size_t)value);
        *message = span_of(message->data + value, message->size - (size_t)value);
    }
    return true;
}

static struct span field_of(struct span message, uint64_t wanted) {
    uint64_t number;
    struct span bytes;
    while (next_field(&message, &number, &bytes))
        if (number == wanted)
            return bytes;
    return (struct span){NULL, 0};
}

/* Takes "name", or "name." of a longer path, off the path. */
static bool take_name(struct span *path, struct span name) {
    if (name.size == 0 || path->size < name.size || memcmp(path->data, name.data, name.size) != 0)
        return false;
    if (path->size == name.size) {
        *path = span_of(path->data + name.size, 0);
        return true;
    }
    if (path->data[name.size] != '.' || path->size == name.size + 1)
        return false;
    *path = span_of(path->data + name.size + 1, path->size - name.size - 1);
    return true;
}

/* Steps into the part of *whole that the path begins with. */
static bool take_part(struct span *path, enum kind *kind, struct span *whole) {
    struct span rest = *whole;
    uint64_t number;
    struct span part;
    while (next_field(&rest, &number, &part)) {
        enum kind found = part_kind(*kind, number);
        if (found == NO_KIND || !take_name(path, field_of(part, NAME)))
            continue;
        *whole = part;
        *kind = found;
        return true;
    }
    return false;
}

static bool file_declares(struct span file, struct span symbol) {
    enum kind kind = FILE_KIND;
    bool found = take_name(&symbol, field_of(file, FILE_PACKAGE)) && symbol.size > 0;
    while (found && symbol.size > 0)
        found = take_part(&symbol, &kind, &file);
    return found;
}

static bool file_is_named(struct span file, struct span name) {
    return span_equal(field_of(file, NAME), name);
}

static bool find_file(bool (*matches)(struct span file, struct span text), struct span text,
                      struct span *ret_file) {
    struct span set = span_of(descriptor_set, sizeof(descriptor_set));
    uint64_t number;
    struct span file;
    while (next_field(&set, &number, &file)) {
        assert(number == SET_FILE);
        if (!matches(file, text))
            continue;
        *ret_file = file;
        return true;
    }
    return false;
}

bool descriptor_file_by_name(struct span name, struct span *ret_file) {
    return find_file(file_is_named, name, ret_file);
}

bool descriptor_file_by_symbol(struct span symbol, struct span *ret_file) {
    return find_file(file_declares, symbol, ret_file);
}
