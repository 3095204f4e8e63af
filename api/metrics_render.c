#include <assert.h>
#include <inttypes.h>

#include "api/metrics_internal.h"

static uint64_t count_of(const atomic_uint_fast64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void describe(struct buffer *text, const char *name, const char *type, const char *help) {
    buffer_printf(text, "# HELP symbolizer_%s %s\n# TYPE symbolizer_%s %s\n", name, help, name,
                  type);
}

static void value(struct buffer *text, const char *name, uint64_t number) {
    buffer_printf(text, "symbolizer_%s %" PRIu64 "\n", name, number);
}

static void labelled(struct buffer *text, const char *name, const char *label, const char *word,
                     uint64_t number) {
    buffer_printf(text, "symbolizer_%s{%s=\"%s\"} %" PRIu64 "\n", name, label, word, number);
}

static void counter(struct buffer *text, const char *name, const char *help, uint64_t number) {
    describe(text, name, "counter", help);
    value(text, name, number);
}

static void gauge(struct buffer *text, const char *name, const char *help, uint64_t number) {
    describe(text, name, "gauge", help);
    value(text, name, number);
}

static void render_uploads(const struct metrics_snapshot *snapshot, struct buffer *text) {
    const struct ingest_stats *stats = &snapshot->ingest;
    describe(text, "uploads_total", "counter", "Uploads by what became of them.");
    labelled(text, "uploads_total", "outcome", "initiated", stats->initiated);
    labelled(text, "uploads_total", "outcome", "finished", stats->finished);
    labelled(text, "uploads_total", "outcome", "failed", stats->failed);
    labelled(text, "uploads_total", "outcome", "stale", stats->stale);
    labelled(text, "uploads_total", "outcome", "replaced", stats->replaced);
    labelled(text, "uploads_total", "outcome", "interrupted", stats->interrupted);
    counter(text, "upload_bytes_total", "Bytes of uploads received.", stats->bytes_received);
    gauge(text, "upload_streams_open", "Uploads whose bytes are arriving.", stats->streams_open);
}

/* Prometheus wants each bucket to count all that are at most so long. */
static void render_build_times(const struct build_queue_stats *stats, struct buffer *text) {
    static const uint64_t bounds_ms[] = BUILD_TIME_BOUNDS_MS;
    describe(text, "build_duration_seconds", "histogram", "How long builds took that ended.");
    uint64_t count = 0;
    for (size_t i = 0; i < BUILD_TIME_COUNT; i++) {
        count += stats->build_times[i];
        buffer_append_cstr(text, "symbolizer_build_duration_seconds_bucket{le=\"");
        if (i < ARRAY_SIZE(bounds_ms))
            buffer_printf(text, "%g", (double)bounds_ms[i] / 1000);
        else
            buffer_append_cstr(text, "+Inf");
        buffer_printf(text, "\"} %" PRIu64 "\n", count);
    }
    buffer_printf(text, "symbolizer_build_duration_seconds_sum %" PRIu64 ".%03u\n",
                  stats->build_ms_sum / 1000, (unsigned)(stats->build_ms_sum % 1000));
    value(text, "build_duration_seconds_count", count);
}

static void render_builds(const struct metrics_snapshot *snapshot, struct buffer *text) {
    const struct build_queue_stats *stats = &snapshot->builds;
    describe(text, "builds_total", "counter", "Index builds by outcome.");
    labelled(text, "builds_total", "outcome", "ok", stats->ok);
    labelled(text, "builds_total", "outcome", "malformed", stats->malformed);
    labelled(text, "builds_total", "outcome", "unsupported", stats->unsupported);
    labelled(text, "builds_total", "outcome", "parser_killed", stats->killed);
    labelled(text, "builds_total", "outcome", "failed", stats->failed);
    render_build_times(stats, text);
    gauge(text, "builds_queued", "Builds that wait for a worker.", stats->queued);
    gauge(text, "builds_running", "Builds in a worker.", stats->running);
}

static void render_indexes(const struct metrics_snapshot *snapshot, struct buffer *text) {
    const struct index_cache_stats *stats = &snapshot->indexes;
    gauge(text, "index_disk_bytes", "Index files on disk, in bytes.", stats->disk_size);
    gauge(text, "index_files", "Index files on disk.", stats->disk_count);
    gauge(text, "index_mapped_bytes", "Index files mapped, in bytes.", stats->mapped_size);
    gauge(text, "index_maps", "Index files mapped.", stats->mapped_count);
    counter(text, "index_hits_total", "Indexes asked for that were mapped.", stats->hits);
    counter(text, "index_opens_total", "Indexes asked for that had to be mapped.", stats->opens);
    counter(text, "index_misses_total", "Indexes asked for that were not on disk.", stats->misses);
    counter(text, "index_evictions_total", "Index files removed for space.", stats->evictions);
    counter(text, "index_damaged_total", "Index files removed since they were damaged.",
            stats->damaged);
}

static void render_catalog(const struct metrics_snapshot *snapshot, struct buffer *text) {
    const struct catalog_stats *stats = &snapshot->catalog;
    counter(text, "catalog_writes_total", "Units of work that the catalog tried.", stats->writes);
    counter(text, "catalog_commits_total", "Groups of them that were committed.", stats->commits);
    gauge(text, "catalog_writes_waiting", "Units of work that wait for the writer.",
          stats->waiting);
    gauge(text, "catalog_wal_pages", "Length of the write-ahead log after the last commit.",
          stats->wal_pages);
}

static void render_compactor(const struct metrics_snapshot *snapshot, struct buffer *text) {
    const struct blob_compactor_stats *stats = &snapshot->compactor;
    counter(text, "compactor_passes_total", "Looks at all stored files that ended.", stats->passes);
    describe(text, "compactor_files_total", "counter", "Stored files by what became of them.");
    labelled(text, "compactor_files_total", "outcome", "compressed", stats->compressed);
    labelled(text, "compactor_files_total", "outcome", "kept", stats->kept);
    labelled(text, "compactor_files_total", "outcome", "failed", stats->failed);
    counter(text, "compactor_raw_bytes_total", "Bytes of the files compressed, before.",
            stats->raw_size);
    counter(text, "compactor_stored_bytes_total", "Bytes of the files compressed, after.",
            stats->stored_size);
}

static void render_losses(const struct metrics_snapshot *snapshot, struct buffer *text) {
    describe(text, "stored_files_lost_total", "counter",
             "Stored files that were found to be lost, and are asked for again.");
    labelled(text, "stored_files_lost_total", "reason", "missing",
             snapshot->builds.files_missing + snapshot->ingest.files_missing);
    labelled(text, "stored_files_lost_total", "reason", "damaged",
             snapshot->builds.files_damaged + snapshot->ingest.files_damaged);
}

static void render_orphans(const struct metrics_snapshot *snapshot, struct buffer *text) {
    const struct orphan_sweep_result *stats = &snapshot->orphans;
    describe(text, "orphans_total", "counter", "Files that the catalog does not name, by outcome.");
    labelled(text, "orphans_total", "outcome", "set_aside", stats->blobs);
    labelled(text, "orphans_total", "outcome", "index_removed", stats->indexes);
    labelled(text, "orphans_total", "outcome", "removed", stats->lost);
    gauge(text, "orphans_refused", "Such files that were left, being too many of all.",
          stats->refused);
}

static void render_lookups(const struct metrics *metrics, struct buffer *text) {
    describe(text, "modules_total", "counter", "Modules of questions by the status answered.");
    for (int status = MODULE_OK; status < METRICS_MODULE_STATUS_COUNT; status++)
        labelled(text, "modules_total", "status", module_status_name((enum module_status)status),
                 count_of(&metrics->modules[status]));
    counter(text, "lookup_addresses_total", "Addresses looked up in an index.",
            count_of(&metrics->lookups));
    describe(text, "lookup_misses_total", "counter",
             "Addresses answered with a reason why something is missing.");
    for (int miss = SYMBOL_MISS_NONE + 1; miss < METRICS_MISS_COUNT; miss++)
        labelled(text, "lookup_misses_total", "reason", symbol_miss_name((enum symbol_miss)miss),
                 count_of(&metrics->misses[miss]));
}

static void render_requests(const struct metrics *metrics, const struct metrics_snapshot *snapshot,
                            struct buffer *text) {
    static const unsigned statuses[] = METRICS_HTTP_STATUSES;
    describe(text, "http_requests_total", "counter", "HTTP requests by route and status.");
    for (size_t route = 0; route < snapshot->route_count; route++) {
        for (size_t place = 0; place < ARRAY_SIZE(statuses); place++) {
            uint64_t count = count_of(&metrics->requests[route][place]);
            if (count == 0)
                continue;
            buffer_printf(text, "symbolizer_http_requests_total{path=\"%s\",code=\"",
                          snapshot->route_names[route]);
            if (statuses[place])
                buffer_printf(text, "%u", statuses[place]);
            else
                buffer_append_cstr(text, "other");
            buffer_printf(text, "\"} %" PRIu64 "\n", count);
        }
    }
}

static void render_calls(const struct metrics *metrics, struct buffer *text) {
    static const char *const methods[] = METRICS_METHODS;
    describe(text, "grpc_calls_total", "counter", "gRPC calls by method and status.");
    for (size_t method = 0; method < ARRAY_SIZE(methods); method++) {
        for (int status = 0; status < METRICS_GRPC_STATUS_COUNT; status++) {
            uint64_t count = count_of(&metrics->calls[method][status]);
            if (count == 0)
                continue;
            buffer_printf(text,
                          "symbolizer_grpc_calls_total{method=\"%s\",code=\"%s\"} %" PRIu64 "\n",
                          methods[method], grpc_status_name((enum grpc_status)status), count);
        }
    }
}

static void render_load(const struct metrics_snapshot *snapshot, struct buffer *text) {
    gauge(text, "http_connections_open", "HTTP connections.", snapshot->http_connections);
    gauge(text, "grpc_connections_open", "gRPC connections.", snapshot->grpc.connections);
    gauge(text, "grpc_calls_open", "gRPC calls that are not answered yet.", snapshot->grpc.calls);
    describe(text, "tasks_waiting", "gauge", "Pieces of work that wait for a thread.");
    labelled(text, "tasks_waiting", "pool", "query", snapshot->queries_waiting);
    labelled(text, "tasks_waiting", "pool", "upload", snapshot->uploads_waiting);
    labelled(text, "tasks_waiting", "pool", "ask", snapshot->asks_waiting);
    labelled(text, "tasks_waiting", "pool", "write", snapshot->writes_waiting);
}

static void render_tls(const struct metrics_snapshot *snapshot, struct buffer *text) {
    const struct server_tls_stats *stats = &snapshot->tls;
    if (!stats->is_on)
        return;
    describe(text, "tls_refused_total", "counter", "Clients refused in the TLS handshake.");
    labelled(text, "tls_refused_total", "listener", "grpc", stats->refused[SERVER_TLS_GRPC]);
    labelled(text, "tls_refused_total", "listener", "http", stats->refused[SERVER_TLS_HTTP]);
    gauge(text, "tls_certificate_not_after_seconds",
          "When the certificate ends to be valid, in seconds since 1970.",
          stats->not_after > 0 ? (uint64_t)stats->not_after : 0);
}

void metrics_render(const struct metrics *metrics, const struct metrics_snapshot *snapshot,
                    struct buffer *ret_text) {
    assert(snapshot->route_count <= METRICS_ROUTE_MAX);
    render_uploads(snapshot, ret_text);
    render_builds(snapshot, ret_text);
    render_indexes(snapshot, ret_text);
    render_catalog(snapshot, ret_text);
    render_compactor(snapshot, ret_text);
    render_losses(snapshot, ret_text);
    render_orphans(snapshot, ret_text);
    render_lookups(metrics, ret_text);
    render_requests(metrics, snapshot, ret_text);
    render_calls(metrics, ret_text);
    render_load(snapshot, ret_text);
    render_tls(snapshot, ret_text);
}
