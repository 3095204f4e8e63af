/* What the parts of the upload state machine share: questions and initiating (upload.c), taking
 * over (upload_replace.c), receiving (upload_stream.c), finishing (upload_finish.c), all in one
 * request (upload_put.c), removing (purge.c), and losing (file_check.c). */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "ingest/upload.h"
#include "ingest/upload_table_internal.h"

struct ingest {
    int64_t (*wall_ms)(void);
    struct catalog *catalog;
    struct blob_store *blobs;
    struct build_queue *queue;
    struct workers *workers;
    struct upload_table *table;
    pthread_rwlock_t publishing; /* read: a blob appears before its rows; write: one is removed */
    _Atomic uint64_t upload_size_max; /* these may change */
    _Atomic int64_t stale_after_ms;
    _Atomic uint64_t initiated;
    _Atomic uint64_t finished;
    _Atomic uint64_t failed;
    _Atomic uint64_t stale;
    _Atomic uint64_t replaced;
    _Atomic uint64_t interrupted;
    _Atomic uint64_t bytes_received;
    _Atomic uint64_t files_missing;
    _Atomic uint64_t files_damaged;
};

int64_t ingest_stale_ms(const struct ingest *ingest, const struct upload_row *row);

/* Empty: there was none. */
struct upload_replacement {
    char upload_id[UPLOAD_ID_SIZE];
    bool was_stale;
};

/* Within the transaction that begins the upload that takes over: ends the row of the other one. */
enum err upload_replace(struct catalog_txn *txn, const struct ingest *ingest, const char *tenant,
                        struct upload_row *row, struct upload_replacement *ret_replacement,
                        struct error *error);
/* After its commit: what is received for the other one is dropped. */
void upload_replaced(struct ingest *ingest, const char *tenant,
                     const struct upload_replacement *replacement);

enum err ingest_random_upload_id(char ret_text[static UPLOAD_ID_SIZE], struct error *error);

/* Around publishing a blob and committing the rows that need it, so that nobody removes it in
 * between because no row needs it. */
void ingest_publishing_begin(struct ingest *ingest);
void ingest_publishing_end(struct ingest *ingest);
