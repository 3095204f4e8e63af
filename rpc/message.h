/* Protobuf messages from and to the wire, for services and clients. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"

/* Unpacks after message_check; end it with message_free. ERR_INVALID, ERR_MALFORMED, ERR_LIMIT for
 * what the other side sent, ERR_NO_MEMORY. */
enum err message_unpack(const ProtobufCMessageDescriptor *descriptor, struct span bytes,
                        ProtobufCMessage **ret_message, struct error *error);
void message_free(ProtobufCMessage *message);
DEFINE_CLEANUP(message, ProtobufCMessage, message_free)

/* Appends; a want of memory fails the buffer. */
void message_pack(const ProtobufCMessage *message, struct buffer *bytes);
