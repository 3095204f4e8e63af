/* From a URL to a connection, for the gRPC client. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "rpc/grpc_transport.h"

#define GRPC_HOST_SIZE 256
#define GRPC_AUTHORITY_SIZE (GRPC_HOST_SIZE + 16)

struct grpc_target {
    bool is_secure;            /* https */
    char host[GRPC_HOST_SIZE]; /* a name or numeric, without brackets */
    char port[6];
    char authority[GRPC_AUTHORITY_SIZE]; /* for the ":authority" header */
};

/* "http://host[:port][/]", or https; the port is 80 or 443 when missing. ERR_INVALID. */
enum err grpc_target_parse(const char *url, struct grpc_target *ret_target, struct error *error);

/* Connected to the first address of the host that answers, with TLS over it if the target is
 * secure; the credentials are for that alone. Blocks, at most timeout_ms after the name is
 * resolved. ERR_UNAVAILABLE, ERR_TIMEOUT; where another try will end the same way, ERR_DENIED (one
 * side does not accept the other) and ERR_MALFORMED (no TLS 1.3 there, or no HTTP/2). */
enum err grpc_dial(const struct grpc_target *target, struct tls_credentials *credentials,
                   int64_t timeout_ms, struct grpc_transport **ret_transport, struct error *error);
