#include "api/debuginfo_delete.h"

#include "api/debuginfo_query.h"
#include "api/json_writer.h"
#include "ingest/purge.h"

static void write_result(struct buffer *out, const struct purge_request *request,
                         const struct purge_result *result, const char *request_id) {
    struct json_writer writer = json_writer_to(out);
    json_writer_object_begin(&writer);
    json_writer_key(&writer, "build_id");
    json_writer_string(&writer, span_cstr(request->id.text));
    json_writer_key(&writer, "id_kind");
    json_writer_string(&writer, span_cstr(binary_id_kind_name(request->id.kind)));
    json_writer_key(&writer, "objects");
    json_writer_u64(&writer, result->objects);
    json_writer_key(&writer, "uploads");
    json_writer_u64(&writer, result->uploads);
    json_writer_key(&writer, "request_id");
    json_writer_string(&writer, span_cstr(request_id));
    json_writer_object_end(&writer);
    buffer_append_byte(out, '\n');
}

void debuginfo_delete_answer(struct http_exchange *exchange, struct ingest *ingest,
                             struct index_cache *indexes) {
    const struct request_context *context = http_exchange_context(exchange);
    struct purge_request request = {.has_type = false};
    struct purge_result result;
    struct buffer body = {0};
    struct error error;
    enum err err = debuginfo_query_id(exchange, &request.id, &error);
    if (err == ERR_OK)
        err = debuginfo_query_type(exchange, &request.type, &request.has_type, &error);
    if (err == ERR_OK)
        err = ingest_purge(ingest, indexes, context, &request, &result, &error);
    if (err != ERR_OK) {
        http_exchange_fail(exchange, &error);
        return;
    }
    write_result(&body, &request, &result, context->request_id);
    http_exchange_reply(exchange, 200, "application/json", &body);
}
