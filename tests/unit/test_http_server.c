#include "api/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/support/test.h"

#define BODY_SIZE_MAX ((size_t)100000)

struct fixture {
    struct task_pool *pool;
    struct http_server *server;
    atomic_uint last_status;
    /* Of the handler that waits. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool entered;
    bool released;
};

/* --- handlers ------------------------------------------------------------------------------- */

/* Answers with the parameter, the query argument "q" and the body. */
static void handle_echo(struct http_exchange *exchange, void *argument) {
    (void)argument;
    struct buffer body = {0};
    char query[256] = "";
    bool present = false;
    struct error error;
    if (http_exchange_query(exchange, "q", query, &present, &error) != ERR_OK) {
        http_exchange_fail(exchange, &error);
        return;
    }
    struct span parameter = http_exchange_parameter(exchange);
    struct span sent = http_exchange_body(exchange);
    buffer_append(&body, parameter.data, parameter.size);
    buffer_printf(&body, "|%s|", present ? query : "-");
    buffer_append(&body, sent.data, sent.size);
    http_exchange_reply(exchange, 200, "text/plain", &body);
}

struct counting {
    struct http_stream stream;
    unsigned next;
    unsigned count;
    unsigned fail_at;
};

static enum err render_counting(struct http_stream *stream, struct buffer *out, bool *ret_end,
                                struct error *error) {
    struct counting *counting = (struct counting *)stream;
    for (unsigned i = 0; i < 1000 && counting->next < counting->count; i++)
        buffer_printf(out, "%08u\n", counting->next++);
    *ret_end = counting->next == counting->count;
    if (counting->fail_at && counting->next >= counting->fail_at)
        return error_set(error, ERR_IO, "broken on purpose");
    return ERR_OK;
}

static void free_counting(struct http_stream *stream) {
    free(stream);
}

static void reply_counting(struct http_exchange *exchange, unsigned count, unsigned fail_at) {
    static const struct http_stream_ops ops = {render_counting, free_counting};
    struct counting *counting = calloc(1, sizeof(*counting));
    counting->stream.ops = &ops;
    counting->count = count;
    counting->fail_at = fail_at;
    http_exchange_reply_stream(exchange, 200, "text/plain", &counting->stream);
}

static void handle_long(struct http_exchange *exchange, void *argument) {
    (void)argument;
    reply_counting(exchange, 200000, 0);
}

static void handle_short(struct http_exchange *exchange, void *argument) {
    (void)argument;
    reply_counting(exchange, 3, 0);
}

static void handle_broken(struct http_exchange *exchange, void *argument) {
    (void)argument;
    reply_counting(exchange, 200000, 50000);
}

static void handle_wait(struct http_exchange *exchange, void *argument) {
    struct fixture *fixture = argument;
    pthread_mutex_lock(&fixture->mutex);
    fixture->entered = true;
    pthread_cond_broadcast(&fixture->changed);
    while (!fixture->released)
        pthread_cond_wait(&fixture->changed, &fixture->mutex);
    pthread_mutex_unlock(&fixture->mutex);
    struct buffer body = {0};
    buffer_append_cstr(&body, "waited");
    http_exchange_reply(exchange, 200, "text/plain", &body);
}

static void observe(const struct http_outcome *outcome, void *argument) {
    struct fixture *fixture = argument;
    atomic_store(&fixture->last_status, outcome->status);
}

static const struct http_route routes[] = {
    {.method = "GET", .path = "/echo/{x}", .handler = handle_echo},
    {.method = "POST", .path = "/echo", .handler = handle_echo, .takes_json = true},
    {.method = "GET", .path = "/quick", .handler = handle_echo, .quick = true},
    {.method = "GET", .path = "/long", .handler = handle_long},
    {.method = "GET", .path = "/short", .handler = handle_short},
    {.method = "GET", .path = "/broken", .handler = handle_broken},
    {.method = "GET", .path = "/wait", .handler = handle_wait},
};

/* --- server and client ---------------------------------------------------------------------- */

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct error error;
    pthread_mutex_init(&fixture->mutex, NULL);
    pthread_cond_init(&fixture->changed, NULL);
    assert_int_equal(task_pool_new(2, 16, &fixture->pool, &error), ERR_OK);
    struct http_server_config config = {
        .address = "127.0.0.1",
        .body_size_max = BODY_SIZE_MAX,
        .routes = routes,
        .route_count = ARRAY_SIZE(routes),
        .argument = fixture,
        .observer = observe,
        .pool = fixture->pool,
    };
    assert_int_equal(http_server_open(&config, &fixture->server, &error), ERR_OK);
    *state = fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    http_server_free(fixture->server);
    task_pool_free(fixture->pool);
    pthread_mutex_destroy(&fixture->mutex);
    pthread_cond_destroy(&fixture->changed);
    free(fixture);
    return 0;
}

static int connect_to(const struct fixture *fixture) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(http_server_port(fixture->server)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void write_text(int fd, const char *text) {
    struct error error;
    assert_int_equal(fd_write_all(fd, text, strlen(text), &error), ERR_OK);
}

/* Reads until the server closes. */
static const char *read_all(int fd, struct buffer *answer) {
    for (;;) {
        char *room = buffer_reserve(answer, 65536);
        ssize_t size = read(fd, room, 65536);
        if (size <= 0)
            break;
        answer->size += (size_t)size;
    }
    return buffer_cstr(answer);
}

/* One request on a connection of its own; `rest` is what follows the request line and Host. */
static const char *ask(struct fixture *fixture, const char *line, const char *rest,
                       struct buffer *answer) {
    CLEANUP(cleanup_fd) int fd = connect_to(fixture);
    buffer_clear(answer);
    write_text(fd, line);
    write_text(fd, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
    write_text(fd, rest);
    return read_all(fd, answer);
}

static void assert_starts(const char *text, const char *start) {
    char head[256];
    snprintf(head, sizeof(head), "%.*s", (int)strlen(start), text);
    assert_string_equal(head, start);
}

static void assert_contains(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void assert_ends(const char *text, const char *end) {
    assert_true(strlen(text) >= strlen(end));
    assert_string_equal(text + strlen(text) - strlen(end), end);
}

/* --- tests ---------------------------------------------------------------------------------- */

static void an_escaped_slash_is_part_of_the_parameter(void **state) {
    struct buffer answer = {0};
    const char *text = ask(*state, "GET /echo/a%2Fb%2Fc?q=x%2Fy", "\r\n", &answer);
    assert_starts(text, "HTTP/1.1 200 OK\r\n");
    assert_contains(text, "\r\nX-Request-Id: ");
    assert_ends(text, "\r\n\r\na/b/c|x/y|");
    text = ask(*state, "GET /echo/a%2", "\r\n", &answer);
    assert_starts(text, "HTTP/1.1 400 ");
    assert_contains(text, "valid percent-escapes");
    text = ask(*state, "GET /echo/a?q=%00", "\r\n", &answer);
    assert_starts(text, "HTTP/1.1 400 ");
    buffer_clear(&answer);
}

static void a_body_arrives_whole_with_length_or_in_chunks(void **state) {
    struct buffer answer = {0};
    const char *text = ask(*state, "POST /echo",
                           "Content-Type: application/json; charset=utf-8\r\n"
                           "Content-Length: 5\r\n\r\nhello",
                           &answer);
    assert_ends(text, "\r\n\r\n|-|hello");
    text = ask(*state, "POST /echo",
               "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", &answer);
    assert_ends(text, "\r\n\r\n|-|hello");
    buffer_clear(&answer);
}

static void a_connection_is_kept_for_the_next_request(void **state) {
    CLEANUP(cleanup_fd) int fd = connect_to(*state);
    struct buffer answer = {0};
    write_text(fd, "GET /quick HTTP/1.1\r\nHost: x\r\n\r\n");
    write_text(fd, "GET /echo/2 HTTP/1.1\r\nHost: x\r\n\r\n");
    write_text(fd, "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n");
    write_text(fd, "GET /echo/4 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const char *text = read_all(fd, &answer);
    assert_contains(text, "\r\n\r\n|-|HTTP/1.1 200");
    assert_contains(text, "\r\n\r\n2|-|HTTP/1.1 404");
    assert_ends(text, "\r\n\r\n4|-|");
    buffer_clear(&answer);
}

static void an_unknown_path_gets_the_error_body(void **state) {
    struct fixture *fixture = *state;
    struct buffer answer = {0};
    const char *text = ask(fixture, "GET /nowhere", "\r\n", &answer);
    assert_starts(text, "HTTP/1.1 404 Not Found\r\n");
    assert_contains(text, "\r\nContent-Type: application/json\r\n");
    assert_contains(text, "\r\n\r\n{\"error\":{\"code\":\"not_found\",\"message\":\"no such path\","
                          "\"request_id\":\"");
    assert_int_equal(atomic_load(&fixture->last_status), 404);
    const char *id = strstr(text, "X-Request-Id: ") + strlen("X-Request-Id: ");
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "\"request_id\":\"%.32s\"}}\n", id);
    assert_ends(text, wanted);
    buffer_clear(&answer);
}

static void a_wrong_method_is_told_the_right_ones(void **state) {
    struct buffer answer = {0};
    const char *text = ask(*state, "DELETE /quick", "\r\n", &answer);
    assert_starts(text, "HTTP/1.1 405 ");
    assert_contains(text, "\r\nAllow: GET, HEAD\r\n");
    text = ask(*state, "GET /echo", "\r\n", &answer);
    assert_contains(text, "\r\nAllow: POST\r\n");
    text = ask(*state, "HEAD /quick", "\r\n", &answer);
    assert_starts(text, "HTTP/1.1 200 ");
    assert_contains(text, "\r\nContent-Length: 3\r\n");
    assert_ends(text, "\r\n\r\n");
    buffer_clear(&answer);
}

static void a_body_of_another_type_is_refused(void **state) {
    struct buffer answer = {0};
    const char *text = ask(*state, "POST /echo",
                           "Content-Type: text/xml\r\nContent-Length: 4\r\n\r\n<a/>", &answer);
    assert_starts(text, "HTTP/1.1 415 ");
    text = ask(*state, "POST /echo", "Content-Type: application/jsonx\r\nContent-Length: 0\r\n\r\n",
               &answer);
    assert_starts(text, "HTTP/1.1 415 ");
    text =
        ask(*state, "POST /echo", "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", &answer);
    assert_starts(text, "HTTP/1.1 415 ");
    buffer_clear(&answer);
}

static void a_body_over_the_limit_is_read_and_then_refused(void **state) {
    struct buffer request = {0};
    struct buffer answer = {0};
    buffer_printf(&request, "Content-Length: %zu\r\n\r\n", BODY_SIZE_MAX + 1);
    for (size_t i = 0; i < BODY_SIZE_MAX + 1; i++)
        buffer_append_byte(&request, 'x');
    const char *text = ask(*state, "POST /echo", buffer_cstr(&request), &answer);
    assert_starts(text, "HTTP/1.1 413 ");
    assert_contains(text, "the body is over the limit of 100000 bytes");
    buffer_clear(&request);
    /* Without a length, the limit is met on the way. */
    buffer_append_cstr(&request, "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 101; i++)
        buffer_printf(&request, "3e8\r\n%01000d\r\n", 0);
    buffer_append_cstr(&request, "0\r\n\r\n");
    text = ask(*state, "POST /echo", buffer_cstr(&request), &answer);
    assert_starts(text, "HTTP/1.1 413 ");
    buffer_clear(&request);
    buffer_clear(&answer);
}

static void who_expects_to_be_asked_is_refused_before_the_body(void **state) {
    struct buffer answer = {0};
    const char *text = ask(*state, "POST /echo",
                           "Expect: 100-continue\r\nContent-Length: 100001\r\n\r\n", &answer);
    assert_starts(text, "HTTP/1.1 413 ");
    buffer_clear(&answer);
}

static void a_short_stream_has_a_length_and_a_long_one_comes_in_chunks(void **state) {
    struct buffer answer = {0};
    const char *text = ask(*state, "GET /short", "\r\n", &answer);
    assert_contains(text, "\r\nContent-Length: 27\r\n");
    assert_ends(text, "\r\n\r\n00000000\n00000001\n00000002\n");
    CLEANUP(cleanup_fd) int fd = connect_to(*state);
    /* HTTP/1.0 knows no chunks: the bytes come as they are, ended by the close. */
    buffer_clear(&answer);
    write_text(fd, "GET /long HTTP/1.0\r\nHost: x\r\n\r\n");
    text = strstr(read_all(fd, &answer), "\r\n\r\n");
    assert_non_null(text);
    text += 4;
    assert_int_equal(strlen(text), 200000 * 9);
    for (unsigned i = 0; i < 200000; i++)
        assert_int_equal(strtoul(text + (size_t)9 * i, NULL, 10), i);
    text = ask(*state, "GET /long", "\r\n", &answer);
    assert_contains(text, "\r\nTransfer-Encoding: chunked\r\n");
    assert_ends(text, "\r\n0\r\n\r\n");
    buffer_clear(&answer);
}

static void a_stream_that_breaks_does_not_end_like_a_whole_one(void **state) {
    struct buffer answer = {0};
    const char *text = ask(*state, "GET /broken", "\r\n", &answer);
    assert_starts(text, "HTTP/1.1 200 ");
    assert_contains(text, "00000001\n");
    assert_null(strstr(text, "\r\n0\r\n\r\n"));
    buffer_clear(&answer);
}

static void a_client_that_leaves_early_does_no_harm(void **state) {
    struct buffer answer = {0};
    for (int i = 0; i < 20; i++) {
        CLEANUP(cleanup_fd) int fd = connect_to(*state);
        write_text(fd, i % 2 ? "GET /long HTTP/1.1\r\nHost: x\r\n\r\n"
                             : "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx");
    }
    assert_ends(ask(*state, "GET /echo/still", "\r\n", &answer), "still|-|");
    buffer_clear(&answer);
}

static void *stop(void *argument) {
    struct fixture *fixture = argument;
    http_server_stop(fixture->server, 60000);
    return NULL;
}

static void stopping_waits_for_the_answer_under_way(void **state) {
    struct fixture *fixture = *state;
    struct buffer answer = {0};
    CLEANUP(cleanup_fd) int fd = connect_to(fixture);
    write_text(fd, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    pthread_mutex_lock(&fixture->mutex);
    while (!fixture->entered)
        pthread_cond_wait(&fixture->changed, &fixture->mutex);
    pthread_mutex_unlock(&fixture->mutex);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop, fixture), 0);
    pthread_mutex_lock(&fixture->mutex);
    fixture->released = true;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->mutex);
    assert_ends(read_all(fd, &answer), "\r\n\r\nwaited");
    pthread_join(thread, NULL);
    buffer_clear(&answer);
}

static void a_taken_port_is_told(void **state) {
    struct fixture *fixture = *state;
    struct http_server *second = NULL;
    struct error error;
    struct http_server_config config = {
        .address = "127.0.0.1",
        .port = http_server_port(fixture->server),
        .observer = observe,
        .pool = fixture->pool,
    };
    assert_int_equal(http_server_open(&config, &second, &error), ERR_UNAVAILABLE);
    assert_contains(error.text, "Address already in use");
    config.address = "localhost";
    assert_int_equal(http_server_open(&config, &second, &error), ERR_INVALID);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_escaped_slash_is_part_of_the_parameter),
        TEST(a_body_arrives_whole_with_length_or_in_chunks),
        TEST(a_connection_is_kept_for_the_next_request),
        TEST(an_unknown_path_gets_the_error_body),
        TEST(a_wrong_method_is_told_the_right_ones),
        TEST(a_body_of_another_type_is_refused),
        TEST(a_body_over_the_limit_is_read_and_then_refused),
        TEST(who_expects_to_be_asked_is_refused_before_the_body),
        TEST(a_short_stream_has_a_length_and_a_long_one_comes_in_chunks),
        TEST(a_stream_that_breaks_does_not_end_like_a_whole_one),
        TEST(a_client_that_leaves_early_does_no_harm),
        TEST(stopping_waits_for_the_answer_under_way),
        TEST(a_taken_port_is_told),
    };
    return cmocka_run_group_tests_name("http_server", tests, NULL, NULL);
}
