#include "rpc/grpc_transport.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"

struct grpc_transport {
    int fd;
    bool wants_write;
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
    fd_close(transport->fd);
    free(transport);
}

int grpc_transport_fd(const struct grpc_transport *transport) {
    return transport->fd;
}

enum transport_result grpc_transport_handshake(struct grpc_transport *transport,
                                               struct error *error) {
    (void)transport;
    (void)error;
    return TRANSPORT_DONE;
}

static enum transport_result blocked_or_failed(struct grpc_transport *transport, bool writing,
                                               struct error *error) {
    transport->wants_write = writing;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return TRANSPORT_BLOCKED;
    error_set_errno(error, ERR_UNAVAILABLE, errno, "the connection broke");
    return TRANSPORT_FAILED;
}

enum transport_result grpc_transport_receive(struct grpc_transport *transport, void *bytes,
                                             size_t size, size_t *ret_size, struct error *error) {
    assert(size > 0);
    ssize_t received = recv(transport->fd, bytes, size, 0);
    if (received < 0)
        return blocked_or_failed(transport, false, error);
    *ret_size = (size_t)received;
    return received > 0 ? TRANSPORT_DONE : TRANSPORT_ENDED;
}

enum transport_result grpc_transport_send(struct grpc_transport *transport, const void *bytes,
                                          size_t size, size_t *ret_size, struct error *error) {
    assert(size > 0);
    ssize_t sent = send(transport->fd, bytes, size, MSG_NOSIGNAL);
    if (sent < 0)
        return blocked_or_failed(transport, true, error);
    *ret_size = (size_t)sent;
    return TRANSPORT_DONE;
}

bool grpc_transport_pending(const struct grpc_transport *transport) {
    (void)transport;
    return false;
}

bool grpc_transport_wants_write(const struct grpc_transport *transport) {
    return transport->wants_write;
}
