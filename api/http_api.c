#include "api/http_api.h"

#include <stdlib.h>

#include "api/debuginfo_delete.h"
#include "api/debuginfo_list.h"
#include "api/debuginfo_query.h"
#include "api/debuginfo_report.h"
#include "api/symbolize.h"
#include "api/symbolize_json.h"

static const char json_type[] = "application/json";
static const char text_type[] = "text/plain; charset=utf-8";
static const char metrics_type[] = "text/plain; version=0.0.4; charset=utf-8";

static void reply_text(struct http_exchange *exchange, const char *text) {
    struct buffer body = {0};
    buffer_append_cstr(&body, text);
    http_exchange_reply(exchange, 200, text_type, &body);
}

/* --- POST /v1/symbolize --------------------------------------------------------------------- */

struct symbolize_call {
    struct http_api *api;
    struct http_exchange *exchange;
    struct symbolize_batch *batch;
    int64_t deadline_mono_ms; /* for waiting */
};

static void symbolize_call_free(struct symbolize_call *call) {
    symbolize_batch_free(call->batch);
    free(call);
}
DEFINE_CLEANUP(symbolize_call, struct symbolize_call, symbolize_call_free)

static void send_symbolized(struct symbolize_call *finished) {
    CLEANUP(cleanup_symbolize_call) struct symbolize_call *call = finished;
    struct http_stream *stream = NULL;
    struct error error;
    metrics_count_lookups(call->api->metrics, symbolize_batch_lookup_count(call->batch));
    if (symbolize_json_new(TAKE(call->batch), call->api->metrics, &stream, &error) == ERR_OK)
        http_exchange_reply_stream(call->exchange, 200, json_type, stream);
    else
        http_exchange_fail(call->exchange, &error);
}

static void fail_symbolize(struct symbolize_call *failed, const struct error *error) {
    http_exchange_fail(failed->exchange, error);
    symbolize_call_free(failed);
}

static void resolve_symbolize(void *argument);

/* On the waiter's thread. */
static void resume_symbolize(void *argument) {
    struct symbolize_call *call = argument;
    struct error error;
    if (task_pool_submit(call->api->pool, resolve_symbolize, call, &error) == ERR_OK)
        return;
    error_set(&error, ERR_UNAVAILABLE, "too many requests wait already");
    fail_symbolize(call, &error);
}

static void resolve_symbolize(void *argument) {
    struct symbolize_call *call = argument;
    struct error error;
    struct digest key;
    if (symbolize_batch_resolve(call->batch, &error) != ERR_OK) {
        fail_symbolize(call, &error);
        return;
    }
    const struct request_context *context = symbolize_batch_context(call->batch);
    /* With no place to wait, "pending" is the honest answer. */
    if (!symbolize_batch_waits(call->batch, &key) || clock_mono_ms() >= call->deadline_mono_ms ||
        build_waiter_add(call->api->waiter, context->tenant, &key, call->deadline_mono_ms,
                         resume_symbolize, call, &error) != ERR_OK)
        send_symbolized(call);
}

static void handle_symbolize(struct http_exchange *exchange, void *argument) {
    struct http_api *api = argument;
    struct error error;
    struct symbolize_call *call = calloc(1, sizeof(*call));
    struct symbolize_batch *batch =
        symbolize_batch_new(&api->resolver, http_exchange_context(exchange));
    if (!call || !batch) {
        symbolize_batch_free(batch);
        free(call);
        error_set(&error, ERR_NO_MEMORY, "no memory for the request");
        http_exchange_fail(exchange, &error);
        return;
    }
    *call = (struct symbolize_call){.api = api, .exchange = exchange, .batch = batch};
    if (symbolize_batch_parse(batch, http_exchange_body(exchange), &error) != ERR_OK) {
        fail_symbolize(call, &error);
        return;
    }
    http_exchange_drop_body(exchange);
    call->deadline_mono_ms = clock_mono_ms() + symbolize_batch_request(batch)->wait_ms;
    resolve_symbolize(call);
}

/* --- GET /v1/debuginfo/{build_id} ----------------------------------------------------------- */

static void handle_debuginfo(struct http_exchange *exchange, void *argument) {
    struct http_api *api = argument;
    struct binary_id id;
    struct error error;
    struct buffer body = {0};
    enum err err = debuginfo_query_id(exchange, &id, &error);
    if (err == ERR_OK)
        err = debuginfo_report(&api->resolver, http_exchange_context(exchange), &id, &body, &error);
    if (err == ERR_OK) {
        http_exchange_reply(exchange, 200, json_type, &body);
        return;
    }
    buffer_clear(&body);
    http_exchange_fail(exchange, &error);
}

/* --- PUT /v1/upload/{upload_id} -------------------------------------------------------------- */

static void prepare_signed_upload(struct http_exchange *exchange, void *argument) {
    const struct http_api *api = argument;
    signed_upload_prepare(exchange, &api->signed_uploads);
}

static void handle_signed_upload(struct http_exchange *exchange, void *argument) {
    (void)argument;
    signed_upload_complete(exchange);
}

/* --- PUT /v1/debuginfo and /v1/debuginfo/{build_id} ----------------------------------------- */

static void prepare_upload(struct http_exchange *exchange, void *argument) {
    const struct http_api *api = argument;
    http_upload_prepare(exchange, &api->uploads, false);
}

static void prepare_upload_of_id(struct http_exchange *exchange, void *argument) {
    const struct http_api *api = argument;
    http_upload_prepare(exchange, &api->uploads, true);
}

static void handle_upload(struct http_exchange *exchange, void *argument) {
    (void)argument;
    http_upload_finish(exchange);
}

/* --- GET /v1/debuginfo/{build_id}/file, DELETE /v1/debuginfo/{build_id} ---------------------- */

static void handle_file(struct http_exchange *exchange, void *argument) {
    const struct http_api *api = argument;
    debuginfo_file_answer(exchange, &api->files);
}

static void handle_delete(struct http_exchange *exchange, void *argument) {
    const struct http_api *api = argument;
    debuginfo_delete_answer(exchange, api->ingest, api->resolver.indexes);
}

/* --- GET /v1/debuginfo and /v1/missing ------------------------------------------------------- */

static void handle_list(struct http_exchange *exchange, void *argument) {
    const struct http_api *api = argument;
    debuginfo_list_answer(exchange, api->resolver.catalog);
}

static void handle_missing(struct http_exchange *exchange, void *argument) {
    const struct http_api *api = argument;
    missing_list_answer(exchange, api->resolver.catalog, api->resolver.missing);
}

/* --- operations ----------------------------------------------------------------------------- */

static void handle_healthz(struct http_exchange *exchange, void *argument) {
    (void)argument;
    reply_text(exchange, "ok\n");
}

static enum err ask_catalog(struct catalog_txn *txn, void *argument, struct error *error) {
    struct binary_id id = {.kind = BINARY_ID_GNU, .text = "ready"};
    return catalog_generation_get(txn, TENANT_DEFAULT, &id, argument, error);
}

static void handle_readyz(struct http_exchange *exchange, void *argument) {
    struct http_api *api = argument;
    struct generation_row row;
    struct error error;
    if (catalog_read(api->resolver.catalog, ask_catalog, &row, &error) == ERR_OK) {
        reply_text(exchange, "ready\n");
        return;
    }
    /* Whatever the catalog's trouble is, to the asker the service is not ready. */
    error.code = ERR_UNAVAILABLE;
    http_exchange_fail(exchange, &error);
}

static void handle_metrics(struct http_exchange *exchange, void *argument);

static const struct http_route routes[] = {
    {.method = "POST", .path = "/v1/symbolize", .handler = handle_symbolize, .takes_json = true},
    {.method = "GET", .path = "/v1/debuginfo/{build_id}", .handler = handle_debuginfo},
    {.method = "PUT",
     .path = "/v1/upload/{upload_id}",
     .prepare = prepare_signed_upload,
     .handler = handle_signed_upload,
     .waits = true},
    {.method = "PUT",
     .path = "/v1/debuginfo",
     .prepare = prepare_upload,
     .handler = handle_upload,
     .waits = true},
    {.method = "PUT",
     .path = "/v1/debuginfo/{build_id}",
     .prepare = prepare_upload_of_id,
     .handler = handle_upload,
     .waits = true},
    {.method = "GET",
     .path = "/v1/debuginfo/{build_id}/file",
     .handler = handle_file,
     .waits = true},
    {.method = "DELETE",
     .path = "/v1/debuginfo/{build_id}",
     .handler = handle_delete,
     .waits = true},
    {.method = "GET", .path = "/v1/debuginfo", .handler = handle_list},
    {.method = "GET", .path = "/v1/missing", .handler = handle_missing},
    {.method = "GET", .path = "/healthz", .handler = handle_healthz, .quick = true},
    {.method = "GET", .path = "/readyz", .handler = handle_readyz},
    {.method = "GET", .path = "/metrics", .handler = handle_metrics, .quick = true},
};

static void handle_metrics(struct http_exchange *exchange, void *argument) {
    struct http_api *api = argument;
    struct buffer body = {0};
    const char *names[ARRAY_SIZE(routes) + 1];
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
        names[i] = routes[i].path;
    names[ARRAY_SIZE(routes)] = "other";
    struct metrics_snapshot snapshot;
    metrics_snapshot_read(&api->sources, &snapshot);
    snapshot.http_connections = http_exchange_connection_count(exchange);
    snapshot.route_names = names;
    snapshot.route_count = ARRAY_SIZE(names);
    metrics_render(api->metrics, &snapshot, &body);
    http_exchange_reply(exchange, 200, metrics_type, &body);
}

static void observe(const struct http_outcome *outcome, void *argument) {
    struct http_api *api = argument;
    metrics_count_request(api->metrics, outcome->route, outcome->status);
}

static void log_request(const struct http_outcome *outcome, void *argument) {
    struct http_api *api = argument;
    enum log_level level = outcome->status >= 500 ? LOG_LEVEL_WARN
                           : api->access_log      ? LOG_LEVEL_INFO
                                                  : LOG_LEVEL_DEBUG;
    const char *path = outcome->route < ARRAY_SIZE(routes) ? routes[outcome->route].path : "other";
    log_event(
        api->log, level, "http_request", log_str("method", outcome->method), log_str("path", path),
        log_i64("status", outcome->status), log_i64("bytes", (int64_t)outcome->size),
        log_i64("duration_ms", outcome->duration_ms),
        log_str("client", outcome->context->principal),
        log_str("request_id", outcome->context->request_id), log_str("error", outcome->message));
}

void http_api_configure(struct http_api *api, struct http_server_config *config) {
    _Static_assert(ARRAY_SIZE(routes) < METRICS_ROUTE_MAX, "a route has no counter");
    config->routes = routes;
    config->route_count = ARRAY_SIZE(routes);
    config->argument = api;
    config->observer = observe;
    config->ended = log_request;
    config->pool = api->pool;
    config->waiting_pool = api->uploads.pool;
}
