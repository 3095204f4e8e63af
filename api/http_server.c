#include "api/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include "api/http_cors.h"
#include "api/http_exchange_internal.h"
#include "api/http_path.h"
#include "api/http_tls.h"
#include "base/clock.h"
#include "base/fd.h"

/* Headers of a request and the pieces of a body pass through it. */
#define CONNECTION_MEMORY_SIZE ((size_t)64 << 10)
#define LISTEN_BACKLOG 511
/* Answers are demangled on these threads too, see symbolizer/index/demangle.h. */
#define THREAD_STACK_SIZE ((size_t)8 << 20)

/* --- routing -------------------------------------------------------------------------------- */

static bool method_fits(const struct http_route *route, const char *method) {
    return strcmp(route->method, method) == 0 ||
           (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

/* "GET, HEAD" for all routes with this path; "" when there is none. */
static void allowed_methods(const struct http_server_config *config, struct span path,
                            char *ret_allow, size_t size) {
    size_t used = 0;
    ret_allow[0] = '\0';
    for (size_t i = 0; i < config->route_count; i++) {
        const struct http_route *route = &config->routes[i];
        struct span parameter;
        if (!http_path_match(route->path, path, &parameter) || used >= size)
            continue;
        used += (size_t)snprintf(ret_allow + used, size - used, "%s%s%s", used ? ", " : "",
                                 route->method, strcmp(route->method, "GET") ? "" : ", HEAD");
    }
}

static bool is_json(const char *content_type) {
    static const char json[] = "application/json";
    size_t size = sizeof(json) - 1;
    if (strncasecmp(content_type, json, size) != 0)
        return false;
    char next = content_type[size];
    return next == '\0' || next == ';' || next == ' ' || next == '\t';
}

static void check_headers(struct http_exchange *exchange, const struct http_route *route) {
    struct MHD_Connection *connection = exchange->connection;
    const char *type = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Type");
    const char *coding =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Encoding");
    if (route->takes_json && type && !is_json(type))
        http_exchange_refuse(exchange, 415, "unsupported_media_type",
                             "the body's Content-Type must be application/json", NULL);
    else if (route->takes_json && coding && strcasecmp(coding, "identity") != 0)
        http_exchange_refuse(exchange, 415, "unsupported_media_type",
                             "the body must not have a Content-Encoding", NULL);
}

static void find_route(struct http_exchange *exchange, const char *raw_path) {
    const struct http_server_config *config = &exchange->server->config;
    struct span path = span_cstr(raw_path);
    struct span parameter;
    for (size_t i = 0; i < config->route_count; i++) {
        const struct http_route *route = &config->routes[i];
        if (!method_fits(route, exchange->method) ||
            !http_path_match(route->path, path, &parameter))
            continue;
        exchange->route = i;
        if (!http_percent_decode(parameter, exchange->parameter, sizeof(exchange->parameter),
                                 &exchange->parameter_size))
            http_exchange_refuse(exchange, 400, err_name(ERR_INVALID),
                                 "the path wants at most 255 bytes in valid percent-escapes", NULL);
        else
            check_headers(exchange, route);
        return;
    }
    exchange->route = config->route_count;
    char allow[64];
    allowed_methods(config, path, allow, sizeof(allow));
    if (allow[0])
        http_exchange_refuse(exchange, 405, "method_not_allowed",
                             "this path does not answer this method", allow);
    else
        http_exchange_refuse(exchange, 404, err_name(ERR_NOT_FOUND), "no such path", NULL);
}

/* --- running -------------------------------------------------------------------------------- */

static enum MHD_Result begin(struct http_server *server, struct MHD_Connection *connection,
                             const char *path, const char *method,
                             struct http_exchange **ret_exchange) {
    struct http_exchange *exchange = http_exchange_new(server, connection, method);
    if (!exchange)
        return MHD_NO;
    pthread_mutex_lock(&server->mutex);
    server->open_count++;
    pthread_mutex_unlock(&server->mutex);
    *ret_exchange = exchange;
    http_cors_begin(exchange);
    if (!http_cors_preflight(exchange))
        find_route(exchange, path);
    return http_receive_begin(exchange);
}

void http_server_handler_ended(struct http_server *server) {
    pthread_mutex_lock(&server->mutex);
    server->running_count--;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->mutex);
}

static void run_handler(void *argument) {
    struct http_exchange *exchange = argument;
    const struct http_server_config *config = &exchange->server->config;
    const struct http_route *route = &config->routes[exchange->route];
    if (exchange->state == EXCHANGE_PREPARING)
        route->prepare(exchange, config->argument);
    else
        route->handler(exchange, config->argument);
}

enum MHD_Result http_server_hand_over(struct http_exchange *exchange, enum exchange_state state) {
    struct http_server *server = exchange->server;
    const struct http_server_config *config = &server->config;
    struct error error;
    pthread_mutex_lock(&server->mutex);
    exchange->suspended = !server->closing;
    server->running_count += exchange->suspended;
    pthread_mutex_unlock(&server->mutex);
    if (!exchange->suspended)
        return MHD_NO;
    exchange->state = state;
    bool waits = config->routes[exchange->route].waits && config->waiting_pool;
    MHD_suspend_connection(exchange->connection);
    if (task_pool_submit(waits ? config->waiting_pool : config->pool, run_handler, exchange,
                         &error) != ERR_OK) {
        error_set(&error, ERR_UNAVAILABLE, "too many requests wait already");
        http_exchange_fail(exchange, &error);
    }
    return MHD_YES;
}

static enum MHD_Result dispatch(struct http_exchange *exchange) {
    if (!exchange->server->config.routes[exchange->route].quick)
        return http_server_hand_over(exchange, EXCHANGE_RUNNING);
    exchange->state = EXCHANGE_RUNNING;
    run_handler(exchange);
    return http_exchange_send(exchange);
}

static enum MHD_Result on_request(void *argument, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *bytes, size_t *size, void **exchange_slot) {
    (void)version;
    struct http_exchange *exchange = *exchange_slot;
    if (!exchange)
        return begin(argument, connection, path, method, (struct http_exchange **)exchange_slot);
    if (!exchange->headers_done)
        return http_receive_prepared(exchange);
    if (*size > 0) {
        size_t received = *size;
        *size = 0;
        return http_receive_bytes(exchange, bytes, received);
    }
    return exchange->state == EXCHANGE_RECEIVING ? dispatch(exchange)
                                                 : http_exchange_send(exchange);
}

static void on_completed(void *argument, struct MHD_Connection *connection, void **exchange_slot,
                         enum MHD_RequestTerminationCode code) {
    (void)connection;
    (void)code;
    struct http_server *server = argument;
    struct http_exchange *exchange = *exchange_slot;
    if (!exchange)
        return;
    *exchange_slot = NULL;
    if (exchange->state == EXCHANGE_ANSWERED)
        http_exchange_tell_end(exchange);
    http_exchange_free(exchange);
    pthread_mutex_lock(&server->mutex);
    server->open_count--;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->mutex);
}

/* Leaves paths and arguments as they came: api/http_path.h decodes them by segment. */
static size_t leave_escaped(void *argument, struct MHD_Connection *connection, char *text) {
    (void)argument;
    (void)connection;
    return strlen(text);
}

/* --- opening and closing -------------------------------------------------------------------- */

union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool parse_address(const char *address, uint16_t port, union socket_address *ret_address,
                          socklen_t *ret_size) {
    union socket_address parsed = {0};
    if (inet_pton(AF_INET, address, &parsed.v4.sin_addr) == 1) {
        parsed.v4.sin_family = AF_INET;
        parsed.v4.sin_port = htons(port);
        *ret_size = sizeof(parsed.v4);
    } else if (inet_pton(AF_INET6, address, &parsed.v6.sin6_addr) == 1) {
        parsed.v6.sin6_family = AF_INET6;
        parsed.v6.sin6_port = htons(port);
        *ret_size = sizeof(parsed.v6);
    } else {
        return false;
    }
    *ret_address = parsed;
    return true;
}

static enum err open_socket(const struct http_server_config *config, int *ret_fd,
                            uint16_t *ret_port, struct error *error) {
    union socket_address address;
    socklen_t size;
    if (!parse_address(config->address, config->port, &address, &size))
        return error_set(error, ERR_INVALID, "\"%s\" is no numeric address", config->address);
    CLEANUP(cleanup_fd)
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, &address.any, size) != 0 || listen(fd, LISTEN_BACKLOG) != 0 ||
        getsockname(fd, &address.any, &size) != 0)
        return error_set_errno(error, ERR_UNAVAILABLE, errno, "cannot listen on %s port %u",
                               config->address, config->port);
    *ret_port =
        ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
    *ret_fd = TAKE_FD(fd);
    return ERR_OK;
}

static enum err start_daemon(struct http_server *server, struct error *error) {
    const struct http_server_config *config = &server->config;
    struct MHD_OptionItem tls[HTTP_TLS_OPTION_COUNT] = {{MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_SUSPEND_RESUME;
    if (config->tls) {
        flags |= MHD_USE_TLS;
        http_tls_options(config, tls);
    }
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, server->listen_fd,
        MHD_OPTION_THREAD_POOL_SIZE, config->thread_count, MHD_OPTION_CONNECTION_LIMIT,
        config->connection_count_max, MHD_OPTION_CONNECTION_TIMEOUT, config->idle_timeout_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY_SIZE, MHD_OPTION_UNESCAPE_CALLBACK,
        leave_escaped, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
        MHD_OPTION_THREAD_STACK_SIZE, THREAD_STACK_SIZE, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (!server->daemon)
        return error_set(error, ERR_UNAVAILABLE, "cannot start the HTTP threads");
    server->listen_fd = -1;
    return ERR_OK;
}

static void fill_defaults(struct http_server_config *config) {
    if (config->thread_count == 0)
        config->thread_count = 2;
    if (config->connection_count_max == 0)
        config->connection_count_max = 1024;
    if (config->body_size_max == 0)
        config->body_size_max = (size_t)32 << 20;
    if (config->body_total_max == 0)
        config->body_total_max = 8 * config->body_size_max;
    if (config->idle_timeout_s == 0)
        config->idle_timeout_s = 30;
    if (config->transfer_max_ms == 0)
        config->transfer_max_ms = (int64_t)5 * 60 * 1000;
}

enum err http_server_open(const struct http_server_config *config, struct http_server **ret_server,
                          struct error *error) {
    CLEANUP(cleanup_http_server) struct http_server *server = calloc(1, sizeof(*server));
    if (!server)
        return error_set(error, ERR_NO_MEMORY, "no memory for the HTTP server");
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&server->mutex, NULL);
    server->config = *config;
    server->listen_fd = -1;
    fill_defaults(&server->config);
    enum err err = open_socket(&server->config, &server->listen_fd, &server->port, error);
    if (err == ERR_OK)
        err = start_daemon(server, error);
    if (err == ERR_OK)
        *ret_server = TAKE(server);
    return err;
}

unsigned http_exchange_connection_count(const struct http_exchange *exchange) {
    struct MHD_Daemon *daemon = exchange->server->daemon;
    const union MHD_DaemonInfo *info =
        daemon ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS) : NULL;
    return info ? info->num_connections : 0;
}

uint16_t http_server_port(const struct http_server *server) {
    return server->port;
}

static void wait_for_exchanges(struct http_server *server, int64_t grace_ms) {
    int64_t deadline_ms = clock_mono_ms() + grace_ms;
    struct timespec deadline = {.tv_sec = deadline_ms / 1000,
                                .tv_nsec = deadline_ms % 1000 * 1000000};
    pthread_mutex_lock(&server->mutex);
    while (server->open_count > 0 && clock_mono_ms() < deadline_ms)
        pthread_cond_timedwait(&server->changed, &server->mutex, &deadline);
    /* libmicrohttpd cannot be stopped while connections are suspended. */
    server->closing = true;
    while (server->running_count > 0)
        pthread_cond_wait(&server->changed, &server->mutex);
    pthread_mutex_unlock(&server->mutex);
}

void http_server_stop(struct http_server *server, int64_t grace_ms) {
    if (!server->daemon)
        return;
    atomic_store(&server->stopping, true);
    server->listen_fd = MHD_quiesce_daemon(server->daemon);
    /* It may be closed only after the daemon; who connects meanwhile is refused. */
    if (server->listen_fd >= 0)
        shutdown(server->listen_fd, SHUT_RDWR);
    wait_for_exchanges(server, grace_ms);
    MHD_stop_daemon(server->daemon);
    server->daemon = NULL;
}

void http_server_free(struct http_server *server) {
    if (!server)
        return;
    http_server_stop(server, 0);
    fd_close(server->listen_fd);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->mutex);
    free(server);
}
