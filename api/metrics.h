/*
 * What the surfaces count, in C11 atomics, and the text in which all counters are shown: the
 * Prometheus exposition format 0.0.4. Labels are bounded: route patterns, status codes, reasons;
 * never anything a client said.
 *
 * Threads: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/symbol.h"
#include "cache/index_cache.h"
#include "ingest/build_queue.h"
#include "ingest/upload.h"

#define METRICS_ROUTE_MAX 16
#define METRICS_MISS_COUNT (SYMBOL_MISS_DENIED + 1)

struct metrics;

/* NULL when out of memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
DEFINE_CLEANUP(metrics, struct metrics, metrics_free)

/* route: below METRICS_ROUTE_MAX. A status that the service does not use counts as "other". */
void metrics_count_request(struct metrics *metrics, size_t route, unsigned status);

/* `misses` by enum symbol_miss; NONE is not counted. */
void metrics_count_lookups(struct metrics *metrics, uint64_t addresses);
void metrics_count_misses(struct metrics *metrics,
                          const uint64_t misses[static METRICS_MISS_COUNT]);

/* The parts whose own counters are shown beside ours. */
struct metrics_sources {
    struct ingest *ingest;
    struct build_queue *builds;
    struct index_cache *indexes;
    const char *const *route_names; /* label values; the last stands for "no route" */
    size_t route_count;
};

void metrics_render(const struct metrics *metrics, const struct metrics_sources *sources,
                    struct buffer *ret_text);
