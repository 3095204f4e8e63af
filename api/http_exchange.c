#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/error_map.h"
#include "api/http_exchange_internal.h"
#include "api/http_path.h"
#include "api/http_tls.h"
#include "api/json_writer.h"
#include "base/clock.h"

#define STREAM_BLOCK_SIZE ((size_t)32 << 10)

struct http_exchange *http_exchange_new(struct http_server *server,
                                        struct MHD_Connection *connection, const char *method) {
    struct http_exchange *exchange = calloc(1, sizeof(*exchange));
    if (!exchange)
        return NULL;
    exchange->server = server;
    exchange->connection = connection;
    const char *client = server->config.tls ? http_tls_client(connection) : NULL;
    exchange->context = request_context_default(client ? client : "anonymous");
    exchange->state = EXCHANGE_RECEIVING;
    exchange->started_ms = clock_mono_ms();
    exchange->deadline_ms = exchange->started_ms + server->config.transfer_max_ms;
    exchange->body.size_max = server->config.body_size_max;
    snprintf(exchange->method, sizeof(exchange->method), "%s", method);
    return exchange;
}

void http_exchange_free(struct http_exchange *exchange) {
    if (!exchange)
        return;
    http_exchange_drop_body(exchange);
    if (exchange->receiver)
        exchange->receiver->ops->free(exchange->receiver);
    if (exchange->response)
        MHD_destroy_response(exchange->response);
    free(exchange);
}

const struct request_context *http_exchange_context(const struct http_exchange *exchange) {
    return &exchange->context;
}

struct span http_exchange_body(const struct http_exchange *exchange) {
    return buffer_span(&exchange->body);
}

void http_exchange_drop_body(struct http_exchange *exchange) {
    atomic_fetch_sub(&exchange->server->body_total, exchange->body.size);
    buffer_clear(&exchange->body);
}

struct span http_exchange_parameter(const struct http_exchange *exchange) {
    return span_of(exchange->parameter, exchange->parameter_size);
}

enum err http_exchange_query(const struct http_exchange *exchange, const char *key,
                             char ret_value[static 256], bool *ret_present, struct error *error) {
    /* The list of arguments does not change once the headers are read, and the suspended
     * connection stays. */
    const char *raw = MHD_lookup_connection_value(exchange->connection, MHD_GET_ARGUMENT_KIND, key);
    if (!raw) {
        *ret_present = false;
        return ERR_OK;
    }
    size_t size = 0;
    if (!http_percent_decode(span_cstr(raw), ret_value, 256, &size) || strlen(ret_value) != size)
        return error_set(error, ERR_INVALID,
                         "query argument %s: want at most 255 bytes in valid percent-escapes", key);
    *ret_present = true;
    return ERR_OK;
}

const char *http_exchange_header(const struct http_exchange *exchange, const char *name) {
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

bool http_exchange_is_head(const struct http_exchange *exchange) {
    return strcmp(exchange->method, "HEAD") == 0;
}

void http_exchange_receive_body(struct http_exchange *exchange, struct http_receiver *receiver) {
    assert(exchange->state == EXCHANGE_PREPARING && exchange->suspended);
    struct http_server *server = exchange->server;
    exchange->receiver = receiver;
    exchange->state = EXCHANGE_RECEIVING;
    exchange->suspended = false;
    MHD_resume_connection(exchange->connection);
    http_server_handler_ended(server);
}

struct http_receiver *http_exchange_receiver(const struct http_exchange *exchange) {
    return exchange->receiver;
}

void http_exchange_add_header(struct http_exchange *exchange, const char *name, const char *value) {
    assert(exchange->header_count < HTTP_ANSWER_HEADERS_MAX);
    struct answer_header *header = &exchange->headers[exchange->header_count++];
    assert(strlen(value) < sizeof(header->value));
    header->name = name;
    memcpy(header->value, value, strlen(value) + 1);
}

enum MHD_Result http_exchange_send(struct http_exchange *exchange) {
    if (!exchange->response)
        return MHD_NO;
    return MHD_queue_response(exchange->connection, exchange->status, exchange->response);
}

static void add_headers(struct http_exchange *exchange, struct MHD_Response *response,
                        unsigned status, const char *content_type) {
    MHD_add_response_header(response, "X-Request-Id", exchange->context.request_id);
    if (content_type)
        MHD_add_response_header(response, "Content-Type", content_type);
    bool has_cache_control = false;
    for (size_t i = 0; i < exchange->header_count; i++) {
        MHD_add_response_header(response, exchange->headers[i].name, exchange->headers[i].value);
        has_cache_control |= strcmp(exchange->headers[i].name, "Cache-Control") == 0;
    }
    if (!has_cache_control)
        MHD_add_response_header(response, "Cache-Control", "no-store");
    if (status == 429 || status == 503)
        MHD_add_response_header(response, "Retry-After", "1");
    if (status == 507) /* a disk is not emptied in a second */
        MHD_add_response_header(response, "Retry-After", "60");
    if (atomic_load(&exchange->server->stopping))
        MHD_add_response_header(response, "Connection", "close");
}

static void tell(const struct http_exchange *exchange, http_observer *observer, uint64_t size) {
    struct http_outcome outcome = {
        .route = exchange->route,
        .status = exchange->status,
        .method = exchange->method,
        .context = &exchange->context,
        .size = size,
        .duration_ms = clock_mono_ms() - exchange->started_ms,
        .message = exchange->message[0] ? exchange->message : NULL,
    };
    observer(&outcome, exchange->server->config.argument);
}

void http_exchange_tell_end(const struct http_exchange *exchange) {
    http_observer *observer = exchange->server->config.ended;
    if (observer)
        tell(exchange, observer, http_exchange_is_head(exchange) ? 0 : exchange->sent);
}

/* Takes the response (NULL: out of memory, the connection is closed) and lets the network thread
 * go on with the connection, which may free the exchange at once. */
static void answer(struct http_exchange *exchange, unsigned status, struct MHD_Response *response) {
    assert(exchange->state != EXCHANGE_ANSWERED);
    struct http_server *server = exchange->server;
    exchange->response = response;
    exchange->status = status;
    tell(exchange, server->config.observer, 0);
    exchange->state = EXCHANGE_ANSWERED;
    if (exchange->suspended) {
        exchange->suspended = false;
        MHD_resume_connection(exchange->connection);
        http_server_handler_ended(server);
    }
}

static struct MHD_Response *response_of(struct http_exchange *exchange, unsigned status,
                                        const char *content_type, struct buffer *body) {
    if (buffer_failed(body)) {
        buffer_clear(body);
        return NULL;
    }
    size_t size = body->size;
    exchange->sent = size;
    char *data = TAKE(body->data);
    *body = (struct buffer){.size_max = body->size_max};
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, data, MHD_RESPMEM_MUST_FREE);
    if (response)
        add_headers(exchange, response, status, content_type);
    else
        free(data);
    return response;
}

void http_exchange_reply(struct http_exchange *exchange, unsigned status, const char *content_type,
                         struct buffer *body) {
    answer(exchange, status, response_of(exchange, status, content_type, body));
}

static struct MHD_Response *refusal(struct http_exchange *exchange, unsigned status,
                                    const char *code, const char *message) {
    struct buffer body = {0};
    struct json_writer writer = json_writer_to(&body);
    json_writer_object_begin(&writer);
    json_writer_key(&writer, "error");
    json_writer_object_begin(&writer);
    json_writer_key(&writer, "code");
    json_writer_string(&writer, span_cstr(code));
    json_writer_key(&writer, "message");
    json_writer_string(&writer, span_cstr(message));
    json_writer_key(&writer, "request_id");
    json_writer_string(&writer, span_cstr(exchange->context.request_id));
    json_writer_object_end(&writer);
    json_writer_object_end(&writer);
    buffer_append_byte(&body, '\n');
    return response_of(exchange, status, "application/json", &body);
}

void http_exchange_refuse(struct http_exchange *exchange, unsigned status, const char *code,
                          const char *message, const char *allow) {
    snprintf(exchange->message, sizeof(exchange->message), "%s", message);
    struct MHD_Response *response = refusal(exchange, status, code, message);
    if (response && allow)
        MHD_add_response_header(response, "Allow", allow);
    answer(exchange, status, response);
}

void http_exchange_fail(struct http_exchange *exchange, const struct error *error) {
    http_exchange_refuse(exchange, error_map_http(error->code), err_name(error->code), error->text,
                         NULL);
}

/* --- an answer in pieces -------------------------------------------------------------------- */

struct sending {
    struct http_exchange *exchange;
    struct http_stream *stream;
    struct buffer piece;
    size_t sent; /* of the piece */
    bool ended;
    int64_t deadline_ms;
};

static void sending_free(void *argument) {
    struct sending *sending = argument;
    if (!sending)
        return;
    if (sending->stream)
        sending->stream->ops->free(sending->stream);
    buffer_clear(&sending->piece);
    free(sending);
}

static void cleanup_sending(struct sending **sending) {
    sending_free(*sending);
}

static enum err next_piece(struct sending *sending, struct error *error) {
    sending->piece.size = 0;
    sending->sent = 0;
    enum err err =
        sending->stream->ops->render(sending->stream, &sending->piece, &sending->ended, error);
    if (err == ERR_OK && buffer_failed(&sending->piece))
        err = error_set(error, ERR_NO_MEMORY, "no memory for the answer");
    return err;
}

static ssize_t read_sending(void *argument, uint64_t position, char *bytes, size_t size) {
    (void)position;
    struct sending *sending = argument;
    struct error error;
    if (sending->sent == sending->piece.size) {
        if (sending->ended)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (clock_mono_ms() > sending->deadline_ms || next_piece(sending, &error) != ERR_OK)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        if (sending->piece.size == 0)
            return MHD_CONTENT_READER_END_OF_STREAM;
    }
    size_t left = sending->piece.size - sending->sent;
    size_t count = left < size ? left : size;
    memcpy(bytes, sending->piece.data + sending->sent, count);
    sending->sent += count;
    sending->exchange->sent += count;
    return (ssize_t)count;
}

/* With the first piece made; NULL when that failed and the exchange has ended. */
static struct sending *start_sending(struct http_exchange *exchange, struct http_stream *stream) {
    CLEANUP(cleanup_sending) struct sending *sending = calloc(1, sizeof(*sending));
    struct error error;
    if (!sending) {
        stream->ops->free(stream);
        error_set(&error, ERR_NO_MEMORY, "no memory for the answer");
        http_exchange_fail(exchange, &error);
        return NULL;
    }
    sending->stream = stream;
    sending->exchange = exchange;
    sending->deadline_ms = clock_mono_ms() + exchange->server->config.transfer_max_ms;
    if (next_piece(sending, &error) != ERR_OK) {
        http_exchange_fail(exchange, &error);
        return NULL;
    }
    return TAKE(sending);
}

static void reply_in_pieces(struct http_exchange *exchange, unsigned status,
                            const char *content_type, uint64_t size, struct sending *started) {
    CLEANUP(cleanup_sending) struct sending *sending = started;
    struct MHD_Response *response = MHD_create_response_from_callback(
        size, STREAM_BLOCK_SIZE, read_sending, sending, sending_free);
    if (response) {
        (void)TAKE(sending);
        add_headers(exchange, response, status, content_type);
    }
    answer(exchange, status, response);
}

void http_exchange_reply_sized(struct http_exchange *exchange, unsigned status,
                               const char *content_type, uint64_t size,
                               struct http_stream *stream) {
    struct sending *sending = start_sending(exchange, stream);
    if (!sending)
        return;
    /* How long it takes is a matter of its size; a client that takes nothing is cut off as idle. */
    sending->deadline_ms = INT64_MAX;
    reply_in_pieces(exchange, status, content_type, size, sending);
}

void http_exchange_reply_stream(struct http_exchange *exchange, unsigned status,
                                const char *content_type, struct http_stream *stream) {
    CLEANUP(cleanup_sending) struct sending *sending = start_sending(exchange, stream);
    /* A short answer is whole now and goes out with its length. */
    if (sending && sending->ended)
        http_exchange_reply(exchange, status, content_type, &sending->piece);
    else if (sending)
        reply_in_pieces(exchange, status, content_type, MHD_SIZE_UNKNOWN, TAKE(sending));
}
