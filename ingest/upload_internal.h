/* What the parts of the upload state machine share: questions and initiating (upload.c), receiving
 * (upload_stream.c), finishing (upload_finish.c). */
#pragma once

#include <stdatomic.h>

#include "ingest/upload.h"
#include "ingest/upload_table_internal.h"

struct ingest {
    struct ingest_config config; /* with its defaults filled in */
    struct catalog *catalog;
    struct blob_store *blobs;
    struct build_queue *queue;
    const struct worker_config *workers;
    struct upload_table *table;
    _Atomic uint64_t initiated;
    _Atomic uint64_t finished;
    _Atomic uint64_t failed;
    _Atomic uint64_t bytes_received;
};

int64_t ingest_stale_ms(const struct ingest *ingest, const struct upload_row *row);
