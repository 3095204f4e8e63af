#include "rpc/grpc_dial.h"

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
static bool split_authority(struct span text, struct span *ret_host, struct span *ret_port) {
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
    *ret_port = span_cstr("80");
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
    if (span_starts_with(rest, "https://"))
        return error_set(
            error, ERR_UNSUPPORTED,
            "%s: https is not supported yet; use http:// to a local or trusted network", url);
    if (!span_starts_with(rest, "http://"))
        return error_set(error, ERR_INVALID, "%s: want http://host:port", url);
    rest = span_of(rest.data + 7, rest.size - 7);
    if (rest.size > 0 && rest.data[rest.size - 1] == '/')
        rest.size--;
    struct span host;
    struct span port;
    if (memchr(rest.data, '/', rest.size) || memchr(rest.data, '@', rest.size) ||
        !split_authority(rest, &host, &port) || !is_port(port) || host.size >= GRPC_HOST_SIZE)
        return error_set(error, ERR_INVALID, "%s: want http://host:port", url);
    *ret_target = (struct grpc_target){.host = ""};
    memcpy(ret_target->host, host.data, host.size);
    memcpy(ret_target->port, port.data, port.size);
    bool v6 = memchr(host.data, ':', host.size) != NULL;
    snprintf(ret_target->authority, sizeof(ret_target->authority), v6 ? "[%s]:%s" : "%s:%s",
             ret_target->host, ret_target->port);
    return ERR_OK;
}

static enum err wait_connected(int fd, int64_t deadline_ms, struct error *error) {
    for (;;) {
        int64_t left_ms = deadline_ms - clock_mono_ms();
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        int count = poll(&ready, 1, left_ms < 0 ? 0 : (int)left_ms);
        if (count < 0 && errno == EINTR)
            continue;
        if (count == 0)
            return error_set(error, ERR_TIMEOUT, "no connection in time");
        int failure = 0;
        socklen_t size = sizeof(failure);
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
        if (failure)
            return error_set_errno(error, ERR_UNAVAILABLE, failure, "cannot connect");
        return ERR_OK;
    }
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

enum err grpc_dial(const struct grpc_target *target, int64_t timeout_ms,
                   struct grpc_transport **ret_transport, struct error *error) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses = NULL;
    int failure = getaddrinfo(target->host, target->port, &hints, &addresses);
    if (failure)
        return error_set(error, ERR_UNAVAILABLE, "%s: %s", target->host, gai_strerror(failure));
    int64_t deadline_ms = clock_mono_ms() + timeout_ms;
    int fd = -1;
    enum err err = error_set(error, ERR_UNAVAILABLE, "no address");
    for (struct addrinfo *address = addresses; address && err != ERR_OK; address = address->ai_next)
        err = connect_to(address, deadline_ms, &fd, error);
    freeaddrinfo(addresses);
    if (err == ERR_OK)
        err = grpc_transport_open(fd, ret_transport, error);
    if (err != ERR_OK)
        error_prefix(error, "%s", target->authority);
    return err;
}
