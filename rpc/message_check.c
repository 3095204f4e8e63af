#include "rpc/message_check.h"

#include "base/cursor.h"

/* Wire types of protobuf's encoding. */
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct level {
    const ProtobufCMessageDescriptor *descriptor;
    struct cursor cursor;
};

static const ProtobufCFieldDescriptor *known_field(const ProtobufCMessageDescriptor *descriptor,
                                                   uint64_t number) {
    if (number > UINT32_MAX)
        return NULL;
    return protobuf_c_message_descriptor_get_field(descriptor, (unsigned)number);
}

/* Moves past one field; *ret_bytes is what a length-delimited one holds. */
static enum err next_field(struct cursor *cursor, uint64_t *ret_number, bool *ret_delimited,
                           struct span *ret_bytes, struct error *error) {
    uint64_t tag = cursor_uleb128(cursor);
    *ret_number = tag >> 3;
    *ret_delimited = (tag & 7) == WIRE_BYTES;
    switch (tag & 7) {
    case WIRE_VARINT:
        cursor_uleb128(cursor);
        break;
    case WIRE_FIXED64:
        cursor_skip(cursor, 8);
        break;
    case WIRE_BYTES: {
        uint64_t size = cursor_uleb128(cursor);
        *ret_bytes = cursor_bytes(cursor, size > SIZE_MAX ? SIZE_MAX : (size_t)size);
        break;
    }
    case WIRE_FIXED32:
        cursor_skip(cursor, 4);
        break;
    default:
        return error_set(error, ERR_MALFORMED, "protobuf wire type %d at offset %zu",
                         (int)(tag & 7), cursor_offset(cursor));
    }
    enum err err = cursor_check(cursor, error);
    if (err == ERR_OK && *ret_number == 0)
        return error_set(error, ERR_MALFORMED, "protobuf field number 0");
    return err;
}

enum err message_check(const ProtobufCMessageDescriptor *descriptor, struct span bytes,
                       struct error *error) {
    struct level levels[MESSAGE_DEPTH_MAX];
    size_t depth = 1;
    unsigned field_count = 0;
    levels[0] = (struct level){descriptor, cursor_of(bytes, false, descriptor->name)};
    while (depth > 0) {
        struct level *level = &levels[depth - 1];
        if (cursor_left(&level->cursor) == 0) {
            depth--;
            continue;
        }
        uint64_t number = 0;
        bool delimited = false;
        struct span inner = {NULL, 0};
        enum err err = next_field(&level->cursor, &number, &delimited, &inner, error);
        if (err != ERR_OK)
            return err;
        if (++field_count > MESSAGE_FIELD_COUNT_MAX)
            return error_set(error, ERR_LIMIT, "%s with more than %d fields", descriptor->name,
                             MESSAGE_FIELD_COUNT_MAX);
        const ProtobufCFieldDescriptor *field = delimited ? known_field(level->descriptor, number)
                                                          : NULL;
        if (field && field->type == PROTOBUF_C_TYPE_STRING && inner.size > 0 &&
            memchr(inner.data, 0, inner.size))
            return error_set(error, ERR_INVALID, "%s holds a NUL byte", field->name);
        if (!field || field->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        if (depth == MESSAGE_DEPTH_MAX)
            return error_set(error, ERR_LIMIT, "%s nested deeper than %d messages",
                             descriptor->name, MESSAGE_DEPTH_MAX);
        const ProtobufCMessageDescriptor *type = field->descriptor;
        levels[depth++] = (struct level){type, cursor_of(inner, false, type->name)};
    }
    return ERR_OK;
}
