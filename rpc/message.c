#include "rpc/message.h"

#include <stdbool.h>

#include "rpc/message_check.h"

/* An allocator for protobuf-c that remembers that memory was short. */
static void *unpack_alloc(void *failed, size_t size) {
    void *memory = malloc(size);
    if (!memory)
        *(bool *)failed = true;
    return memory;
}

static void unpack_free(void *failed, void *memory) {
    (void)failed;
    free(memory);
}

enum err message_unpack(const ProtobufCMessageDescriptor *descriptor, struct span bytes,
                        ProtobufCMessage **ret_message, struct error *error) {
    enum err err = message_check(descriptor, bytes, error);
    if (err != ERR_OK)
        return err;
    bool memory_failed = false;
    ProtobufCAllocator allocator = {unpack_alloc, unpack_free, &memory_failed};
    ProtobufCMessage *message =
        protobuf_c_message_unpack(descriptor, &allocator, bytes.size, (const uint8_t *)bytes.data);
    if (!message && memory_failed)
        return error_set(error, ERR_NO_MEMORY, "no memory for a %s", descriptor->name);
    /* It does not say why; after the check it is a field with another type's wire type. */
    if (!message)
        return error_set(error, ERR_MALFORMED, "not a %s", descriptor->name);
    *ret_message = message;
    return ERR_OK;
}

void message_free(ProtobufCMessage *message) {
    protobuf_c_message_free_unpacked(message, NULL);
}

void message_pack(const ProtobufCMessage *message, struct buffer *bytes) {
    size_t size = protobuf_c_message_get_packed_size(message);
    char *room = buffer_reserve(bytes, size);
    if (room)
        bytes->size += protobuf_c_message_pack(message, (uint8_t *)room);
}
