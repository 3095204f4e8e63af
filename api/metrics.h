/*
 * What the surfaces count, in C11 atomics, and the text in which all counters are shown: the
 * Prometheus exposition format 0.0.4. Labels are bounded: route patterns, method names, status
 * codes, reasons; never anything a client said.
 *
 * Threads: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "api/module_resolver.h"
#include "api/server_tls.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/symbol.h"
#include "base/task_pool.h"
#include "cache/blob_compactor.h"
#include "cache/catalog.h"
#include "cache/index_cache.h"
#include "ingest/build_queue.h"
#include "ingest/orphan_sweep.h"
#include "ingest/upload.h"
#include "rpc/grpc_server.h"
#include "rpc/grpc_status.h"

#define METRICS_ROUTE_MAX 32
#define METRICS_MISS_COUNT (SYMBOL_MISS_DENIED + 1)
#define METRICS_MODULE_STATUS_COUNT (MODULE_DENIED + 1)

struct metrics;

/* NULL when out of memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
DEFINE_CLEANUP(metrics, struct metrics, metrics_free)

/* route: below METRICS_ROUTE_MAX. A status that the service does not use counts as "other". */
void metrics_count_request(struct metrics *metrics, size_t route, unsigned status);

/* A gRPC call of DebuginfoService that was answered. Another method counts as "other". */
void metrics_count_call(struct metrics *metrics, const char *method, enum grpc_status status);

/* `misses` by enum symbol_miss; NONE is not counted. */
void metrics_count_lookups(struct metrics *metrics, uint64_t addresses);
void metrics_count_misses(struct metrics *metrics,
                          const uint64_t misses[static METRICS_MISS_COUNT]);
/* A module of a question was answered so. */
void metrics_count_module(struct metrics *metrics, enum module_status status);

/* The parts whose own counters are shown beside ours. All borrowed. */
struct metrics_sources {
    struct catalog *catalog;
    struct index_cache *indexes;
    struct blob_compactor *compactor; /* NULL: nothing is compressed */
    struct orphan_sweeper *sweeper;   /* NULL: nothing is swept */
    struct build_queue *builds;
    struct ingest *ingest;
    struct grpc_server *grpc;
    struct server_tls *tls;
    struct task_pool *queries;
    struct task_pool *uploads;
    struct task_pool *asks;
    struct task_pool *writers;
};

/* What the parts had counted at one moment. */
struct metrics_snapshot {
    struct catalog_stats catalog;
    struct index_cache_stats indexes;
    struct blob_compactor_stats compactor;
    struct orphan_sweep_result orphans;
    struct build_queue_stats builds;
    struct ingest_stats ingest;
    struct grpc_server_stats grpc;
    struct server_tls_stats tls;
    size_t queries_waiting;
    size_t uploads_waiting;
    size_t asks_waiting;
    size_t writes_waiting;
    unsigned http_connections;
    const char *const *route_names; /* label values; the last stands for "no route" */
    size_t route_count;
};

/* Fills what the sources tell; the HTTP front's part is left to the caller. */
void metrics_snapshot_read(const struct metrics_sources *sources,
                           struct metrics_snapshot *ret_snapshot);

void metrics_render(const struct metrics *metrics, const struct metrics_snapshot *snapshot,
                    struct buffer *ret_text);
