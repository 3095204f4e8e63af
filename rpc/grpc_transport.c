#include "rpc/grpc_transport.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "rpc/tls_session.h"

struct grpc_transport {
    int fd;
    struct tls_session *tls; /* NULL: the socket alone */
    bool wants_write;        /* of the socket alone */
};

enum err grpc_transport_open(int fd, struct grpc_transport **ret_transport, struct error *error) {
    struct grpc_transport *transport = calloc(1, sizeof(*transport));
    if (!transport) {
        fd_close(fd);
        return error_set(error, ERR_NO_MEMORY, "no memory for a connection");
    }
    transport->fd = fd;
    *ret_transport = transport;
    return ERR_OK;
}

void grpc_transport_free(struct grpc_transport *transport) {
    if (!transport)
        return;
    if (transport->tls)
        tls_session_end(transport->tls);
    tls_session_free(transport->tls);
    fd_close(transport->fd);
    free(transport);
}

enum err grpc_transport_secure_server(struct grpc_transport *transport,
                                      struct tls_credentials *credentials, struct error *error) {
    assert(!transport->tls);
    return tls_session_new_server(credentials, transport->fd, &transport->tls, error);
}

enum err grpc_transport_secure_client(struct grpc_transport *transport,
                                      struct tls_credentials *credentials, const char *host,
                                      struct error *error) {
    assert(!transport->tls);
    return tls_session_new_client(credentials, host, transport->fd, &transport->tls, error);
}

int grpc_transport_fd(const struct grpc_transport *transport) {
    return transport->fd;
}

const char *grpc_transport_client(const struct grpc_transport *transport) {
    return transport->tls ? tls_session_client(transport->tls) : "";
}

static enum transport_result blocked_or_failed(struct grpc_transport *transport, bool writing,
                                               struct error *error) {
    transport->wants_write = writing;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return TRANSPORT_BLOCKED;
    error_set_errno(error, ERR_UNAVAILABLE, errno, "the connection broke");
    return TRANSPORT_FAILED;
}

enum transport_result grpc_transport_handshake(struct grpc_transport *transport,
                                               struct error *error) {
    return transport->tls ? tls_session_handshake(transport->tls, error) : TRANSPORT_DONE;
}

void grpc_transport_refuse(struct grpc_transport *transport) {
    shutdown(transport->fd, SHUT_WR);
}

enum transport_result grpc_transport_discard(struct grpc_transport *transport) {
    char bytes[GRPC_TRANSPORT_ROOM_MIN];
    struct error ignored;
    ssize_t received = recv(transport->fd, bytes, sizeof(bytes), 0);
    if (received < 0)
        return blocked_or_failed(transport, false, &ignored);
    return received > 0 ? TRANSPORT_DONE : TRANSPORT_ENDED;
}

enum transport_result grpc_transport_receive(struct grpc_transport *transport, void *bytes,
                                             size_t size, size_t *ret_size, struct error *error) {
    assert(size >= GRPC_TRANSPORT_ROOM_MIN);
    if (transport->tls)
        return tls_session_receive(transport->tls, bytes, size, ret_size, error);
    ssize_t received = recv(transport->fd, bytes, size, 0);
    if (received < 0)
        return blocked_or_failed(transport, false, error);
    *ret_size = (size_t)received;
    return received > 0 ? TRANSPORT_DONE : TRANSPORT_ENDED;
}

enum transport_result grpc_transport_send(struct grpc_transport *transport, const void *bytes,
                                          size_t size, size_t *ret_size, struct error *error) {
    assert(size > 0);
    if (transport->tls)
        return tls_session_send(transport->tls, bytes, size, ret_size, error);
    ssize_t sent = send(transport->fd, bytes, size, MSG_NOSIGNAL);
    if (sent < 0)
        return blocked_or_failed(transport, true, error);
    *ret_size = (size_t)sent;
    return TRANSPORT_DONE;
}

bool grpc_transport_pending(const struct grpc_transport *transport) {
    return transport->tls && tls_session_pending(transport->tls);
}

bool grpc_transport_wants_write(const struct grpc_transport *transport) {
    return transport->tls ? tls_session_wants_write(transport->tls) : transport->wants_write;
}
