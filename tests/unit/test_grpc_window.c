/* What a method may keep of a request, and what its sender may send meanwhile. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/task_pool.h"
#include "rpc/grpc_client.h"
#include "rpc/grpc_frames.h"
#include "rpc/grpc_server.h"
#include "rpc/grpc_service.h"
#include "tests/support/test.h"

#define WINDOW_SIZE ((size_t)200000)

struct fixture {
    struct task_pool *pool;
    struct grpc_method method;
    struct grpc_service service;
    const struct grpc_service *services[1];
    struct grpc_server *server;
    struct grpc_client *client;
    atomic_size_t held_max;
};

/* Keeps all that it is sent until the sender can have nothing more to send, and then lets go. */
struct keeper {
    struct fixture *fixture;
    size_t held;
    size_t total;
};

static void *keeper_open(const struct grpc_method *method, struct grpc_call *call) {
    struct keeper *keeper = calloc(1, sizeof(*keeper));
    keeper->fixture = method->data;
    grpc_call_set_window(call, WINDOW_SIZE);
    return keeper;
}

static void let_go(void *state, struct grpc_call *call) {
    struct keeper *keeper = state;
    size_t held = keeper->held;
    keeper->held = 0;
    grpc_call_release(call, held);
}

static void post_let_go(void *argument) {
    struct grpc_call *call = argument;
    grpc_call_post(call, let_go);
    grpc_call_unref(call);
}

static void keeper_bytes(void *state, struct grpc_call *call, struct span bytes) {
    struct keeper *keeper = state;
    struct error error;
    grpc_call_hold(call, bytes.size);
    size_t before = keeper->held;
    keeper->held += bytes.size;
    keeper->total += bytes.size;
    if (keeper->held > atomic_load(&keeper->fixture->held_max))
        atomic_store(&keeper->fixture->held_max, keeper->held);
    size_t full = WINDOW_SIZE - GRPC_PREFIX_SIZE;
    if (before < full && keeper->held >= full)
        assert_int_equal(
            task_pool_submit(keeper->fixture->pool, post_let_go, grpc_call_ref(call), &error),
            ERR_OK);
}

static void keeper_begin(void *state, struct grpc_call *call, uint64_t size) {
    (void)state;
    (void)call;
    (void)size;
}

static void keeper_end(void *state, struct grpc_call *call) {
    (void)state;
    (void)call;
}

static void keeper_request_end(void *state, struct grpc_call *call) {
    struct keeper *keeper = state;
    struct buffer response = {.size_max = 100};
    buffer_printf(&response, "%zu", keeper->total);
    grpc_call_finish(call, GRPC_OK, NULL, &response);
}

static const struct grpc_method_functions keeper_functions = {
    .open = keeper_open,
    .message_begin = keeper_begin,
    .message_bytes = keeper_bytes,
    .message_end = keeper_end,
    .request_end = keeper_request_end,
    .free = free,
};

static int setup(void **state) {
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct error error;
    char url[64];
    const struct grpc_server_config config = {.address = "127.0.0.1"};
    assert_int_equal(task_pool_new(1, 64, &fixture->pool, &error), ERR_OK);
    fixture->method =
        (struct grpc_method){.name = "Keep", .functions = &keeper_functions, .data = fixture};
    fixture->service = (struct grpc_service){"test.Window", &fixture->method, 1};
    fixture->services[0] = &fixture->service;
    assert_int_equal(grpc_server_open(&config, fixture->services, 1, &fixture->server, &error),
                     ERR_OK);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", grpc_server_port(fixture->server));
    const struct grpc_client_config client = {.url = url};
    assert_int_equal(grpc_client_open(&client, &fixture->client, &error), ERR_OK);
    *state = fixture;
    return 0;
}

static int teardown(void **state) {
    struct fixture *fixture = *state;
    grpc_client_free(fixture->client);
    grpc_server_free(fixture->server);
    task_pool_free(fixture->pool);
    free(fixture);
    return 0;
}

static struct grpc_client_call *open_call(struct fixture *fixture) {
    struct grpc_client_call *call = NULL;
    struct error error;
    assert_int_equal(grpc_client_call_open(fixture->client, "/test.Window/Keep", 0, &call, &error),
                     ERR_OK);
    return call;
}

static void send_zeros(struct grpc_client_call *call, size_t size) {
    CLEANUP(cleanup_free) char *bytes = calloc(1, size);
    const struct span part = span_of(bytes, size);
    struct error error;
    assert_int_equal(grpc_client_call_send(call, &part, 1, &error), ERR_OK);
}

static void what_a_method_keeps_is_bounded_by_the_window_that_it_set(void **state) {
    struct fixture *fixture = *state;
    CLEANUP(cleanup_grpc_client_call) struct grpc_client_call *call = open_call(fixture);
    struct grpc_reply reply;
    struct error error;
    send_zeros(call, 30 * WINDOW_SIZE);
    assert_int_equal(grpc_client_call_finish(call, &reply, &error), ERR_OK);
    assert_int_equal(reply.status, GRPC_OK);
    assert_string_equal(buffer_cstr(&reply.message), "6000000");
    grpc_reply_clear(&reply);
    assert_in_range(atomic_load(&fixture->held_max), WINDOW_SIZE - GRPC_PREFIX_SIZE, WINDOW_SIZE);
}

/* More of them than the connection's window has room for. */
static void what_a_call_kept_to_its_end_is_given_back_to_the_connection(void **state) {
    struct fixture *fixture = *state;
    for (int i = 0; i < 60; i++) {
        struct grpc_client_call *call = open_call(fixture);
        send_zeros(call, WINDOW_SIZE / 2);
        grpc_client_call_free(call);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_method_keeps_is_bounded_by_the_window_that_it_set,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_call_kept_to_its_end_is_given_back_to_the_connection,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
