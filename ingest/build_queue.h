/*
 * Makes indexes: one build per key however many ask, a bounded number of workers at once, each with
 * a parent thread of its own. What to build is in the catalog, so a restart loses nothing.
 *
 * A build that fails is kept with its reason and an expiry, after which the next question tries it
 * again; our own trouble (REPORT_FAILED, spawn) is retried with backoff. When the inputs are at
 * fault, the next best set of the id's objects is built in its place (ingest/build_plan.h); when a
 * stored file turns out to be missing or damaged (all its bytes are compared with its digest before
 * each build), its object is marked as gone and the id goes on without it.
 *
 * Fault points: build.after_start, build.after_worker, build.after_publish, build.after_commit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cache/blob_store.h"
#include "cache/catalog.h"
#include "cache/catalog_builds.h"
#include "cache/catalog_objects.h"
#include "cache/index_cache.h"
#include "ingest/workers.h"

struct build_queue;

#define BUILD_WORKERS_MAX 256

struct build_queue_config {
    unsigned worker_count;     /* at most BUILD_WORKERS_MAX; 0: number of CPUs, at most 4 */
    int64_t failure_expiry_ms; /* 0: 1 hour; our own trouble expires after a minute at most */
    int64_t retry_delay_ms;    /* after our own trouble; doubles each time, five times; 0: 1 s */
};

/* Borrows what it is given. Starts the threads, queues again what was running when an earlier
 * process died, and goes on with what is queued. */
enum err build_queue_open(const struct build_queue_config *config, struct catalog *catalog,
                          struct blob_store *blobs, struct index_cache *indexes,
                          struct workers *workers, struct build_queue **ret_queue,
                          struct error *error);

/* So many builds at once from now on (0: the default). One that runs beyond goes on to its end.
 * ERR_UNAVAILABLE when a thread cannot be started; there are then fewer. */
enum err build_queue_set_worker_count(struct build_queue *queue, unsigned worker_count,
                                      struct error *error);

/* Lets running workers be killed; their builds stay queued for the next start. */
void build_queue_free(struct build_queue *queue);
DEFINE_CLEANUP(build_queue, struct build_queue, build_queue_free)

/*
 * Within a write transaction: works out which objects answer best for id, ensures their build and
 * makes it pending for id. Call build_queue_wake after the commit.
 */
enum err build_queue_plan(struct build_queue *queue, struct catalog_txn *txn, const char *tenant,
                          const struct binary_id *id, struct error *error);

/* The same for every name that this new object may answer for: its own names, and those of objects
 * with the same GNU build ID. */
enum err build_queue_plan_object(struct build_queue *queue, struct catalog_txn *txn,
                                 const char *tenant, int64_t object_id, struct error *error);
void build_queue_wake(struct build_queue *queue);

/* The index of this key is gone (evicted, damaged) or its failure has expired: build it again.
 * Cheap when the build is already queued or running. */
enum err build_queue_rebuild(struct build_queue *queue, const char *tenant,
                             const struct digest *key, struct error *error);

/* Blocks until the build of this key is neither queued nor running, or the deadline
 * (clock_mono_ms). True: it ended. */
bool build_queue_wait(struct build_queue *queue, const char *tenant, const struct digest *key,
                      int64_t deadline_mono_ms);

/* Upper bounds of the counts of build times, in milliseconds; longer ones are in the last count. */
#define BUILD_TIME_BOUNDS_MS                                                                       \
    { 10, 50, 100, 500, 1000, 5000, 10000, 30000, 60000, 300000 }
#define BUILD_TIME_COUNT 11

struct build_queue_stats {
    uint64_t queued;
    uint64_t running;
    uint64_t ok;
    uint64_t malformed;
    uint64_t unsupported;
    uint64_t killed;
    uint64_t failed;
    uint64_t files_missing; /* stored files that were found to be lost */
    uint64_t files_damaged;
    uint64_t build_ms_sum;                  /* over all that ended */
    uint64_t build_times[BUILD_TIME_COUNT]; /* how many took at most so long; not summed up */
};

void build_queue_stats_read(struct build_queue *queue, struct build_queue_stats *ret_stats);
