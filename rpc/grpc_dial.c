#include "rpc/grpc_dial.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/span.h"

/* Splits "[v6]:port", "host:port" or "host". */
static bool split_authority(struct span text, bool is_secure, struct span *ret_host,
                            struct span *ret_port) {
    size_t host_end = 0;
    if (text.size > 0 && text.data[0] == '[') {
        const char *bracket = memchr(text.data, ']', text.size);
        if (!bracket)
            return false;
        *ret_host = span_of(text.data + 1, (size_t)(bracket - text.data) - 1);
        host_end = (size_t)(bracket - text.data) + 1;
    } else {
        const char *colon = memchr(text.data, ':', text.size);
        host_end = colon ? (size_t)(colon - text.data) : text.size;
        *ret_host = span_of(text.data, host_end);
    }
    *ret_port = span_cstr(is_secure ? "443" : "80");
    if (host_end < text.size) {
        if (text.data[host_end] != ':')
            return false;
        *ret_port = span_of(text.data + host_end + 1, text.size - host_end - 1);
    }
    return ret_host->size > 0;
}

static bool is_port(struct span text) {
    unsigned value = 0;
    if (text.size == 0 || text.size > 5)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (unsigned)(text.data[i] - '0');
    }
    return value > 0 && value <= UINT16_MAX;
}

enum err grpc_target_parse(const char *url, struct grpc_target *ret_target, struct error *error) {
    struct span rest = span_cstr(url);
    bool is_secure = span_starts_with(rest, "https://");
    if (!is_secure && !span_starts_with(rest, "http://"))
        return error_set(error, ERR_INVALID, "%s: want http://host:port or https://host:port", url);
    size_t scheme_size = strlen(is_secure ? "https://" : "http://");
    rest = span_of(rest.data + scheme_size, rest.size - scheme_size);
    if (rest.size > 0 && rest.data[rest.size - 1] == '/')
        rest.size--;
    struct span host;
    struct span port;
    if (memchr(rest.data, '/', rest.size) || memchr(rest.data, '@', rest.size) ||
        !split_authority(rest, is_secure, &host, &port) || !is_port(port) ||
        host.size >= GRPC_HOST_SIZE)
        return error_set(error, ERR_INVALID, "%s: want %shost:port", url,
                         is_secure ? "https://" : "http://");
    *ret_target = (struct grpc_target){.is_secure = is_secure};
    memcpy(ret_target->host, host.data, host.size);
    memcpy(ret_target->port, port.data, port.size);
    bool v6 = memchr(host.data, ':', host.size) != NULL;
    snprintf(ret_target->authority, sizeof(ret_target->authority), v6 ? "[%s]:%s" : "%s:%s",
             ret_target->host, ret_target->port);
    return ERR_OK;
}

static enum err wait_for(int fd, short events, int64_t deadline_ms, struct error *error) {
    for (;;) {
        int64_t left_ms = deadline_ms - clock_mono_ms();
        struct pollfd ready = {.fd = fd, .events = events};
        int count = poll(&ready, 1, left_ms < 0 ? 0 : (int)left_ms);
        if (count > 0)
            return ERR_OK;
        if (count == 0)
            return error_set(error, ERR_TIMEOUT, "no connection in time");
        if (errno != EINTR)
            return error_set_errno(error, ERR_IO, errno, "cannot wait for the connection");
    }
}

static enum err wait_connected(int fd, int64_t deadline_ms, struct error *error) {
    enum err err = wait_for(fd, POLLOUT, deadline_ms, error);
    if (err != ERR_OK)
        return err;
    int failure = 0;
    socklen_t size = sizeof(failure);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
    return failure ? error_set_errno(error, ERR_UNAVAILABLE, failure, "cannot connect") : ERR_OK;
}

static enum err connect_to(const struct addrinfo *address, int64_t deadline_ms, int *ret_fd,
                           struct error *error) {
    CLEANUP(cleanup_fd)
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot make a socket");
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, address->ai_addr, address->ai_addrlen) < 0) {
        if (errno != EINPROGRESS)
            return error_set_errno(error, ERR_UNAVAILABLE, errno, "cannot connect");
        enum err err = wait_connected(fd, deadline_ms, error);
        if (err != ERR_OK)
            return err;
    }
    *ret_fd = TAKE_FD(fd);
    return ERR_OK;
}

static enum err shake_hands(struct grpc_transport *transport, int64_t deadline_ms,
                            struct error *error) {
    for (;;) {
        switch (grpc_transport_handshake(transport, error)) {
        case TRANSPORT_DONE:
            return ERR_OK;
        case TRANSPORT_BLOCKED:
            break;
        case TRANSPORT_ENDED:
            return error_set(error, ERR_UNAVAILABLE,
                             "the server closed the connection during the TLS handshake");
        case TRANSPORT_FAILED:
            return error->code;
        }
        short events = grpc_transport_wants_write(transport) ? POLLOUT : POLLIN;
        enum err err = wait_for(grpc_transport_fd(transport), events, deadline_ms, error);
        if (err != ERR_OK)
            return err;
    }
}

static enum err secure(struct grpc_transport *transport, const struct grpc_target *target,
                       struct tls_credentials *credentials, int64_t deadline_ms,
                       struct error *error) {
    assert(credentials);
    enum err err = grpc_transport_secure_client(transport, credentials, target->host, error);
    return err == ERR_OK ? shake_hands(transport, deadline_ms, error) : err;
}

static enum err connect_host(const struct grpc_target *target, int64_t deadline_ms, int *ret_fd,
                             struct error *error) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses = NULL;
    int failure = getaddrinfo(target->host, target->port, &hints, &addresses);
    if (failure)
        return error_set(error, ERR_UNAVAILABLE, "%s: %s", target->host, gai_strerror(failure));
    enum err err = error_set(error, ERR_UNAVAILABLE, "no address");
    for (struct addrinfo *address = addresses; address && err != ERR_OK; address = address->ai_next)
        err = connect_to(address, deadline_ms, ret_fd, error);
    freeaddrinfo(addresses);
    return err;
}

enum err grpc_dial(const struct grpc_target *target, struct tls_credentials *credentials,
                   int64_t timeout_ms, struct grpc_transport **ret_transport, struct error *error) {
    CLEANUP(cleanup_grpc_transport) struct grpc_transport *transport = NULL;
    int64_t deadline_ms = clock_mono_ms() + timeout_ms;
    int fd = -1;
    enum err err = connect_host(target, deadline_ms, &fd, error);
    if (err == ERR_OK)
        err = grpc_transport_open(fd, &transport, error);
    if (err == ERR_OK && target->is_secure)
        err = secure(transport, target, credentials, deadline_ms, error);
    if (err != ERR_OK)
        return error_prefix(error, "%s", target->authority);
    *ret_transport = TAKE(transport);
    return ERR_OK;
}
