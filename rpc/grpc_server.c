#include "rpc/grpc_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "rpc/grpc_loop_internal.h"

#define MESSAGE_SIZE_MAX ((uint64_t)64 << 20)
#define CONNECTION_COUNT_MAX 4096
#define CALL_IDLE_MS ((int64_t)2 * 60 * 1000)
#define CONNECTION_IDLE_MS ((int64_t)30 * 60 * 1000)
#define KEEPALIVE_TIME_MS ((int64_t)2 * 3600 * 1000)
#define KEEPALIVE_TIMEOUT_MS ((int64_t)20 * 1000)
#define PING_INTERVAL_MIN_MS ((int64_t)5 * 60 * 1000)
#define THREAD_COUNT_MAX 256
#define SERVICE_COUNT_MAX 16

struct grpc_server {
    struct grpc_shared shared;
    const struct grpc_service *services[SERVICE_COUNT_MAX];
    int listen_fd;
    uint16_t port;
    struct grpc_loop *loops;
    unsigned loop_count;
    bool stopping;
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t parse_address(const char *text, uint16_t port, union address *address) {
    *address = (union address){.v6 = {.sin6_family = AF_UNSPEC}};
    if (inet_pton(AF_INET, text, &address->v4.sin_addr) == 1) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons(port);
        return sizeof(address->v4);
    }
    if (inet_pton(AF_INET6, text, &address->v6.sin6_addr) == 1) {
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = htons(port);
        return sizeof(address->v6);
    }
    return 0;
}

static uint16_t bound_port(int fd) {
    union address address = {.v6 = {.sin6_family = AF_UNSPEC}};
    socklen_t size = sizeof(address);
    if (getsockname(fd, &address.any, &size) < 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

static enum err listen_on(const char *text, uint16_t port, int *ret_fd, struct error *error) {
    union address address;
    socklen_t size = parse_address(text, port, &address);
    if (size == 0)
        return error_set(error, ERR_INVALID, "not a numeric address: %s", text);
    CLEANUP(cleanup_fd)
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
        bind(fd, &address.any, size) < 0 || listen(fd, SOMAXCONN) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot listen on %s port %u", text, port);
    *ret_fd = TAKE_FD(fd);
    return ERR_OK;
}

static enum err start_loops(struct grpc_server *server, unsigned count, struct error *error) {
    server->loops = calloc(count, sizeof(*server->loops));
    if (!server->loops)
        return error_set(error, ERR_NO_MEMORY, "no memory for %u event loops", count);
    for (unsigned i = 0; i < count; i++) {
        struct grpc_loop *loop = &server->loops[i];
        enum err err = grpc_loop_open(&server->shared, server->listen_fd, loop, error);
        server->loop_count++;
        if (err == ERR_OK)
            err = grpc_loop_start(loop, error);
        if (err != ERR_OK)
            return err;
    }
    return ERR_OK;
}

static int64_t value_or(int64_t value, int64_t otherwise) {
    return value ? value : otherwise;
}

static struct grpc_keepalive_limits keepalive_of(const struct grpc_server_config *config) {
    return (struct grpc_keepalive_limits){
        .time_ms = value_or(config->keepalive_time_ms, KEEPALIVE_TIME_MS),
        .timeout_ms = value_or(config->keepalive_timeout_ms, KEEPALIVE_TIMEOUT_MS),
        .ping_interval_min_ms = value_or(config->ping_interval_min_ms, PING_INTERVAL_MIN_MS),
        .pings_without_calls = config->pings_without_calls,
        .idle_max_ms = value_or(config->connection_idle_ms, CONNECTION_IDLE_MS),
        .age_max_ms = config->connection_age_ms,
    };
}

static struct grpc_limits limits_of(const struct grpc_server_config *config) {
    return (struct grpc_limits){
        .message_size_max = config->message_size_max ? config->message_size_max : MESSAGE_SIZE_MAX,
        .connection_count_max = config->connection_count_max ? config->connection_count_max
                                                             : CONNECTION_COUNT_MAX,
        .call_idle_ms = value_or(config->call_idle_ms, CALL_IDLE_MS),
        .keepalive = keepalive_of(config),
    };
}

enum err grpc_server_open(const struct grpc_server_config *config,
                          const struct grpc_service *const *services, size_t service_count,
                          struct grpc_server **ret_server, struct error *error) {
    unsigned thread_count = config->thread_count ? config->thread_count : 1;
    if (thread_count > THREAD_COUNT_MAX)
        return error_set(error, ERR_INVALID, "%u network threads: at most %d", thread_count,
                         THREAD_COUNT_MAX);
    assert(service_count <= SERVICE_COUNT_MAX);
    CLEANUP(cleanup_grpc_server) struct grpc_server *server = calloc(1, sizeof(*server));
    if (!server)
        return error_set(error, ERR_NO_MEMORY, "no memory for a gRPC server");
    server->listen_fd = -1;
    server->shared.limits = limits_of(config);
    server->shared.tls = config->tls;
    server->shared.refused = config->refused;
    server->shared.refused_argument = config->refused_argument;
    for (size_t i = 0; i < service_count; i++)
        server->services[i] = services[i];
    server->shared.services = server->services;
    server->shared.service_count = service_count;
    enum err err = listen_on(config->address, config->port, &server->listen_fd, error);
    if (err == ERR_OK) {
        server->port = bound_port(server->listen_fd);
        err = start_loops(server, thread_count, error);
    }
    if (err != ERR_OK)
        return err;
    *ret_server = TAKE(server);
    return ERR_OK;
}

uint16_t grpc_server_port(const struct grpc_server *server) {
    return server->port;
}

void grpc_server_stats_read(struct grpc_server *server, struct grpc_server_stats *ret_stats) {
    struct grpc_server_stats stats = {.connections = atomic_load(&server->shared.connection_count)};
    for (unsigned i = 0; i < server->loop_count; i++) {
        struct grpc_loop *loop = &server->loops[i];
        pthread_mutex_lock(&loop->mutex);
        stats.calls += loop->call_count;
        pthread_mutex_unlock(&loop->mutex);
    }
    *ret_stats = stats;
}

void grpc_server_begin_stop(struct grpc_server *server, int64_t grace_ms) {
    if (server->stopping)
        return;
    server->stopping = true;
    int64_t stop_ms = clock_mono_ms() + grace_ms;
    /* The descriptor stays until the loops have ended; who connects meanwhile is refused. */
    if (server->listen_fd >= 0)
        shutdown(server->listen_fd, SHUT_RDWR);
    for (unsigned i = 0; i < server->loop_count; i++)
        grpc_loop_stop(&server->loops[i], stop_ms);
}

void grpc_server_stop(struct grpc_server *server, int64_t grace_ms) {
    grpc_server_begin_stop(server, grace_ms);
    for (unsigned i = 0; i < server->loop_count; i++)
        grpc_loop_join(&server->loops[i]);
    server->listen_fd = fd_close(server->listen_fd);
}

void grpc_server_free(struct grpc_server *server) {
    if (!server)
        return;
    grpc_server_stop(server, 0);
    for (unsigned i = 0; i < server->loop_count; i++)
        grpc_loop_close(&server->loops[i]);
    free(server->loops);
    free(server);
}
