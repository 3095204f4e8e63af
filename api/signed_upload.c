#include "api/signed_upload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct signed_upload {
    struct http_receiver receiver; /* first: it is what the exchange knows */
    const struct signed_upload_config *config;
    struct request_context context; /* with the token's tenant */
    struct upload_row row;          /* what the URL is for */
    struct upload_stream *stream;
    uint64_t size; /* of what came */
    int64_t started_ms;
    bool logged;
};

/* One line an upload, as for the Upload method. What the token refused is in no line but the
 * request's, since it is no upload of anybody's. */
static void log_end(struct signed_upload *upload, enum err err, const char *reason) {
    if (upload->logged)
        return;
    upload->logged = true;
    bool ours = err == ERR_IO || err == ERR_UNAVAILABLE || err == ERR_INTERNAL;
    log_event(upload->config->log, ours ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, "signed_upload",
              log_str("code", err_name(err)), log_str("build_id", upload->row.id.text),
              log_str("upload_id", upload->row.upload_id), log_i64("bytes", (int64_t)upload->size),
              log_str("reason", reason),
              log_i64("duration_ms", clock_mono_ms() - upload->started_ms),
              log_str("request_id", upload->context.request_id));
}

static struct signed_upload *of_receiver(struct http_receiver *receiver) {
    return (struct signed_upload *)receiver;
}

static enum err receive(struct http_receiver *receiver, struct span bytes, struct error *error) {
    struct signed_upload *upload = of_receiver(receiver);
    if (upload_stream_append(upload->stream, bytes.data, bytes.size, error) == ERR_OK) {
        upload->size += bytes.size;
        return ERR_OK;
    }
    /* The client may send again as soon as it knows, so our hold on the upload ends first. */
    upload_stream_abandon(upload->stream);
    /* The only thing wrong with bytes as such is that there are more than were declared. */
    if (error->code == ERR_INVALID)
        error->code = ERR_LIMIT;
    log_end(upload, error->code, error->text);
    return error->code;
}

static void free_stream(void *stream) {
    upload_stream_free(stream);
}

static void end(struct http_receiver *receiver) {
    struct signed_upload *upload = of_receiver(receiver);
    struct error error;
    upload_stream_abandon(upload->stream);
    log_end(upload, ERR_CANCELLED, "the client went away, or took too long");
    /* Removing what was received may take long, but a full pool leaves no other thread. */
    if (task_pool_submit(upload->config->pool, free_stream, upload->stream, &error) != ERR_OK)
        upload_stream_free(upload->stream);
    free(upload);
}

static const struct http_receiver_ops receiver_ops = {.receive = receive, .free = end};

static enum err find_upload(struct ingest *ingest, const struct request_context *context,
                            struct span upload_id, struct upload_row *ret_row,
                            struct error *error) {
    char text[UPLOAD_ID_SIZE];
    enum err err = ERR_NOT_FOUND;
    if (upload_id.size == UPLOAD_ID_SIZE - 1 && !memchr(upload_id.data, '\0', upload_id.size)) {
        memcpy(text, upload_id.data, upload_id.size);
        text[upload_id.size] = '\0';
        err = ingest_upload_get(ingest, context, text, ret_row, error);
    }
    /* Who has no token for it shall not learn which uploads there are. */
    if (err == ERR_NOT_FOUND)
        return error_set(error, ERR_DENIED, "the token of this upload URL is not valid");
    return err;
}

/* The upload that the URL is for, and its tenant. */
static enum err authorize(const struct signed_upload_config *config,
                          const struct http_exchange *exchange, struct request_context *context,
                          struct upload_row *ret_row, struct error *error) {
    char text[256];
    bool has_token = false;
    struct upload_token token;
    struct upload_row row;
    if (!config->urls)
        return error_set(error, ERR_NOT_FOUND, "this server signs no upload URLs");
    enum err err = http_exchange_query(exchange, "token", text, &has_token, error);
    if (err == ERR_OK)
        err = upload_token_read(span_cstr(has_token ? text : ""), &token, error);
    if (err != ERR_OK)
        return err;
    memcpy(context->tenant, token.tenant, sizeof(context->tenant));
    err = find_upload(config->ingest, context, http_exchange_parameter(exchange), &row, error);
    if (err != ERR_OK)
        return err;
    struct upload_grant grant = {
        .upload_id = row.upload_id,
        .id = &row.id,
        .type = row.type,
        .size = row.declared_size,
    };
    err = upload_token_check(&config->urls->key, &token, &grant, clock_wall_ms(), error);
    if (err == ERR_OK)
        *ret_row = row;
    return err;
}

/* What is wrong with the announced size is told before the bytes are sent. */
static enum err check_size(const struct http_exchange *exchange, uint64_t declared_size,
                           struct error *error) {
    uint64_t size = 0;
    if (!http_exchange_body_size(exchange, &size) || size == declared_size)
        return ERR_OK;
    return error_set(error, size > declared_size ? ERR_LIMIT : ERR_INVALID,
                     "the body has %llu bytes, the upload's declared size is %llu",
                     (unsigned long long)size, (unsigned long long)declared_size);
}

static enum err open_upload(const struct signed_upload_config *config,
                            const struct http_exchange *exchange, struct signed_upload **ret_upload,
                            struct error *error) {
    CLEANUP(cleanup_free) struct signed_upload *upload = calloc(1, sizeof(*upload));
    if (!upload)
        return error_set(error, ERR_NO_MEMORY, "no memory for an upload");
    upload->receiver.ops = &receiver_ops;
    upload->config = config;
    upload->context = *http_exchange_context(exchange);
    upload->started_ms = clock_mono_ms();
    enum err err = authorize(config, exchange, &upload->context, &upload->row, error);
    if (err != ERR_OK)
        return err;
    err = check_size(exchange, upload->row.declared_size, error);
    if (err == ERR_OK)
        err = upload_stream_open_once(config->ingest, &upload->context, &upload->row,
                                      &upload->stream, error);
    if (err == ERR_OK)
        *ret_upload = TAKE(upload);
    else
        log_end(upload, err, error->text);
    return err;
}

void signed_upload_prepare(struct http_exchange *exchange,
                           const struct signed_upload_config *config) {
    struct signed_upload *upload = NULL;
    struct error error;
    if (open_upload(config, exchange, &upload, &error) == ERR_OK)
        http_exchange_receive_body(exchange, &upload->receiver);
    else
        http_exchange_fail(exchange, &error);
}

void signed_upload_complete(struct http_exchange *exchange) {
    struct signed_upload *upload = of_receiver(http_exchange_receiver(exchange));
    struct buffer body = {0};
    struct error error;
    uint64_t size = 0;
    if (upload_stream_complete(upload->stream, &size, &error) != ERR_OK) {
        upload_stream_abandon(upload->stream);
        log_end(upload, error.code, error.text);
        http_exchange_fail(exchange, &error);
        return;
    }
    log_end(upload, ERR_OK, NULL);
    buffer_printf(&body, "{\"size\":%llu}\n", (unsigned long long)size);
    http_exchange_reply(exchange, 200, "application/json", &body);
}
