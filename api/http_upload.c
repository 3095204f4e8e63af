#include "api/http_upload.h"

#include <stdlib.h>

#include "api/debuginfo_query.h"
#include "api/json_writer.h"
#include "ingest/upload_put.h"

struct http_upload {
    struct http_receiver receiver; /* first: it is what the exchange knows */
    const struct http_upload_config *config;
    struct upload_put *put;
};

static enum err receive(struct http_receiver *receiver, struct span bytes, struct error *error) {
    return upload_put_append(((struct http_upload *)receiver)->put, bytes.data, bytes.size, error);
}

static void free_put(void *argument) {
    upload_put_free(argument);
}

static void end(struct http_receiver *receiver) {
    struct http_upload *upload = (struct http_upload *)receiver;
    struct error error;
    /* A commit and a large file may take long, but a full pool leaves no other thread. */
    if (upload->put &&
        task_pool_submit(upload->config->pool, free_put, upload->put, &error) != ERR_OK)
        upload_put_free(upload->put);
    free(upload);
}

static const struct http_receiver_ops receiver_ops = {.receive = receive, .free = end};

static enum err read_claim(const struct http_exchange *exchange, bool has_id,
                           struct upload_claim *ret_claim, struct error *error) {
    struct upload_claim claim = {.has_id = has_id, .type = ARTIFACT_DEBUGINFO};
    bool has_type = false;
    enum err err = ERR_OK;
    if (has_id)
        err = debuginfo_query_id(exchange, &claim.id, error);
    if (err == ERR_OK)
        err = debuginfo_query_type(exchange, &claim.type, &has_type, error);
    if (err == ERR_OK)
        err = debuginfo_query_flag(exchange, "force", &claim.force, error);
    if (err != ERR_OK)
        return err;
    claim.has_size = http_exchange_body_size(exchange, &claim.size);
    /* A request with neither length nor chunks has no body. */
    if (!claim.has_size && !http_exchange_header(exchange, "Transfer-Encoding"))
        claim.has_size = true;
    *ret_claim = claim;
    return ERR_OK;
}

static enum err check_coding(const struct http_exchange *exchange, struct error *error) {
    if (!http_exchange_header(exchange, "Content-Encoding"))
        return ERR_OK;
    return error_set(error, ERR_INVALID, "the body must not have a Content-Encoding");
}

static enum err open_upload(const struct http_upload_config *config,
                            const struct http_exchange *exchange, bool has_id,
                            struct http_upload **ret_upload, struct error *error) {
    struct upload_claim claim;
    enum err err = check_coding(exchange, error);
    if (err == ERR_OK)
        err = read_claim(exchange, has_id, &claim, error);
    if (err != ERR_OK)
        return err;
    CLEANUP(cleanup_free) struct http_upload *upload = calloc(1, sizeof(*upload));
    if (!upload)
        return error_set(error, ERR_NO_MEMORY, "no memory for an upload");
    *upload = (struct http_upload){.receiver = {&receiver_ops}, .config = config};
    err = upload_put_open(config->ingest, http_exchange_context(exchange), &claim, &upload->put,
                          error);
    if (err == ERR_OK)
        *ret_upload = TAKE(upload);
    return err;
}

void http_upload_prepare(struct http_exchange *exchange, const struct http_upload_config *config,
                         bool has_id) {
    struct http_upload *upload = NULL;
    struct error error;
    if (open_upload(config, exchange, has_id, &upload, &error) == ERR_OK)
        http_exchange_receive_body(exchange, &upload->receiver);
    else
        http_exchange_fail(exchange, &error);
}

/* --- the answer ----------------------------------------------------------------------------- */

static void write_member(struct json_writer *writer, const char *key, const char *text) {
    json_writer_key(writer, key);
    json_writer_string(writer, span_cstr(text));
}

static void write_ids(struct json_writer *writer, const struct upload_identity *identity) {
    json_writer_key(writer, "ids");
    json_writer_array_begin(writer);
    for (size_t i = 0; i < identity->name_count; i++) {
        json_writer_object_begin(writer);
        write_member(writer, "id_kind", binary_id_kind_name(identity->names[i].id.kind));
        write_member(writer, "build_id", identity->names[i].id.text);
        json_writer_object_end(writer);
    }
    json_writer_array_end(writer);
}

static void write_result(struct buffer *out, const struct upload_put_result *result,
                         const char *state, const char *request_id) {
    struct json_writer writer = json_writer_to(out);
    char digest[DIGEST_HEX_SIZE];
    digest_to_hex(&result->digest, digest);
    json_writer_object_begin(&writer);
    write_member(&writer, "build_id", result->id.text);
    write_member(&writer, "id_kind", binary_id_kind_name(result->id.kind));
    write_ids(&writer, &result->identity);
    write_member(&writer, "type", artifact_type_name(result->type));
    json_writer_key(&writer, "size");
    json_writer_u64(&writer, result->size);
    write_member(&writer, "digest", digest);
    write_member(&writer, "state", state);
    write_member(&writer, "request_id", request_id);
    json_writer_object_end(&writer);
    buffer_append_byte(out, '\n');
}

static enum err read_state(const struct http_upload *upload, const struct http_exchange *exchange,
                           const struct binary_id *id, const char **ret_state,
                           struct error *error) {
    struct module_state state = {0};
    enum err err = module_resolver_read(upload->config->resolver, http_exchange_context(exchange),
                                        id, 1, &state, error);
    if (err != ERR_OK)
        return err;
    if (state.handle)
        index_handle_release(state.handle);
    *ret_state = module_status_name(state.status);
    return ERR_OK;
}

void http_upload_finish(struct http_exchange *exchange) {
    struct http_upload *upload = (struct http_upload *)http_exchange_receiver(exchange);
    struct upload_put_result result;
    struct buffer body = {0};
    struct error error;
    const char *state = NULL;
    enum err err = upload_put_finish(upload->put, &result, &error);
    /* Its place and what is left of a refused file are free before the client knows. */
    upload_put_free(upload->put);
    upload->put = NULL;
    if (err == ERR_OK)
        err = read_state(upload, exchange, &result.id, &state, &error);
    if (err != ERR_OK) {
        http_exchange_fail(exchange, &error);
        return;
    }
    write_result(&body, &result, state, http_exchange_context(exchange)->request_id);
    http_exchange_reply(exchange, result.existed ? 200 : 201, "application/json", &body);
}
