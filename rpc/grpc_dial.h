/* From a URL to a connection, for the gRPC client. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "rpc/grpc_transport.h"

#define GRPC_HOST_SIZE 256
#define GRPC_AUTHORITY_SIZE (GRPC_HOST_SIZE + 16)

struct grpc_target {
    char host[GRPC_HOST_SIZE]; /* a name or numeric, without brackets */
    char port[6];
    char authority[GRPC_AUTHORITY_SIZE]; /* for the ":authority" header */
};

/* "http://host[:port][/]"; the port is 80 when missing. ERR_INVALID, or ERR_UNSUPPORTED for
 * https, which needs TLS. */
enum err grpc_target_parse(const char *url, struct grpc_target *ret_target, struct error *error);

/* Connected to the first address of the host that answers.
 * ERR_UNAVAILABLE, ERR_TIMEOUT. Blocks, at most timeout_ms after the name is resolved. */
enum err grpc_dial(const struct grpc_target *target, int64_t timeout_ms,
                   struct grpc_transport **ret_transport, struct error *error);
