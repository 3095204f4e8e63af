/*
 * Compresses stored blobs in the background: one thread of lowest priority, one blob at a time,
 * only those that have been there for a while, since a fresh one is about to be read by a build.
 *
 * Threads: any. Errors end up in the statistics: a blob that cannot be compressed stays raw.
 */
#pragma once

#include <stdint.h>

#include "cache/blob_store.h"

struct blob_compactor;

#define BLOB_COMPRESS_NEVER INT64_MAX

struct blob_compactor_config {
    int64_t age_min_ms;  /* of a blob's file */
    int64_t interval_ms; /* from one look at all blobs to the next; 0: 10 min */
    /* A blob was found to be damaged; from the compactor's thread. NULL: nobody wants to know. */
    void (*found_damaged)(void *argument, const struct digest *digest);
    void *argument;
};

/* Borrows the store, which must have been swept before. Starts with a look at all blobs. */
enum err blob_compactor_new(const struct blob_compactor_config *config, struct blob_store *store,
                            struct blob_compactor **ret_compactor, struct error *error);

/* Another age, by which it looks again soon. Never blocks for long. */
void blob_compactor_set_age(struct blob_compactor *compactor, int64_t age_min_ms);

/* Breaks off what is being compressed. */
void blob_compactor_free(struct blob_compactor *compactor);
DEFINE_CLEANUP(blob_compactor, struct blob_compactor, blob_compactor_free)

struct blob_compactor_stats {
    uint64_t passes;     /* looks at all blobs that have ended */
    uint64_t compressed; /* blobs */
    uint64_t kept;       /* not worth it */
    uint64_t failed;
    uint64_t raw_size;    /* of those compressed, before */
    uint64_t stored_size; /* and after */
    struct error last;    /* failure; code ERR_OK: none */
};

void blob_compactor_stats_read(struct blob_compactor *compactor,
                               struct blob_compactor_stats *ret_stats);
