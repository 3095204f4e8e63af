#include "rpc/grpc_client.h"

#include <assert.h>
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "rpc/grpc_dial.h"
#include "rpc/grpc_frames.h"
#include "rpc/grpc_text.h"
#include "rpc/grpc_transport.h"

#define CONNECT_TIMEOUT_MS 10000
#define ANSWER_SIZE_MAX ((uint64_t)4 << 20)
#define PARTS_MAX 4
#define REQUEST_HEADERS_MAX (8 + GRPC_HEADER_COUNT_MAX)
#define READ_SIZE 65536
#define OUT_SIZE_MAX 65536
#define LAST_READS_MAX 64

struct grpc_client {
    struct grpc_target target;
    char *authorization;
    const struct grpc_header *headers;
    size_t header_count;
    uint64_t message_size_max;
    struct grpc_transport *transport;
    nghttp2_session *session;
    bool greeted;                  /* the server's SETTINGS have come: it speaks HTTP/2 */
    struct grpc_client_call *call; /* the open one */
    struct buffer out;             /* taken from the session, not yet by the socket */
    size_t out_offset;
};

struct grpc_client_call {
    struct grpc_client *client;
    int32_t stream_id;
    int64_t deadline_ms;

    struct span parts[PARTS_MAX]; /* of the message that is being sent */
    size_t part_count;
    size_t part;
    size_t part_offset;
    bool request_ended;

    unsigned http_status;
    bool has_status;
    enum grpc_status status;
    char text[sizeof(((struct grpc_reply *)0)->text)];
    struct grpc_frames frames;
    struct buffer message;
    bool has_message;
    bool closed;
    uint32_t reset_code;
    struct error failure; /* of the answer's framing; code ERR_OK while there is none */
};

static int64_t min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* --- what the session tells us ---------------------------------------------------------------- */

static unsigned parse_number(struct span text, unsigned otherwise) {
    unsigned value = 0;
    if (text.size == 0 || text.size > 3)
        return otherwise;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return otherwise;
        value = value * 10 + (unsigned)(text.data[i] - '0');
    }
    return value;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *user_data) {
    (void)flags;
    (void)user_data;
    struct grpc_client_call *call =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!call)
        return 0;
    struct span key = span_of(name, name_size);
    struct span text = span_of(value, value_size);
    if (span_equal_cstr(key, ":status")) {
        call->http_status = parse_number(text, 0);
    } else if (span_equal_cstr(key, "grpc-status")) {
        unsigned status = parse_number(text, GRPC_UNKNOWN);
        call->has_status = true;
        call->status = status < GRPC_STATUS_COUNT ? (enum grpc_status)status : GRPC_UNKNOWN;
    } else if (span_equal_cstr(key, "grpc-message")) {
        grpc_message_decode(text, call->text, sizeof(call->text));
    }
    return 0;
}

static enum err receive(struct grpc_client_call *call, struct span bytes, struct error *error) {
    enum grpc_frames_event event = GRPC_FRAMES_BEGIN;
    while (event != GRPC_FRAMES_MORE) {
        struct span piece = {NULL, 0};
        enum err err = grpc_frames_next(&call->frames, &bytes, &event, &piece, error);
        if (err != ERR_OK)
            return err;
        if (event == GRPC_FRAMES_BEGIN && call->has_message)
            return error_set(error, ERR_MALFORMED, "more than one message");
        if (event == GRPC_FRAMES_BEGIN)
            call->has_message = true;
        if (event == GRPC_FRAMES_BYTES)
            buffer_append(&call->message, piece.data, piece.size);
        if (buffer_failed(&call->message))
            return error_set(error, ERR_NO_MEMORY, "no memory for the message");
    }
    return ERR_OK;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data,
                   size_t size, void *user_data) {
    (void)flags;
    (void)user_data;
    struct grpc_client_call *call = nghttp2_session_get_stream_user_data(session, stream_id);
    if (!call || call->http_status != 200 || call->failure.code != ERR_OK)
        return 0;
    if (receive(call, span_of(data, size), &call->failure) != ERR_OK)
        error_prefix(&call->failure, "the server's answer");
    return 0;
}

static int on_frame_received(nghttp2_session *session, const nghttp2_frame *frame,
                             void *user_data) {
    (void)session;
    struct grpc_client *client = user_data;
    if (frame->hd.type == NGHTTP2_SETTINGS)
        client->greeted = true;
    return 0;
}

static int on_stream_closed(nghttp2_session *session, int32_t stream_id, uint32_t error_code,
                            void *user_data) {
    (void)user_data;
    struct grpc_client_call *call = nghttp2_session_get_stream_user_data(session, stream_id);
    if (call) {
        call->closed = true;
        call->reset_code = error_code;
    }
    return 0;
}

static ssize_t read_request(nghttp2_session *session, int32_t stream_id, uint8_t *bytes,
                            size_t size, uint32_t *data_flags, nghttp2_data_source *source,
                            void *user_data) {
    (void)session;
    (void)stream_id;
    (void)user_data;
    struct grpc_client_call *call = source->ptr;
    size_t used = 0;
    while (used < size && call->part < call->part_count) {
        struct span part = call->parts[call->part];
        size_t left = part.size - call->part_offset;
        size_t piece = left < size - used ? left : size - used;
        if (piece > 0)
            memcpy(bytes + used, part.data + call->part_offset, piece);
        used += piece;
        call->part_offset += piece;
        if (call->part_offset == part.size) {
            call->part++;
            call->part_offset = 0;
        }
    }
    if (call->request_ended && call->part == call->part_count)
        *data_flags |= NGHTTP2_DATA_FLAG_EOF;
    else if (used == 0)
        return NGHTTP2_ERR_DEFERRED;
    return (ssize_t)used;
}

/* --- the connection --------------------------------------------------------------------------- */

/* One that never said a word of HTTP/2 may be another port. */
static enum err say_broken(const struct grpc_client *client, enum transport_result result,
                           struct error *error) {
    if (result == TRANSPORT_FAILED && error->code != ERR_UNAVAILABLE)
        return error->code;
    if (!client->greeted)
        return error_set(error, ERR_UNAVAILABLE, "the server closed the connection unheard; %s",
                         client->target.is_secure
                             ? "does it want a certificate?"
                             : "is this its gRPC address? does it want https?");
    if (result == TRANSPORT_ENDED)
        return error_set(error, ERR_UNAVAILABLE, "the server closed the connection");
    return error->code;
}

/* Up to OUT_SIZE_MAX and one frame. */
static enum err take_output(struct grpc_client *client, struct error *error) {
    while (client->out.size < OUT_SIZE_MAX) {
        const uint8_t *bytes = NULL;
        ssize_t size = nghttp2_session_mem_send(client->session, &bytes);
        if (size < 0)
            return error_set(error, ERR_UNAVAILABLE, "%s", nghttp2_strerror((int)size));
        if (size == 0)
            return ERR_OK;
        buffer_append(&client->out, bytes, (size_t)size);
        if (buffer_failed(&client->out))
            return error_set(error, ERR_NO_MEMORY, "no memory to send");
    }
    return ERR_OK;
}

static enum err send_some(struct grpc_client *client, struct error *error) {
    struct buffer *out = &client->out;
    for (;;) {
        enum err err = out->size == 0 ? take_output(client, error) : ERR_OK;
        if (err != ERR_OK || out->size == 0)
            return err;
        size_t sent = 0;
        enum transport_result result =
            grpc_transport_send(client->transport, out->data + client->out_offset,
                                out->size - client->out_offset, &sent, error);
        if (result == TRANSPORT_BLOCKED)
            return ERR_OK;
        if (result != TRANSPORT_DONE)
            return say_broken(client, result, error);
        client->out_offset += sent;
        if (client->out_offset == out->size) {
            out->size = 0;
            client->out_offset = 0;
        }
    }
}

static enum err receive_some(struct grpc_client *client, struct error *error) {
    uint8_t bytes[READ_SIZE];
    size_t size = 0;
    enum transport_result result =
        grpc_transport_receive(client->transport, bytes, sizeof(bytes), &size, error);
    if (result == TRANSPORT_BLOCKED)
        return ERR_OK;
    if (result != TRANSPORT_DONE)
        return say_broken(client, result, error);
    ssize_t used = nghttp2_session_mem_recv(client->session, bytes, size);
    if (used < 0)
        return error_set(error, ERR_MALFORMED, "the server does not speak HTTP/2: %s",
                         nghttp2_strerror((int)used));
    return ERR_OK;
}

/* After the connection broke while sending: the server may have said why before it closed. */
static enum err hear_out(struct grpc_client *client, struct error *error) {
    struct error last;
    enum err err = ERR_OK;
    for (int i = 0; i < LAST_READS_MAX && err == ERR_OK; i++)
        err = receive_some(client, &last);
    if (err != ERR_OK && err != ERR_UNAVAILABLE)
        *error = last;
    return error->code;
}

static bool message_sent(const struct grpc_client_call *call) {
    return call->part == call->part_count || call->closed || call->has_status;
}

static bool answered(const struct grpc_client_call *call) {
    return call->closed || call->failure.code != ERR_OK;
}

/* Moves bytes both ways until the condition holds. */
static enum err run_until(struct grpc_client_call *call,
                          bool (*holds)(const struct grpc_client_call *call), struct error *error) {
    struct grpc_client *client = call->client;
    for (;;) {
        enum err err = send_some(client, error);
        if (err == ERR_UNAVAILABLE)
            err = hear_out(client, error);
        if (err != ERR_OK)
            return answered(call) ? ERR_OK : err;
        if (holds(call))
            return ERR_OK;
        int64_t left_ms = call->deadline_ms - clock_mono_ms();
        if (left_ms <= 0)
            return error_set(error, ERR_TIMEOUT, "no answer in time");
        bool pending = grpc_transport_pending(client->transport);
        struct pollfd ready = {.fd = grpc_transport_fd(client->transport),
                               .events = client->out.size > 0 ? POLLIN | POLLOUT : POLLIN};
        int count = poll(&ready, 1, pending ? 0 : (int)min_i64(left_ms, INT32_MAX));
        if (count < 0 && errno != EINTR)
            return error_set_errno(error, ERR_IO, errno, "cannot wait for the connection");
        if (pending || (count > 0 && (ready.revents & ~POLLOUT)))
            err = receive_some(client, error);
        /* An answer that came just before the connection ended still counts. */
        if (err != ERR_OK)
            return answered(call) ? ERR_OK : err;
    }
}

static enum err new_session(struct grpc_client *client) {
    nghttp2_session_callbacks *callbacks = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return ERR_NO_MEMORY;
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    /* RFC 9113 calls a value with a space at an end malformed; gRPC servers send such texts. */
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_received);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_closed);
    int failure = nghttp2_session_client_new(&client->session, callbacks, client);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
    if (failure == 0)
        failure = nghttp2_submit_settings(client->session, NGHTTP2_FLAG_NONE, settings,
                                          ARRAY_SIZE(settings));
    return failure == 0 ? ERR_OK : ERR_NO_MEMORY;
}

enum err grpc_client_open(const struct grpc_client_config *config, struct grpc_client **ret_client,
                          struct error *error) {
    CLEANUP(cleanup_grpc_client) struct grpc_client *client = calloc(1, sizeof(*client));
    if (!client)
        return error_set(error, ERR_NO_MEMORY, "no memory for a gRPC client");
    client->message_size_max = config->message_size_max ? config->message_size_max
                                                        : ANSWER_SIZE_MAX;
    if (config->authorization && !(client->authorization = strdup(config->authorization)))
        return error_set(error, ERR_NO_MEMORY, "no memory for a gRPC client");
    client->headers = config->headers;
    client->header_count = config->header_count;
    enum err err = grpc_headers_check(config->headers, config->header_count, error);
    if (err == ERR_OK)
        err = grpc_target_parse(config->url, &client->target, error);
    if (err == ERR_OK)
        err =
            grpc_dial(&client->target, config->tls,
                      config->connect_timeout_ms ? config->connect_timeout_ms : CONNECT_TIMEOUT_MS,
                      &client->transport, error);
    if (err != ERR_OK)
        return err;
    if (new_session(client) != ERR_OK)
        return error_set(error, ERR_NO_MEMORY, "no memory for an HTTP/2 session");
    *ret_client = TAKE(client);
    return ERR_OK;
}

void grpc_client_free(struct grpc_client *client) {
    if (!client)
        return;
    assert(!client->call);
    nghttp2_session_del(client->session);
    grpc_transport_free(client->transport);
    buffer_clear(&client->out);
    free(client->authorization);
    free(client);
}

/* --- calls ------------------------------------------------------------------------------------ */

static nghttp2_nv header(const char *name, const char *value) {
    return (nghttp2_nv){.name = (uint8_t *)name,
                        .value = (uint8_t *)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value),
                        .flags = NGHTTP2_NV_FLAG_NONE};
}

static int32_t submit(struct grpc_client_call *call, const char *path, int64_t timeout_ms) {
    struct grpc_client *client = call->client;
    char timeout[GRPC_TIMEOUT_SIZE];
    nghttp2_nv headers[REQUEST_HEADERS_MAX];
    size_t count = 0;
    headers[count++] = header(":method", "POST");
    headers[count++] = header(":scheme", client->target.is_secure ? "https" : "http");
    headers[count++] = header(":path", path);
    headers[count++] = header(":authority", client->target.authority);
    headers[count++] = header("content-type", "application/grpc");
    headers[count++] = header("te", "trailers");
    if (timeout_ms > 0) {
        grpc_timeout_format(timeout_ms, timeout);
        headers[count++] = header("grpc-timeout", timeout);
    }
    if (client->authorization)
        headers[count++] = header("authorization", client->authorization);
    for (size_t i = 0; i < client->header_count; i++)
        headers[count++] = header(client->headers[i].name, client->headers[i].value);
    assert(count <= REQUEST_HEADERS_MAX);
    nghttp2_data_provider provider = {.source.ptr = call, .read_callback = read_request};
    return nghttp2_submit_request(client->session, NULL, headers, count, &provider, call);
}

enum err grpc_client_call_open(struct grpc_client *client, const char *path, int64_t timeout_ms,
                               struct grpc_client_call **ret_call, struct error *error) {
    assert(!client->call);
    struct grpc_client_call *call = calloc(1, sizeof(*call));
    if (!call)
        return error_set(error, ERR_NO_MEMORY, "no memory for a call");
    call->client = client;
    call->deadline_ms = timeout_ms > 0 ? clock_mono_ms() + timeout_ms : INT64_MAX;
    call->frames = grpc_frames_of(client->message_size_max);
    call->message.size_max = client->message_size_max + 1;
    call->stream_id = submit(call, path, timeout_ms);
    if (call->stream_id < 0) {
        enum err err = error_set(error, ERR_UNAVAILABLE, "cannot open a stream: %s",
                                 nghttp2_strerror(call->stream_id));
        free(call);
        return err;
    }
    client->call = call;
    *ret_call = call;
    return ERR_OK;
}

enum err grpc_client_call_send(struct grpc_client_call *call, const struct span *parts,
                               size_t part_count, struct error *error) {
    assert(part_count < PARTS_MAX && !call->request_ended);
    uint8_t prefix[GRPC_PREFIX_SIZE];
    uint64_t size = 0;
    for (size_t i = 0; i < part_count; i++)
        size += parts[i].size;
    if (size > UINT32_MAX)
        return error_set(error, ERR_LIMIT, "a message of %llu bytes", (unsigned long long)size);
    grpc_prefix_write((uint32_t)size, prefix);
    call->parts[0] = span_of(prefix, sizeof(prefix));
    for (size_t i = 0; i < part_count; i++)
        call->parts[i + 1] = parts[i];
    call->part_count = part_count + 1;
    call->part = 0;
    call->part_offset = 0;
    nghttp2_session_resume_data(call->client->session, call->stream_id);
    enum err err = run_until(call, message_sent, error);
    bool sent = call->part == call->part_count;
    call->part_count = call->part = 0;
    if (err == ERR_OK && !sent)
        err = error_set(error, ERR_STATE, "the server has answered already");
    return err;
}

static enum err read_reply(struct grpc_client_call *call, struct grpc_reply *ret_reply,
                           struct error *error) {
    if (call->failure.code != ERR_OK) {
        *error = call->failure;
        return error->code;
    }
    if (!call->has_status && call->http_status != 0 && call->http_status != 200)
        return error_set(error, ERR_UNAVAILABLE, "the server answered HTTP status %u",
                         call->http_status);
    if (!call->has_status)
        return error_set(error, ERR_UNAVAILABLE, "the server reset the stream: %s",
                         nghttp2_http2_strerror(call->reset_code));
    if (call->status == GRPC_OK &&
        (!call->has_message || grpc_frames_check_end(&call->frames, error) != ERR_OK))
        return error_set(error, ERR_MALFORMED, "the server's answer has no whole message");
    *ret_reply = (struct grpc_reply){.status = call->status};
    memcpy(ret_reply->text, call->text, sizeof(call->text));
    if (call->status == GRPC_OK) {
        ret_reply->message = call->message;
        call->message = (struct buffer){.size_max = 0};
    }
    return ERR_OK;
}

enum err grpc_client_call_finish(struct grpc_client_call *call, struct grpc_reply *ret_reply,
                                 struct error *error) {
    call->request_ended = true;
    if (!call->closed)
        nghttp2_session_resume_data(call->client->session, call->stream_id);
    enum err err = run_until(call, answered, error);
    if (err == ERR_OK)
        err = read_reply(call, ret_reply, error);
    return err;
}

void grpc_client_call_free(struct grpc_client_call *call) {
    if (!call)
        return;
    struct grpc_client *client = call->client;
    if (!call->closed) {
        struct error ignored;
        nghttp2_session_set_stream_user_data(client->session, call->stream_id, NULL);
        nghttp2_submit_rst_stream(client->session, NGHTTP2_FLAG_NONE, call->stream_id,
                                  NGHTTP2_CANCEL);
        send_some(client, &ignored);
    }
    client->call = NULL;
    buffer_clear(&call->message);
    free(call);
}

enum err grpc_client_unary(struct grpc_client *client, const char *path, struct span request,
                           int64_t timeout_ms, struct grpc_reply *ret_reply, struct error *error) {
    CLEANUP(cleanup_grpc_client_call) struct grpc_client_call *call = NULL;
    enum err err = grpc_client_call_open(client, path, timeout_ms, &call, error);
    if (err == ERR_OK)
        err = grpc_client_call_send(call, &request, 1, error);
    if (err == ERR_OK || err == ERR_STATE)
        err = grpc_client_call_finish(call, ret_reply, error);
    return err;
}

void grpc_reply_clear(struct grpc_reply *reply) {
    buffer_clear(&reply->message);
}
