/*
 * The upload state machine, without a transport: what Parca's DebuginfoService, and later others,
 * do with an upload from the first question to the stored object. Answers come from the tenant's
 * own rows alone.
 *
 * Threads: any; a stream belongs to one thread at a time. Functions marked "blocks" wait for the
 * disk or a worker and must run on the task pool, never on a network loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "base/request_context.h"
#include "cache/blob_store.h"
#include "cache/catalog.h"
#include "cache/catalog_uploads.h"
#include "ingest/build_queue.h"
#include "ingest/workers.h"

struct ingest;

struct ingest_limits {
    uint64_t upload_size_max;  /* 0: 4 GiB */
    int64_t stale_after_ms;    /* an upload older than this may be retried; 0: 17 min */
    unsigned upload_count_max; /* streams open at once; 0: 512 */
};

struct ingest_config {
    struct ingest_limits limits;
    int64_t (*wall_ms)(void); /* clock, for tests; NULL: clock_wall_ms */
};

/* Borrows everything it is given, for its lifetime. Opening sweeps the blob store's temporary
 * files, fails the uploads that died with an earlier process, and leaves builds to the queue. */
enum err ingest_open(const struct ingest_config *config, struct catalog *catalog,
                     struct blob_store *blobs, struct build_queue *queue, struct workers *workers,
                     struct ingest **ret_ingest, struct error *error);
/* Other limits, for the uploads that begin from now on. */
void ingest_limit(struct ingest *ingest, const struct ingest_limits *limits);
void ingest_free(struct ingest *ingest);
DEFINE_CLEANUP(ingest, struct ingest, ingest_free)

/* The answers of Parca's table; upload_reason_text gives its exact words, agents compare them. */
enum upload_reason {
    UPLOAD_REASON_FIRST_TIME_SEEN = 1,
    UPLOAD_REASON_STALE,
    UPLOAD_REASON_IN_PROGRESS,
    UPLOAD_REASON_IN_PROGRESS_BUT_FORCED,
    UPLOAD_REASON_EXISTS,
    UPLOAD_REASON_EXISTS_BUT_FORCED,
    UPLOAD_REASON_INVALID,
    UPLOAD_REASON_EQUAL,
    UPLOAD_REASON_NOT_EQUAL,
    UPLOAD_REASON_PURGED,
};

const char *upload_reason_text(enum upload_reason reason);

struct upload_query {
    struct binary_id id;
    enum artifact_type type;
    char hash[UPLOAD_HASH_MAX + 1]; /* may be empty in ShouldInitiateUpload */
    bool force;
};

/* Blocks shortly (a catalog read; a write at most once per id and hour). Answers IN_PROGRESS
 * instead of a yes while all places are taken. */
enum err ingest_should_initiate(struct ingest *ingest, const struct request_context *context,
                                const struct upload_query *query, bool *ret_should,
                                enum upload_reason *ret_reason, struct error *error);

/* Blocks for a commit. Errors and their gRPC codes as Parca's InitiateUpload: ERR_INVALID,
 * ERR_EXISTS, ERR_STATE, and ERR_EXHAUSTED when over the number of streams. */
enum err ingest_initiate(struct ingest *ingest, const struct request_context *context,
                         const struct upload_query *query, uint64_t size,
                         char ret_upload_id[static UPLOAD_ID_SIZE], struct error *error);

/* What an upload was initiated for: protocols whose later messages do not say the id's kind, its
 * type or its size find it here. ERR_NOT_FOUND. Blocks shortly. */
enum err ingest_upload_get(struct ingest *ingest, const struct request_context *context,
                           const char *upload_id, struct upload_row *ret_row, struct error *error);

struct upload_stream;

/* ERR_STATE: no upload was initiated for this id; ERR_INVALID: another upload id than the
 * initiated one. Takes over from a stream of the same upload, whose sender may be gone. */
enum err upload_stream_open(struct ingest *ingest, const struct request_context *context,
                            const struct binary_id *id, enum artifact_type type,
                            const char *upload_id, struct upload_stream **ret_stream,
                            struct error *error);

/*
 * Has the function told, once and on any thread, when the upload is given to somebody else while
 * this stream receives it: ERR_ABORTED for a newer stream of the same upload, ERR_STATE for another
 * upload. It must not block or call the upload core. Not after the stream was completed or
 * abandoned.
 */
typedef void upload_lost_function(void *argument, const struct error *why);
void upload_stream_watch(struct upload_stream *stream, upload_lost_function *lost, void *argument);

/* For the row of ingest_upload_get, where the right to send its bytes is good for one use:
 * ERR_STATE also when they have come already. A stream that ends before it is complete has used
 * nothing. */
enum err upload_stream_open_once(struct ingest *ingest, const struct request_context *context,
                                 const struct upload_row *row, struct upload_stream **ret_stream,
                                 struct error *error);

/* Straight off the wire, any piece size. ERR_INVALID when more than the declared size comes;
 * ERR_ABORTED, ERR_STATE: it was lost to somebody else. */
enum err upload_stream_append(struct upload_stream *stream, const void *bytes, size_t size,
                              struct error *error);

/* All bytes are here. Blocks (fsync). ERR_INVALID when fewer came than were declared: the stream
 * may be sent again while the upload is not stale. The bytes wait for ingest_finish. */
enum err upload_stream_complete(struct upload_stream *stream, uint64_t *ret_size,
                                struct error *error);

/* Gives a stream up without blocking: from here on the upload may be sent again, and this stream
 * can only be freed. */
void upload_stream_abandon(struct upload_stream *stream);

/* Ends a stream; what was not completed is dropped, and the upload may be sent again.
 * Blocks: a large file may be removed. */
void upload_stream_free(struct upload_stream *stream);
DEFINE_CLEANUP(upload_stream, struct upload_stream, upload_stream_free)

/*
 * MarkUploadFinished. Blocks (worker, fsync, commit). Identifies the bytes in a worker, publishes
 * the blob, commits object, names and upload in one transaction and queues the build. ERR_INVALID
 * with the reason when the bytes are refused (not ELF, another build ID); the upload is then
 * `failed`. ERR_NOT_FOUND: no such upload. ERR_UNAVAILABLE: our own trouble, try again.
 */
enum err ingest_finish(struct ingest *ingest, const struct request_context *context,
                       const struct binary_id *id, enum artifact_type type, const char *upload_id,
                       struct error *error);

/*
 * Somebody has found a stored file to be missing or damaged: looks for himself, and if it is so
 * marks all objects that are made of it, so that they are asked for again. ERR_OK also when it is
 * there and whole. Blocks: the file is read. What indexes were made of it go on answering.
 */
enum err ingest_check_file(struct ingest *ingest, const struct digest *digest, struct error *error);

struct ingest_stats {
    uint64_t initiated;
    uint64_t finished;
    uint64_t failed;
    uint64_t stale;       /* another one took over after stale_after_ms */
    uint64_t replaced;    /* another one was forced to take over before */
    uint64_t interrupted; /* by the last restart; or one PUT that was cut off or not taken */
    uint64_t bytes_received;
    uint64_t streams_open;
    uint64_t files_missing; /* found by ingest_check_file */
    uint64_t files_damaged;
};

void ingest_stats_read(struct ingest *ingest, struct ingest_stats *ret_stats);
