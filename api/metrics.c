#include "api/metrics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/metrics_internal.h"

struct metrics *metrics_new(void) {
    return calloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics *metrics) {
    free(metrics);
}

static void add(atomic_uint_fast64_t *counter, uint64_t number) {
    atomic_fetch_add_explicit(counter, number, memory_order_relaxed);
}

void metrics_count_request(struct metrics *metrics, size_t route, unsigned status) {
    static const unsigned statuses[] = METRICS_HTTP_STATUSES;
    _Static_assert(ARRAY_SIZE(statuses) == METRICS_HTTP_STATUS_COUNT, "a place for each status");
    assert(route < METRICS_ROUTE_MAX);
    size_t place = 0;
    while (statuses[place] && statuses[place] != status)
        place++;
    add(&metrics->requests[route][place], 1);
}

void metrics_count_call(struct metrics *metrics, const char *method, enum grpc_status status) {
    static const char *const methods[] = METRICS_METHODS;
    _Static_assert(ARRAY_SIZE(methods) == METRICS_METHOD_COUNT, "a place for each method");
    size_t place = 0;
    while (place + 1 < ARRAY_SIZE(methods) && strcmp(methods[place], method) != 0)
        place++;
    assert((unsigned)status < METRICS_GRPC_STATUS_COUNT);
    add(&metrics->calls[place][status], 1);
}

void metrics_count_lookups(struct metrics *metrics, uint64_t addresses) {
    add(&metrics->lookups, addresses);
}

void metrics_count_misses(struct metrics *metrics,
                          const uint64_t misses[static METRICS_MISS_COUNT]) {
    for (size_t miss = SYMBOL_MISS_NONE + 1; miss < METRICS_MISS_COUNT; miss++) {
        if (misses[miss])
            add(&metrics->misses[miss], misses[miss]);
    }
}

void metrics_count_module(struct metrics *metrics, enum module_status status) {
    assert((unsigned)status < METRICS_MODULE_STATUS_COUNT);
    add(&metrics->modules[status], 1);
}

void metrics_snapshot_read(const struct metrics_sources *sources,
                           struct metrics_snapshot *ret_snapshot) {
    struct metrics_snapshot snapshot = {
        .queries_waiting = task_pool_queue_length(sources->queries),
        .uploads_waiting = task_pool_queue_length(sources->uploads),
        .asks_waiting = task_pool_queue_length(sources->asks),
        .writes_waiting = task_pool_queue_length(sources->writers),
    };
    catalog_stats_read(sources->catalog, &snapshot.catalog);
    index_cache_stats_read(sources->indexes, &snapshot.indexes);
    if (sources->compactor)
        blob_compactor_stats_read(sources->compactor, &snapshot.compactor);
    if (sources->sweeper)
        orphan_sweeper_stats_read(sources->sweeper, &snapshot.orphans);
    build_queue_stats_read(sources->builds, &snapshot.builds);
    ingest_stats_read(sources->ingest, &snapshot.ingest);
    grpc_server_stats_read(sources->grpc, &snapshot.grpc);
    server_tls_stats_read(sources->tls, &snapshot.tls);
    *ret_snapshot = snapshot;
}
