#include "api/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Statuses that the service answers; the last place is for all others. */
static const unsigned statuses[] = {200, 400, 404, 405, 409, 413, 415, 422,
                                    429, 499, 500, 501, 503, 504, 0};

struct metrics {
    atomic_uint_fast64_t requests[METRICS_ROUTE_MAX][ARRAY_SIZE(statuses)];
    atomic_uint_fast64_t lookups;
    atomic_uint_fast64_t misses[METRICS_MISS_COUNT];
};

struct metrics *metrics_new(void) {
    return calloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *metrics) {
    free(metrics);
}

void metrics_count_request(struct metrics *metrics, size_t route, unsigned status) {
    assert(route < METRICS_ROUTE_MAX);
    size_t place = 0;
    while (statuses[place] && statuses[place] != status)
        place++;
    atomic_fetch_add_explicit(&metrics->requests[route][place], 1, memory_order_relaxed);
}

void metrics_count_lookups(struct metrics *metrics, uint64_t addresses) {
    atomic_fetch_add_explicit(&metrics->lookups, addresses, memory_order_relaxed);
}

void metrics_count_misses(struct metrics *metrics,
                          const uint64_t misses[static METRICS_MISS_COUNT]) {
    for (size_t miss = SYMBOL_MISS_NONE + 1; miss < METRICS_MISS_COUNT; miss++)
        if (misses[miss])
            atomic_fetch_add_explicit(&metrics->misses[miss], misses[miss], memory_order_relaxed);
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

static void render_uploads(const struct metrics_sources *sources, struct buffer *text) {
    struct ingest_stats stats;
    ingest_stats_read(sources->ingest, &stats);
    describe(text, "uploads_total", "counter", "Uploads by what became of them.");
    labelled(text, "uploads_total", "outcome", "initiated", stats.initiated);
    labelled(text, "uploads_total", "outcome", "finished", stats.finished);
    labelled(text, "uploads_total", "outcome", "failed", stats.failed);
    counter(text, "upload_bytes_total", "Bytes of uploads received.", stats.bytes_received);
    gauge(text, "upload_streams_open", "Uploads whose bytes are arriving.", stats.streams_open);
}

static void render_builds(const struct metrics_sources *sources, struct buffer *text) {
    struct build_queue_stats stats;
    build_queue_stats_read(sources->builds, &stats);
    describe(text, "builds_total", "counter", "Index builds by outcome.");
    labelled(text, "builds_total", "outcome", "ok", stats.ok);
    labelled(text, "builds_total", "outcome", "malformed", stats.malformed);
    labelled(text, "builds_total", "outcome", "unsupported", stats.unsupported);
    labelled(text, "builds_total", "outcome", "parser_killed", stats.killed);
    labelled(text, "builds_total", "outcome", "failed", stats.failed);
    describe(text, "build_seconds_total", "counter", "Time spent in builds that ended.");
    buffer_printf(text, "symbolizer_build_seconds_total %" PRIu64 ".%03u\n",
                  stats.build_ms_sum / 1000, (unsigned)(stats.build_ms_sum % 1000));
    gauge(text, "builds_queued", "Builds that wait for a worker.", stats.queued);
    gauge(text, "builds_running", "Builds in a worker.", stats.running);
}

static void render_indexes(const struct metrics_sources *sources, struct buffer *text) {
    struct index_cache_stats stats;
    index_cache_stats_read(sources->indexes, &stats);
    gauge(text, "index_disk_bytes", "Index files on disk, in bytes.", stats.disk_size);
    gauge(text, "index_files", "Index files on disk.", stats.disk_count);
    gauge(text, "index_mapped_bytes", "Index files mapped, in bytes.", stats.mapped_size);
    gauge(text, "index_maps", "Index files mapped.", stats.mapped_count);
    counter(text, "index_hits_total", "Indexes asked for that were mapped.", stats.hits);
    counter(text, "index_opens_total", "Indexes asked for that had to be mapped.", stats.opens);
    counter(text, "index_misses_total", "Indexes asked for that were not on disk.", stats.misses);
    counter(text, "index_evictions_total", "Index files removed for space.", stats.evictions);
}

static void render_lookups(const struct metrics *metrics, struct buffer *text) {
    counter(text, "lookup_addresses_total", "Addresses looked up in an index.",
            atomic_load_explicit(&metrics->lookups, memory_order_relaxed));
    describe(text, "lookup_misses_total", "counter",
             "Addresses answered with a reason why something is missing.");
    for (int miss = SYMBOL_MISS_NONE + 1; miss < METRICS_MISS_COUNT; miss++)
        labelled(text, "lookup_misses_total", "reason", symbol_miss_name((enum symbol_miss)miss),
                 atomic_load_explicit(&metrics->misses[miss], memory_order_relaxed));
}

static void render_requests(const struct metrics *metrics, const struct metrics_sources *sources,
                            struct buffer *text) {
    describe(text, "http_requests_total", "counter", "HTTP requests by route and status.");
    for (size_t route = 0; route < sources->route_count; route++) {
        for (size_t place = 0; place < ARRAY_SIZE(statuses); place++) {
            uint64_t count =
                atomic_load_explicit(&metrics->requests[route][place], memory_order_relaxed);
            if (count == 0)
                continue;
            buffer_printf(text, "symbolizer_http_requests_total{path=\"%s\",code=\"",
                          sources->route_names[route]);
            if (statuses[place])
                buffer_printf(text, "%u", statuses[place]);
            else
                buffer_append_cstr(text, "other");
            buffer_printf(text, "\"} %" PRIu64 "\n", count);
        }
    }
}

void metrics_render(const struct metrics *metrics, const struct metrics_sources *sources,
                    struct buffer *ret_text) {
    assert(sources->route_count <= METRICS_ROUTE_MAX);
    render_uploads(sources, ret_text);
    render_builds(sources, ret_text);
    render_indexes(sources, ret_text);
    render_lookups(metrics, ret_text);
    render_requests(metrics, sources, ret_text);
}
