/*
 * TLS 1.3 with HTTP/2 inside, over a non-blocking socket: what rpc/grpc_transport.h promises, for
 * both ends. The peer's bytes are hostile; what a client can make a server's GnuTLS hold is bounded
 * (128 KiB of handshake, one record of 16 KiB), and so is how often keys are updated.
 */
#pragma once

#include "base/error.h"
#include "rpc/grpc_transport.h"
#include "rpc/tls_credentials.h"

struct tls_session;

/* The descriptor is borrowed; a reference to the credentials is taken. */
enum err tls_session_new_server(struct tls_credentials *credentials, int fd,
                                struct tls_session **ret_session, struct error *error);

/* `host` (a name or a numeric address, copied) is what the server's certificate must be for. */
enum err tls_session_new_client(struct tls_credentials *credentials, const char *host, int fd,
                                struct tls_session **ret_session, struct error *error);
void tls_session_free(struct tls_session *session);
DEFINE_CLEANUP(tls_session, struct tls_session, tls_session_free)

/* As the functions of the same names in rpc/grpc_transport.h. A handshake that fails has sent the
 * alert. */
enum transport_result tls_session_handshake(struct tls_session *session, struct error *error);
enum transport_result tls_session_receive(struct tls_session *session, void *bytes, size_t size,
                                          size_t *ret_size, struct error *error);
enum transport_result tls_session_send(struct tls_session *session, const void *bytes, size_t size,
                                       size_t *ret_size, struct error *error);
bool tls_session_pending(const struct tls_session *session);
bool tls_session_wants_write(const struct tls_session *session);

/* Tells the peer that no more will come, if the socket takes it. */
void tls_session_end(struct tls_session *session);

/* The verified client; "" when none was asked for. */
const char *tls_session_client(const struct tls_session *session);
