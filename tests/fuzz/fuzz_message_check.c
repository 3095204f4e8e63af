/*
 * Property: what the check accepts, protobuf-c unpacks or refuses in peace, and what it unpacked is
 * accepted again once packed, with every string as long as it was sent.
 *
 * The first byte of the input chooses the message's type, the rest is the message.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "rpc/message_check.h"
#include "rpc/proto/debuginfo.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ProtobufCMessageDescriptor *const types[] = {
    &parca__debuginfo__v1alpha1__should_initiate_upload_request__descriptor,
    &parca__debuginfo__v1alpha1__initiate_upload_request__descriptor,
    &parca__debuginfo__v1alpha1__initiate_upload_response__descriptor,
    &parca__debuginfo__v1alpha1__upload_request__descriptor,
    &parca__debuginfo__v1alpha1__upload_info__descriptor,
};

static void check_again(const ProtobufCMessage *message) {
    size_t size = protobuf_c_message_get_packed_size(message);
    CLEANUP(cleanup_free) uint8_t *packed = malloc(size + 1);
    assert(packed && protobuf_c_message_pack(message, packed) == size);
    struct error error;
    assert(message_check(message->descriptor, span_of(packed, size), &error) == ERR_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    const ProtobufCMessageDescriptor *type = types[data[0] % ARRAY_SIZE(types)];
    struct span bytes = span_of(data + 1, size - 1);
    struct error error;
    enum err err = message_check(type, bytes, &error);
    assert(err == ERR_OK || err == ERR_MALFORMED || err == ERR_LIMIT || err == ERR_INVALID);
    if (err != ERR_OK)
        return 0;
    ProtobufCMessage *message = protobuf_c_message_unpack(type, NULL, bytes.size, data + 1);
    if (message)
        check_again(message);
    protobuf_c_message_free_unpacked(message, NULL);
    return 0;
}
