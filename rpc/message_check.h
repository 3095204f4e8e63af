/*
 * A look at a protobuf message on the wire before protobuf-c unpacks it: protobuf-c recurses per
 * nested message and allocates per field, without limits of its own, so that some KB of nesting
 * overrun its stack. This check does not recurse further than its limit and allocates nothing.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/error.h"
#include "base/span.h"

#define MESSAGE_DEPTH_MAX 16
#define MESSAGE_FIELD_COUNT_MAX 4096

/*
 * ERR_INVALID: a NUL byte in a string field, where protobuf-c would silently end it;
 * ERR_MALFORMED: not a sequence of fields (groups included, which no message of ours has);
 * ERR_LIMIT: known message fields nested deeper than MESSAGE_DEPTH_MAX, or more fields in all
 * than MESSAGE_FIELD_COUNT_MAX.
 */
enum err message_check(const ProtobufCMessageDescriptor *descriptor, struct span bytes,
                       struct error *error);
