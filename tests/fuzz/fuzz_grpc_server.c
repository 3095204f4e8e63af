/*
 * Property: whatever a client sends on a connection, the server lives, ends the connection when the
 * client does, and keeps nothing of it: no connection and no call.
 *
 * The input is what comes behind the client's preface and SETTINGS, sent in pieces of a size that
 * its first byte chooses. The server is real and has a unary method, and one that pauses and holds
 * what it is sent as uploads do.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/task_pool.h"
#include "rpc/grpc_server.h"
#include "rpc/grpc_service.h"
#include "rpc/grpc_unary.h"

#define PATIENCE_MS 30000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char greeting[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";

/* --- the methods ------------------------------------------------------------------------------ */

static void echo(void *service, struct grpc_call *call, struct span request) {
    (void)service;
    struct buffer response = {.size_max = request.size + 1};
    buffer_append(&response, request.data, request.size);
    grpc_call_finish(call, GRPC_OK, NULL, &response);
}

struct keeper {
    struct task_pool *pool;
    size_t held;
};

static void *keeper_open(const struct grpc_method *method, struct grpc_call *call) {
    struct keeper *keeper = calloc(1, sizeof(*keeper));
    assert(keeper);
    keeper->pool = method->data;
    grpc_call_set_window(call, GRPC_WINDOW_SIZE_MAX);
    return keeper;
}

static void keeper_begin(void *state, struct grpc_call *call, uint64_t size) {
    (void)state;
    (void)call;
    (void)size;
}

static void go_on(void *state, struct grpc_call *call) {
    struct keeper *keeper = state;
    grpc_call_release(call, keeper->held);
    keeper->held = 0;
    grpc_call_resume(call);
}

static void post_go_on(void *argument) {
    struct grpc_call *call = argument;
    grpc_call_post(call, go_on);
    grpc_call_unref(call);
}

static void keeper_bytes(void *state, struct grpc_call *call, struct span bytes) {
    struct keeper *keeper = state;
    struct error error;
    grpc_call_hold(call, bytes.size);
    if (keeper->held == 0 && bytes.size > 0) {
        grpc_call_pause(call);
        enum err err = task_pool_submit(keeper->pool, post_go_on, grpc_call_ref(call), &error);
        assert(err == ERR_OK);
    }
    keeper->held += bytes.size;
}

static void keeper_end(void *state, struct grpc_call *call) {
    (void)state;
    (void)call;
}

static void keeper_request_end(void *state, struct grpc_call *call) {
    (void)state;
    grpc_call_finish(call, GRPC_OK, NULL, NULL);
}

static const struct grpc_method_functions keeper_functions = {
    .open = keeper_open,
    .message_begin = keeper_begin,
    .message_bytes = keeper_bytes,
    .message_end = keeper_end,
    .request_end = keeper_request_end,
    .free = free,
};

/* --- the server ------------------------------------------------------------------------------- */

static struct grpc_server *start_server(void) {
    static struct grpc_unary unary = {.handle = echo};
    static struct grpc_method methods[2];
    static const struct grpc_service service = {"t.T", methods, ARRAY_SIZE(methods)};
    static const struct grpc_service *const services[] = {&service};
    const struct grpc_server_config config = {.address = "127.0.0.1", .message_size_max = 100000};
    struct grpc_server *server = NULL;
    struct task_pool *pool = NULL;
    struct error error;
    signal(SIGPIPE, SIG_IGN);
    enum err err = task_pool_new(1, 4096, &pool, &error);
    unary.pool = pool;
    methods[0] =
        (struct grpc_method){.name = "U", .functions = &grpc_unary_functions, .data = &unary};
    methods[1] = (struct grpc_method){.name = "S", .functions = &keeper_functions, .data = pool};
    if (err == ERR_OK)
        err = grpc_server_open(&config, services, 1, &server, &error);
    assert(err == ERR_OK);
    return server;
}

static int connect_to(const struct grpc_server *server) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(grpc_server_port(server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    return fd;
}

/* The server may end the connection before all is sent. */
static void send_all(int fd, const void *bytes, size_t size, size_t piece_size) {
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size < piece_size ? size : piece_size, MSG_NOSIGNAL);
        if (sent < 0)
            return;
        bytes = (const char *)bytes + sent;
        size -= (size_t)sent;
    }
}

static void read_to_end(int fd) {
    char bytes[4096];
    while (recv(fd, bytes, sizeof(bytes), 0) > 0)
        continue;
}

static void wait_for_nothing(struct grpc_server *server) {
    int64_t end_ms = clock_mono_ms() + PATIENCE_MS;
    struct grpc_server_stats stats = {.connections = 1};
    while (stats.connections + stats.calls > 0) {
        assert(clock_mono_ms() < end_ms);
        grpc_server_stats_read(server, &stats);
        usleep(50);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct grpc_server *server;
    if (!server)
        server = start_server();
    if (size == 0)
        return 0;
    int fd = connect_to(server);
    send_all(fd, greeting, sizeof(greeting), sizeof(greeting));
    /* Few pieces, since each may cost the server a wake-up. */
    send_all(fd, data + 1, size - 1, size / (data[0] % 8 + 1) + 1);
    shutdown(fd, SHUT_WR);
    read_to_end(fd);
    fd_close(fd);
    wait_for_nothing(server);
    return 0;
}
