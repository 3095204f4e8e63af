/*
 * One build from its row in state QUEUED to its end: claim it, run the worker over its inputs,
 * publish the index, commit. No threads and no queue: build_queue.c calls this from its own.
 */
#pragma once

#include "ingest/build_queue.h"

/* What all builds of a queue share; borrowed. */
struct build_site {
    struct catalog *catalog;
    struct blob_store *blobs;
    struct index_cache *indexes;
    struct workers *workers;
    int64_t failure_expiry_ms;
    int64_t retry_delay_ms;
    int cancel_fd; /* readable: stop the worker, the process ends */
};

enum build_job_end {
    BUILD_JOB_DONE,    /* ended, with the state below */
    BUILD_JOB_SKIPPED, /* somebody else ended it before */
    BUILD_JOB_AGAIN,   /* our own trouble: it is still queued, try again after the delay */
    BUILD_JOB_STOPPED, /* cancelled; it stays as it is for the next start */
};

struct build_job_result {
    enum build_job_end end;
    enum build_state state; /* BUILD_JOB_DONE */
    int64_t delay_ms;       /* BUILD_JOB_AGAIN */
    bool found_missing;     /* an input's stored file, which nobody had found missing before */
    bool found_damaged;     /* the same */
};

/* Blocks for as long as the worker takes. */
struct build_job_result build_job_run(const struct build_site *site, const char *tenant,
                                      const struct digest *key);

/* How often our own trouble may end a build before it counts as failed. */
#define BUILD_ATTEMPTS_MAX 5

/* True if the build has failed and its failure has expired, or was our own: it may be tried again.
 */
bool build_row_may_retry(const struct build_row *row, int64_t now_ms);

/* True if the inputs are at fault: other sets of objects are to be tried. */
bool build_row_failed_for_good(const struct build_row *row);

/* Within the transaction that ends a build which cannot answer: has every id that it answered for,
 * or should have, answered by the next best set of its objects. */
enum err build_plan_instead(struct catalog_txn *txn, const char *tenant,
                            const struct digest *failed, struct error *error);

/* Makes the row one that was never tried. */
void build_row_requeue(struct build_row *row);
