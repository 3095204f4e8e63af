/* The gRPC server and client against each other over the loopback. */
#include "rpc/grpc_server.h"

#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/task_pool.h"
#include "rpc/grpc_client.h"
#include "rpc/grpc_service.h"
#include "rpc/grpc_unary.h"
#include "rpc/tls_slot.h"
#include "tests/support/certificates.h"
#include "tests/support/test.h"

#define MESSAGE_SIZE_MAX ((uint64_t)16 << 20)

/* What the methods saw; a test waits on it rather than on time. */
struct tally {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned opened;
    unsigned cancelled;
    unsigned freed;
    unsigned running; /* handlers that wait for `release` */
    bool release;
};

struct fixture {
    struct task_pool *pool;
    struct tally tally;
    struct grpc_unary reverse;
    struct grpc_unary fail;
    struct grpc_unary wait;
    struct grpc_method methods[8];
    struct grpc_service service;
    const struct grpc_service *services[1];
    struct grpc_server *server;
    struct tls_slot *tls;               /* NULL: plain text */
    struct tls_credentials *client_tls; /* NULL: plain text */
    char url[64];
};

static void tally_add(struct tally *tally, unsigned *count, int change) {
    pthread_mutex_lock(&tally->mutex);
    *count += (unsigned)change;
    pthread_cond_broadcast(&tally->changed);
    pthread_mutex_unlock(&tally->mutex);
}

static void tally_wait(struct tally *tally, const unsigned *count, unsigned wanted) {
    pthread_mutex_lock(&tally->mutex);
    while (*count < wanted)
        pthread_cond_wait(&tally->changed, &tally->mutex);
    pthread_mutex_unlock(&tally->mutex);
}

/* --- unary methods ---------------------------------------------------------------------------- */

static void reverse(void *service, struct grpc_call *call, struct span request) {
    (void)service;
    struct buffer response = {.size_max = request.size + 1};
    for (size_t i = request.size; i > 0; i--)
        buffer_append_byte(&response, request.data[i - 1]);
    grpc_call_finish(call, GRPC_OK, NULL, &response);
}

static void refuse(void *service, struct grpc_call *call, struct span request) {
    (void)service;
    (void)request;
    grpc_call_finish(call, GRPC_FAILED_PRECONDITION, "50% of \xc3\xbcmlauts", NULL);
    grpc_call_finish(call, GRPC_OK, "the second finish does not count", NULL);
}

static void wait_for_release(void *service, struct grpc_call *call, struct span request) {
    (void)request;
    struct tally *tally = service;
    pthread_mutex_lock(&tally->mutex);
    tally->running++;
    pthread_cond_broadcast(&tally->changed);
    while (!tally->release)
        pthread_cond_wait(&tally->changed, &tally->mutex);
    pthread_mutex_unlock(&tally->mutex);
    grpc_call_finish(call, GRPC_OK, NULL, NULL);
    tally_add(tally, &tally->running, -1);
}

/* --- streaming methods ------------------------------------------------------------------------ */

struct stream {
    struct fixture *fixture;
    const struct grpc_method *method;
    struct grpc_call *call;
    unsigned messages;
    uint64_t bytes;
    uint64_t sum;
};

static bool is(const struct stream *stream, const char *name) {
    return strcmp(stream->method->name, name) == 0;
}

static void *stream_open(const struct grpc_method *method, struct grpc_call *call) {
    struct stream *stream = calloc(1, sizeof(*stream));
    stream->fixture = method->data;
    stream->method = method;
    stream->call = call;
    tally_add(&stream->fixture->tally, &stream->fixture->tally.opened, 1);
    return stream;
}

static void stream_message_begin(void *state, struct grpc_call *call, uint64_t size) {
    (void)size;
    struct stream *stream = state;
    stream->messages++;
    if (is(stream, "Refuse"))
        grpc_call_finish(call, GRPC_INVALID_ARGUMENT, "not that", NULL);
}

static void stream_message_bytes(void *state, struct grpc_call *call, struct span bytes) {
    (void)call;
    struct stream *stream = state;
    stream->bytes += bytes.size;
    for (size_t i = 0; i < bytes.size; i++)
        stream->sum += (unsigned char)bytes.data[i];
}

static void resume(void *state, struct grpc_call *call) {
    (void)state;
    grpc_call_resume(call);
}

static void post_resume(void *argument) {
    struct grpc_call *call = argument;
    grpc_call_post(call, resume);
    grpc_call_unref(call);
}

static void stream_message_end(void *state, struct grpc_call *call) {
    struct stream *stream = state;
    struct error error;
    if (!is(stream, "Pause"))
        return;
    grpc_call_pause(call);
    int submitted =
        task_pool_submit(stream->fixture->pool, post_resume, grpc_call_ref(call), &error);
    assert_int_equal(submitted, ERR_OK);
}

static void stream_request_end(void *state, struct grpc_call *call) {
    struct stream *stream = state;
    if (is(stream, "Hang"))
        return;
    struct buffer response = {.size_max = 200};
    buffer_printf(&response, "%u messages, %llu bytes, sum %llu", stream->messages,
                  (unsigned long long)stream->bytes, (unsigned long long)stream->sum);
    grpc_call_finish(call, GRPC_OK, NULL, &response);
}

static void stream_cancelled(void *state, struct grpc_call *call) {
    struct stream *stream = state;
    assert_true(grpc_call_is_over(call));
    tally_add(&stream->fixture->tally, &stream->fixture->tally.cancelled, 1);
}

static void stream_free(void *state) {
    struct stream *stream = state;
    struct tally *tally = &stream->fixture->tally;
    free(stream);
    tally_add(tally, &tally->freed, 1);
}

static const struct grpc_method_functions stream_functions = {
    .open = stream_open,
    .message_begin = stream_message_begin,
    .message_bytes = stream_message_bytes,
    .message_end = stream_message_end,
    .request_end = stream_request_end,
    .cancelled = stream_cancelled,
    .free = stream_free,
};

/* --- fixture ---------------------------------------------------------------------------------- */

static void make_service(struct fixture *fixture) {
    static const char *const streams[] = {"Count", "Refuse", "Pause", "Hang"};
    size_t count = 0;
    fixture->reverse = (struct grpc_unary){reverse, NULL, fixture->pool};
    fixture->fail = (struct grpc_unary){refuse, NULL, fixture->pool};
    fixture->wait = (struct grpc_unary){wait_for_release, &fixture->tally, fixture->pool};
    fixture->methods[count++] = (struct grpc_method){
        .name = "Reverse", .functions = &grpc_unary_functions, .data = &fixture->reverse};
    fixture->methods[count++] = (struct grpc_method){
        .name = "Fail", .functions = &grpc_unary_functions, .data = &fixture->fail};
    fixture->methods[count++] = (struct grpc_method){
        .name = "Wait", .functions = &grpc_unary_functions, .data = &fixture->wait};
    fixture->methods[count++] = (struct grpc_method){.name = "Small",
                                                     .functions = &grpc_unary_functions,
                                                     .data = &fixture->reverse,
                                                     .message_size_max = 100};
    for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
        fixture->methods[count++] = (struct grpc_method){
            .name = streams[i], .functions = &stream_functions, .data = fixture};
    fixture->service = (struct grpc_service){"test.Echo", fixture->methods, count};
    fixture->services[0] = &fixture->service;
}

static int setup_with(void **state, const struct grpc_server_config *config) {
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct error error;
    pthread_mutex_init(&fixture->tally.mutex, NULL);
    pthread_cond_init(&fixture->tally.changed, NULL);
    assert_int_equal(task_pool_new(2, 64, &fixture->pool, &error), ERR_OK);
    make_service(fixture);
    assert_int_equal(grpc_server_open(config, fixture->services, 1, &fixture->server, &error),
                     ERR_OK);
    fixture->tls = config->tls;
    snprintf(fixture->url, sizeof(fixture->url), "%s:%u",
             fixture->tls ? "https://localhost" : "http://127.0.0.1",
             grpc_server_port(fixture->server));
    *state = fixture;
    return 0;
}

static int setup(void **state) {
    const struct grpc_server_config config = {
        .address = "127.0.0.1", .thread_count = 2, .message_size_max = MESSAGE_SIZE_MAX};
    return setup_with(state, &config);
}

/* A server's credentials for localhost, and what a client trusts for them, by the clock's reading
 * others each time. */
static void make_credentials(struct tls_credentials **ret_server,
                             struct tls_credentials **ret_client) {
    struct scratch scratch;
    struct certificate server;
    struct error error;
    const struct certificate_wish wish = {
        .subject = "server", .dns = "localhost", .purpose = GNUTLS_KP_TLS_WWW_SERVER};
    scratch_make(&scratch);
    certificate_make(&wish, &server);
    certificate_write(&server, &scratch, "server.pem", "server.key");
    certificate_end(&server);
    const struct tls_files files = {.certificate = scratch_path(&scratch, "server.pem"),
                                    .key = scratch_path(&scratch, "server.key")};
    const struct tls_files trusted = {.authorities = files.certificate};
    assert_int_equal(tls_credentials_load_server(&files, ret_server, &error), ERR_OK);
    assert_int_equal(tls_credentials_load_client(&trusted, false, ret_client, &error), ERR_OK);
    scratch_remove(&scratch);
}

static int setup_with_tls(void **state) {
    static struct tls_slot slot;
    struct tls_credentials *server = NULL;
    struct tls_credentials *client = NULL;
    make_credentials(&server, &client);
    tls_slot_init(&slot, server);
    const struct grpc_server_config config = {.address = "127.0.0.1",
                                              .thread_count = 2,
                                              .message_size_max = MESSAGE_SIZE_MAX,
                                              .tls = &slot};
    int result = setup_with(state, &config);
    struct fixture *fixture = *state;
    fixture->client_tls = client;
    return result;
}

static int setup_for_busy_calls(void **state) {
    const struct grpc_server_config config = {.address = "127.0.0.1", .call_idle_ms = 1};
    return setup_with(state, &config);
}

static int setup_for_busy_connections(void **state) {
    const struct grpc_server_config config = {.address = "127.0.0.1", .connection_idle_ms = 1};
    return setup_with(state, &config);
}

static int setup_for_one(void **state) {
    const struct grpc_server_config config = {.address = "127.0.0.1", .connection_count_max = 1};
    return setup_with(state, &config);
}

static int teardown(void **state) {
    struct fixture *fixture = *state;
    grpc_server_free(fixture->server);
    task_pool_free(fixture->pool);
    assert_int_equal(fixture->tally.opened, fixture->tally.freed);
    tls_credentials_unref(fixture->client_tls);
    if (fixture->tls)
        tls_slot_clear(fixture->tls);
    pthread_cond_destroy(&fixture->tally.changed);
    pthread_mutex_destroy(&fixture->tally.mutex);
    free(fixture);
    return 0;
}

static struct grpc_client *connect_client(const struct fixture *fixture) {
    const struct grpc_client_config config = {
        .url = fixture->url, .tls = fixture->client_tls, .message_size_max = MESSAGE_SIZE_MAX};
    struct grpc_client *client = NULL;
    struct error error;
    assert_int_equal(grpc_client_open(&config, &client, &error), ERR_OK);
    return client;
}

static void expect_unary(struct grpc_client *client, const char *path, struct span request,
                         enum grpc_status status, const char *answer) {
    struct grpc_reply reply;
    struct error error;
    enum err err = grpc_client_unary(client, path, request, 0, &reply, &error);
    if (err != ERR_OK)
        fail_msg("%s: %s", path, error.text);
    assert_int_equal(reply.status, status);
    assert_string_equal(status == GRPC_OK ? buffer_cstr(&reply.message) : reply.text, answer);
    grpc_reply_clear(&reply);
}

static void expect_echo_works(struct grpc_client *client) {
    expect_unary(client, "/test.Echo/Reverse", span_cstr("abc"), GRPC_OK, "cba");
}

/* --- tests ------------------------------------------------------------------------------------ */

static void a_unary_call_gets_its_answer(void **state) {
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(*state);
    expect_echo_works(client);
    expect_unary(client, "/test.Echo/Reverse", (struct span){NULL, 0}, GRPC_OK, "");
    expect_echo_works(client);
}

static void messages_larger_than_any_window_go_both_ways(void **state) {
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(*state);
    size_t size = 9 << 20;
    CLEANUP(cleanup_free) char *request = malloc(size);
    for (size_t i = 0; i < size; i++)
        request[i] = (char)(i * 2654435761u >> 13);
    struct grpc_reply reply;
    struct error error;
    assert_int_equal(
        grpc_client_unary(client, "/test.Echo/Reverse", span_of(request, size), 0, &reply, &error),
        ERR_OK);
    assert_int_equal(reply.message.size, size);
    size_t different = 0;
    for (size_t i = 0; i < size; i++)
        different += reply.message.data[i] != request[size - 1 - i];
    assert_int_equal(different, 0);
    grpc_reply_clear(&reply);
}

static void a_failure_keeps_its_status_and_text(void **state) {
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(*state);
    expect_unary(client, "/test.Echo/Fail", span_cstr("x"), GRPC_FAILED_PRECONDITION,
                 "50% of \xc3\xbcmlauts");
    expect_echo_works(client);
}

static void an_unknown_method_keeps_the_connection(void **state) {
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(*state);
    static const char *const paths[] = {
        "/test.Echo/Nope",    "/test.Other/Reverse", "/test.Echo", "/test.Echo/Reverse/", "/",
        "/test.EchoX/Reverse"};
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        expect_unary(client, paths[i], span_cstr("x"), GRPC_UNIMPLEMENTED,
                     "unknown service or method");
    expect_echo_works(client);
}

static void a_message_over_its_methods_limit_is_refused(void **state) {
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(*state);
    char request[101] = "";
    expect_unary(client, "/test.Echo/Small", span_of(request, sizeof(request)),
                 GRPC_RESOURCE_EXHAUSTED, "message of 101 bytes: at most 100 are accepted");
    expect_unary(client, "/test.Echo/Small", span_cstr("ok"), GRPC_OK, "ko");
}

static struct grpc_client_call *open_stream(struct grpc_client *client, const char *path) {
    struct grpc_client_call *call = NULL;
    struct error error;
    assert_int_equal(grpc_client_call_open(client, path, 0, &call, &error), ERR_OK);
    return call;
}

static enum err send_bytes(struct grpc_client_call *call, size_t size) {
    CLEANUP(cleanup_free) char *bytes = malloc(size + 1);
    memset(bytes, 1, size + 1);
    const struct span parts[] = {span_of(bytes, size / 2), span_of(bytes, size - size / 2)};
    struct error error;
    return grpc_client_call_send(call, parts, 2, &error);
}

static void expect_reply(struct grpc_client_call *call, enum grpc_status status,
                         const char *answer) {
    struct grpc_reply reply;
    struct error error;
    enum err err = grpc_client_call_finish(call, &reply, &error);
    if (err != ERR_OK)
        fail_msg("%s", error.text);
    assert_int_equal(reply.status, status);
    assert_string_equal(status == GRPC_OK ? buffer_cstr(&reply.message) : reply.text, answer);
    grpc_reply_clear(&reply);
    grpc_client_call_free(call);
}

static void streamed_messages_arrive_whole_and_in_order(void **state) {
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(*state);
    struct grpc_client_call *call = open_stream(client, "/test.Echo/Count");
    assert_int_equal(send_bytes(call, 0), ERR_OK);
    assert_int_equal(send_bytes(call, 1), ERR_OK);
    assert_int_equal(send_bytes(call, 8 << 20), ERR_OK);
    assert_int_equal(send_bytes(call, 3), ERR_OK);
    expect_reply(call, GRPC_OK, "4 messages, 8388612 bytes, sum 8388612");
    expect_reply(open_stream(client, "/test.Echo/Count"), GRPC_OK, "0 messages, 0 bytes, sum 0");
}

static void a_method_that_pauses_still_gets_everything_once(void **state) {
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(*state);
    struct grpc_client_call *call = open_stream(client, "/test.Echo/Pause");
    for (int i = 0; i < 200; i++)
        assert_int_equal(send_bytes(call, 50000), ERR_OK);
    expect_reply(call, GRPC_OK, "200 messages, 10000000 bytes, sum 10000000");
}

static void an_early_refusal_is_seen_and_the_connection_stays(void **state) {
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(*state);
    for (int i = 0; i < 5; i++) {
        struct grpc_client_call *call = open_stream(client, "/test.Echo/Refuse");
        enum err err = ERR_OK;
        for (int j = 0; j < 100 && err == ERR_OK; j++)
            err = send_bytes(call, 1 << 20);
        assert_int_equal(err, ERR_STATE);
        expect_reply(call, GRPC_INVALID_ARGUMENT, "not that");
    }
    expect_echo_works(client);
}

static void a_cancelled_call_is_told_once_and_freed(void **state) {
    struct fixture *fixture = *state;
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(fixture);
    struct grpc_client_call *call = open_stream(client, "/test.Echo/Hang");
    assert_int_equal(send_bytes(call, 10), ERR_OK);
    tally_wait(&fixture->tally, &fixture->tally.opened, 1);
    grpc_client_call_free(call);
    expect_echo_works(client);
    tally_wait(&fixture->tally, &fixture->tally.freed, 1);
    assert_int_equal(fixture->tally.cancelled, 1);
}

static void a_broken_connection_cancels_its_calls(void **state) {
    struct fixture *fixture = *state;
    struct grpc_client *client = connect_client(fixture);
    struct grpc_client_call *call = open_stream(client, "/test.Echo/Pause");
    assert_int_equal(send_bytes(call, 10), ERR_OK);
    tally_wait(&fixture->tally, &fixture->tally.opened, 1);
    grpc_client_call_free(call);
    grpc_client_free(client);
    tally_wait(&fixture->tally, &fixture->tally.freed, 1);
    assert_int_equal(fixture->tally.cancelled, 1);
}

/* Closes this process's ends of connections to the server, but not the server's. */
static void close_client_ends(uint16_t server_port) {
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_in peer = {.sin_port = 0};
        socklen_t size = sizeof(peer);
        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
            peer.sin_port == htons(server_port))
            close(fd);
    }
}

/* Workers are forked while connections are open, and share them until they exec. */
static void a_connection_that_a_forked_process_shares_is_forgotten(void **state) {
    struct fixture *fixture = *state;
    struct grpc_client *client = connect_client(fixture);
    expect_echo_works(client);
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close_client_ends(grpc_server_port(fixture->server));
        close(ready[1]);
        close(ready[0]);
        pause();
        _exit(0);
    }
    close(ready[1]);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    grpc_client_free(client);
    for (int i = 0; i < 20; i++) {
        CLEANUP(cleanup_grpc_client) struct grpc_client *other = connect_client(*state);
        expect_echo_works(other);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void work_that_outlives_its_connection_is_harmless(void **state) {
    struct fixture *fixture = *state;
    struct grpc_client *client = connect_client(fixture);
    struct grpc_client_call *call = open_stream(client, "/test.Echo/Wait");
    struct error error;
    const struct span part = span_cstr("x");
    assert_int_equal(grpc_client_call_send(call, &part, 1, &error), ERR_OK);
    /* The deadline ends the client's waiting while the handler still runs. */
    struct grpc_reply reply;
    struct grpc_client *second = connect_client(fixture);
    enum err err = grpc_client_unary(second, "/test.Echo/Wait", part, 50, &reply, &error);
    if (err == ERR_OK)
        assert_int_equal(reply.status, GRPC_DEADLINE_EXCEEDED);
    else
        assert_int_equal(err, ERR_TIMEOUT);
    grpc_client_call_free(call);
    grpc_client_free(client);
    grpc_client_free(second);
    pthread_mutex_lock(&fixture->tally.mutex);
    fixture->tally.release = true;
    pthread_cond_broadcast(&fixture->tally.changed);
    pthread_mutex_unlock(&fixture->tally.mutex);
}

static void a_passed_deadline_cancels_the_method(void **state) {
    struct fixture *fixture = *state;
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(fixture);
    struct grpc_client_call *call = NULL;
    struct grpc_reply reply;
    struct error error;
    assert_int_equal(grpc_client_call_open(client, "/test.Echo/Hang", 50, &call, &error), ERR_OK);
    enum err err = grpc_client_call_finish(call, &reply, &error);
    if (err == ERR_OK)
        assert_int_equal(reply.status, GRPC_DEADLINE_EXCEEDED);
    else
        assert_int_equal(err, ERR_TIMEOUT);
    tally_wait(&fixture->tally, &fixture->tally.cancelled, 1);
    grpc_client_call_free(call);
}

static void *stop_server(void *argument) {
    struct fixture *fixture = argument;
    grpc_server_stop(fixture->server, 60000);
    return NULL;
}

static void stopping_lets_open_calls_end(void **state) {
    struct fixture *fixture = *state;
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(fixture);
    struct grpc_client_call *call = open_stream(client, "/test.Echo/Count");
    assert_int_equal(send_bytes(call, 10), ERR_OK);
    tally_wait(&fixture->tally, &fixture->tally.opened, 1);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_server, fixture), 0);
    assert_int_equal(send_bytes(call, 10), ERR_OK);
    expect_reply(call, GRPC_OK, "2 messages, 20 bytes, sum 20");
    pthread_join(thread, NULL);
}

static void stopping_without_grace_cancels_open_calls(void **state) {
    struct fixture *fixture = *state;
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(fixture);
    struct grpc_client_call *call = open_stream(client, "/test.Echo/Hang");
    assert_int_equal(send_bytes(call, 10), ERR_OK);
    tally_wait(&fixture->tally, &fixture->tally.opened, 1);
    grpc_server_stop(fixture->server, 0);
    assert_int_equal(fixture->tally.cancelled, 1);
    struct grpc_reply reply;
    struct error error;
    assert_int_equal(grpc_client_call_finish(call, &reply, &error), ERR_UNAVAILABLE);
    grpc_client_call_free(call);
}

static void *call_often(void *argument) {
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(argument);
    for (int i = 0; i < 200; i++)
        expect_echo_works(client);
    return NULL;
}

static void many_clients_are_served_at_once(void **state) {
    pthread_t threads[8];
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, *state), 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
}

static void a_client_that_stops_sending_loses_its_call(void **state) {
    struct fixture *fixture = *state;
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(fixture);
    struct grpc_client_call *call = open_stream(client, "/test.Echo/Count");
    assert_int_equal(send_bytes(call, 10), ERR_OK);
    tally_wait(&fixture->tally, &fixture->tally.cancelled, 1);
    expect_reply(call, GRPC_DEADLINE_EXCEEDED, "the client stopped sending");
}

static int connect_raw(const struct fixture *fixture) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(grpc_server_port(fixture->server)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void expect_closed(int fd) {
    char bytes[256];
    ssize_t size = 1;
    while (size > 0)
        size = read(fd, bytes, sizeof(bytes));
    assert_int_equal(size, 0);
    close(fd);
}

static void a_connection_without_calls_is_closed_in_time(void **state) {
    /* The preface and an empty SETTINGS frame, whose last byte is the literal's NUL. */
    static const char greeting[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
    int fd = connect_raw(*state);
    assert_int_equal(write(fd, greeting, sizeof(greeting)), sizeof(greeting));
    expect_closed(fd);
}

static void connections_over_the_limit_are_closed_at_once(void **state) {
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(*state);
    expect_echo_works(client);
    expect_closed(connect_raw(*state));
    expect_echo_works(client);
}

static void urls_that_cannot_be_used_are_refused_clearly(void **state) {
    (void)state;
    struct error error;
    struct grpc_client *client = NULL;
    struct grpc_client_config config = {.url = NULL};
    static const char *const urls[] = {
        "",           "localhost:1", "http://",     "http://:80", "http://a:x",  "http://a:99999",
        "http://a/b", "http://u@a",  "http://[::1", "https://",   "https://a/b", "ftp://a"};
    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        config.url = urls[i];
        assert_int_equal(grpc_client_open(&config, &client, &error), ERR_INVALID);
    }
}

static void a_connection_keeps_the_certificate_that_it_began_with(void **state) {
    struct fixture *fixture = *state;
    CLEANUP(cleanup_grpc_client) struct grpc_client *before = connect_client(fixture);
    struct tls_credentials *server = NULL;
    struct tls_credentials *client = NULL;
    struct grpc_client *refused = NULL;
    struct error error;
    make_credentials(&server, &client);
    tls_slot_set(fixture->tls, server);
    expect_echo_works(before);
    /* Who trusts the old one only is not served any more, who trusts the new one is. */
    const struct grpc_client_config config = {.url = fixture->url, .tls = fixture->client_tls};
    assert_int_equal(grpc_client_open(&config, &refused, &error), ERR_DENIED);
    tls_credentials_unref(fixture->client_tls);
    fixture->client_tls = client;
    CLEANUP(cleanup_grpc_client) struct grpc_client *after = connect_client(fixture);
    expect_echo_works(after);
    expect_echo_works(before);
}

static void a_client_that_says_nothing_holds_up_nobody(void **state) {
    struct fixture *fixture = *state;
    int silent[64];
    for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
        silent[i] = connect_raw(fixture);
        /* The beginning of a greeting in TLS. */
        assert_int_equal(write(silent[i], "\x16\x03\x01\x02", 4), 4);
    }
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = connect_client(fixture);
    expect_echo_works(client);
    /* Nor does it when the server stops. */
    grpc_server_stop(fixture->server, 60000);
    for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
        char byte;
        assert_true(read(silent[i], &byte, 1) <= 0);
        close(silent[i]);
    }
}

static void headers_that_cannot_be_sent_are_refused(void **state) {
    (void)state;
    static const struct grpc_header bad[] = {
        {"", "v"},     {"Project", "v"}, {"a b", "v"},          {":path", "v"},
        {"te", "v"},   {"host", "v"},    {"grpc-timeout", "v"}, {"key-bin", ""},
        {"k", "a\nb"}, {"k", "\xe9"},    {"k", " first"},       {"k", "last "},
    };
    struct error error;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(grpc_headers_check(&bad[i], 1, &error), ERR_INVALID);
    static const struct grpc_header good[] = {{"projectid", "a b"}, {"x-0_.", ""}};
    assert_int_equal(grpc_headers_check(good, ARRAY_SIZE(good), &error), ERR_OK);
    static const struct grpc_header many[GRPC_HEADER_COUNT_MAX + 1];
    assert_int_equal(grpc_headers_check(many, ARRAY_SIZE(many), &error), ERR_INVALID);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define WITH_TLS(test)                                                                             \
    {                                                                                              \
        .name = #test "_over_tls", .test_func = test, .setup_func = setup_with_tls,                \
        .teardown_func = teardown                                                                  \
    }

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_SERVER(a_unary_call_gets_its_answer),
        WITH_SERVER(messages_larger_than_any_window_go_both_ways),
        WITH_SERVER(a_failure_keeps_its_status_and_text),
        WITH_SERVER(an_unknown_method_keeps_the_connection),
        WITH_SERVER(a_message_over_its_methods_limit_is_refused),
        WITH_SERVER(streamed_messages_arrive_whole_and_in_order),
        WITH_SERVER(a_method_that_pauses_still_gets_everything_once),
        WITH_SERVER(an_early_refusal_is_seen_and_the_connection_stays),
        WITH_SERVER(a_cancelled_call_is_told_once_and_freed),
        WITH_SERVER(a_broken_connection_cancels_its_calls),
        WITH_SERVER(a_connection_that_a_forked_process_shares_is_forgotten),
        WITH_SERVER(work_that_outlives_its_connection_is_harmless),
        WITH_SERVER(a_passed_deadline_cancels_the_method),
        WITH_SERVER(stopping_lets_open_calls_end),
        WITH_SERVER(stopping_without_grace_cancels_open_calls),
        WITH_SERVER(many_clients_are_served_at_once),
        cmocka_unit_test_setup_teardown(a_client_that_stops_sending_loses_its_call,
                                        setup_for_busy_calls, teardown),
        cmocka_unit_test_setup_teardown(a_connection_without_calls_is_closed_in_time,
                                        setup_for_busy_connections, teardown),
        cmocka_unit_test_setup_teardown(connections_over_the_limit_are_closed_at_once,
                                        setup_for_one, teardown),
        WITH_TLS(a_unary_call_gets_its_answer),
        WITH_TLS(messages_larger_than_any_window_go_both_ways),
        WITH_TLS(streamed_messages_arrive_whole_and_in_order),
        WITH_TLS(a_method_that_pauses_still_gets_everything_once),
        WITH_TLS(an_early_refusal_is_seen_and_the_connection_stays),
        WITH_TLS(a_cancelled_call_is_told_once_and_freed),
        WITH_TLS(a_broken_connection_cancels_its_calls),
        WITH_TLS(a_passed_deadline_cancels_the_method),
        WITH_TLS(stopping_lets_open_calls_end),
        WITH_TLS(many_clients_are_served_at_once),
        WITH_TLS(a_connection_keeps_the_certificate_that_it_began_with),
        WITH_TLS(a_client_that_says_nothing_holds_up_nobody),
        cmocka_unit_test(headers_that_cannot_be_sent_are_refused),
        cmocka_unit_test(urls_that_cannot_be_used_are_refused_clearly),
    };
    return cmocka_run_group_tests_name("grpc_server", tests, NULL, NULL);
}
