/*
 * The byte stream below HTTP/2: a non-blocking socket, alone or with TLS over it. Server and client
 * drive it alike, and wait for the socket themselves, in epoll or poll:
 *
 *     grpc_transport_handshake until it is done (at once for a socket alone), then
 *     grpc_transport_receive and grpc_transport_send in any order.
 *
 * Whoever gets TRANSPORT_BLOCKED waits until the socket is readable, or writable where
 * grpc_transport_wants_write says so. A socket that is readable no more may still leave bytes
 * behind that were decrypted: grpc_transport_pending.
 *
 * Belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"

struct grpc_transport;
struct tls_credentials;

enum transport_result {
    TRANSPORT_DONE, /* something was moved; of a handshake: it is over */
    TRANSPORT_BLOCKED,
    TRANSPORT_ENDED,  /* the peer closed it */
    TRANSPORT_FAILED, /* the error says why */
};

/* Takes the descriptor; on failure it is closed. */
enum err grpc_transport_open(int fd, struct grpc_transport **ret_transport, struct error *error);

/* Puts TLS over it, before anything is moved; takes a reference to the credentials. A client names
 * the host that it wants to reach. */
enum err grpc_transport_secure_server(struct grpc_transport *transport,
                                      struct tls_credentials *credentials, struct error *error);
enum err grpc_transport_secure_client(struct grpc_transport *transport,
                                      struct tls_credentials *credentials, const char *host,
                                      struct error *error);

/* Closes the socket, in TLS after saying so to the peer. Does not wait. */
void grpc_transport_free(struct grpc_transport *transport);
DEFINE_CLEANUP(grpc_transport, struct grpc_transport, grpc_transport_free)

/* For poll and epoll, and to ask who is at the other end. */
int grpc_transport_fd(const struct grpc_transport *transport);

/* The client that TLS has verified; "" when it asked for none. Lives as long as the transport. */
const char *grpc_transport_client(const struct grpc_transport *transport);

enum transport_result grpc_transport_handshake(struct grpc_transport *transport,
                                               struct error *error);

/* A handshake that fails has told the peer why, but the peer may be sending still, and closing then
 * would take the alert away: grpc_transport_refuse says that no more will come, and
 * grpc_transport_discard drops what does until it returns TRANSPORT_ENDED or TRANSPORT_FAILED. */
void grpc_transport_refuse(struct grpc_transport *transport);
enum transport_result grpc_transport_discard(struct grpc_transport *transport);

/* The most that one record of TLS brings. */
#define GRPC_TRANSPORT_ROOM_MIN ((size_t)16384)

/* Bytes that have come, at least one; with less than GRPC_TRANSPORT_ROOM_MIN of the room left over
 * there may be more. `size` is at least GRPC_TRANSPORT_ROOM_MIN. */
enum transport_result grpc_transport_receive(struct grpc_transport *transport, void *bytes,
                                             size_t size, size_t *ret_size, struct error *error);

/* Some of the bytes, at least one. After TRANSPORT_BLOCKED the next call must begin with the same
 * bytes: TLS may have encrypted them already. */
enum transport_result grpc_transport_send(struct grpc_transport *transport, const void *bytes,
                                          size_t size, size_t *ret_size, struct error *error);

/* True when bytes are left that no event of the socket will tell of. */
bool grpc_transport_pending(const struct grpc_transport *transport);

/* What the last TRANSPORT_BLOCKED waits for. */
bool grpc_transport_wants_write(const struct grpc_transport *transport);
