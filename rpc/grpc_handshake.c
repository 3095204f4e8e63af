#include "rpc/grpc_handshake_internal.h"

#include <sys/epoll.h>

#include "base/clock.h"
#include "base/socket_name.h"
#include "rpc/tls_slot.h"

#define HANDSHAKE_MS 10000
/* How long a refused client gets to read why. */
#define REFUSED_MS 1000
#define DISCARDS_PER_ROUND 8

enum err grpc_handshake_prepare(const struct grpc_shared *shared, int fd,
                                struct grpc_transport **ret_transport) {
    CLEANUP(cleanup_grpc_transport) struct grpc_transport *transport = NULL;
    struct error error;
    enum err err = grpc_transport_open(fd, &transport, &error);
    if (err == ERR_OK && shared->tls) {
        CLEANUP(cleanup_tls_credentials)
        struct tls_credentials *credentials = tls_slot_get(shared->tls);
        err = grpc_transport_secure_server(transport, credentials, &error);
    }
    if (err == ERR_OK)
        *ret_transport = TAKE(transport);
    return err;
}

static void tell_refusal(const struct grpc_connection *connection, const char *reason) {
    const struct grpc_shared *shared = connection->loop->shared;
    char peer[SOCKET_NAME_SIZE];
    if (!shared->refused)
        return;
    socket_name_of_peer(grpc_transport_fd(connection->transport), peer);
    shared->refused(shared->refused_argument, peer, reason);
}

/* The alert is on its way. */
static void refuse(struct grpc_connection *connection, const char *reason) {
    tell_refusal(connection, reason);
    connection->refused = true;
    connection->active_ms = clock_mono_ms();
    grpc_transport_refuse(connection->transport);
    grpc_connection_wait_for(connection, EPOLLIN);
}

static void discard(struct grpc_connection *connection) {
    enum transport_result result = TRANSPORT_DONE;
    for (int i = 0; i < DISCARDS_PER_ROUND && result == TRANSPORT_DONE; i++)
        result = grpc_transport_discard(connection->transport);
    if (result == TRANSPORT_ENDED || result == TRANSPORT_FAILED)
        grpc_connection_close(connection);
}

static bool shake_hands(struct grpc_connection *connection) {
    struct grpc_transport *transport = connection->transport;
    struct error error;
    switch (grpc_transport_handshake(transport, &error)) {
    case TRANSPORT_DONE:
        connection->ready = true;
        connection->active_ms = clock_mono_ms();
        break;
    case TRANSPORT_BLOCKED:
        grpc_connection_wait_for(connection,
                                 grpc_transport_wants_write(transport) ? EPOLLOUT : EPOLLIN);
        return false;
    case TRANSPORT_ENDED:
        grpc_connection_close(connection);
        return false;
    case TRANSPORT_FAILED:
        refuse(connection, error.text);
        return false;
    }
    return connection->ready;
}

bool grpc_handshake_advance(struct grpc_connection *connection) {
    if (connection->refused)
        discard(connection);
    else if (connection->goaway) /* of a server that stops: nothing was begun */
        grpc_connection_close(connection);
    else
        return shake_hands(connection);
    return false;
}

void grpc_handshake_expire(struct grpc_connection *connection, int64_t since_ms) {
    if (since_ms < (connection->refused ? REFUSED_MS : HANDSHAKE_MS))
        return;
    if (!connection->refused)
        tell_refusal(connection, "no TLS handshake in time");
    grpc_connection_close(connection);
}
