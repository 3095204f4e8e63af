/* Custom metadata of a call, as the gRPC protocol specification ("Custom-Metadata") bounds it. */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct grpc_header {
    const char *name;  /* 0-9 a-z _ - . */
    const char *value; /* printable ASCII */
};

/* More than any agent or proxy asks for. */
#define GRPC_HEADER_COUNT_MAX 32

/* ERR_INVALID names the header that cannot be sent: a wrong byte, a name that gRPC or HTTP/2 keeps
 * for itself ("grpc-…", "te", "content-type", …), binary headers ("…-bin"), or too many. */
enum err grpc_headers_check(const struct grpc_header *headers, size_t count, struct error *error);
