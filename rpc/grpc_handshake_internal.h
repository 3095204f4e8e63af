/* The beginning of a server's connection: TLS, where the server has it. */
#pragma once

#include "rpc/grpc_connection_internal.h"

/* The transport for a socket that was accepted. Takes the descriptor; closes it on failure. */
enum err grpc_handshake_prepare(const struct grpc_shared *shared, int fd,
                                struct grpc_transport **ret_transport);

/* As far as it goes now. True when the connection is ready; otherwise it may have ended. */
bool grpc_handshake_advance(struct grpc_connection *connection);

/* Ends a connection that was not ready, or has been refused, for so long. */
void grpc_handshake_expire(struct grpc_connection *connection, int64_t since_ms);
