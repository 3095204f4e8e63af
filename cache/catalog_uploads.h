/* Uploads in the catalog: one row per InitiateUpload that was accepted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "cache/artifact.h"
#include "cache/catalog.h"

/* Stored: values are never reused. */
enum upload_state {
    UPLOAD_UPLOADING = 1,
    UPLOAD_UPLOADED = 2,
    UPLOAD_FAILED = 3,
    UPLOAD_PURGED = 4,
    UPLOAD_ABANDONED = 5,   /* another upload of the same id and type took over */
    UPLOAD_INTERRUPTED = 6, /* the server went down meanwhile: no fault of the bytes */
};

#define UPLOAD_ID_SIZE 37 /* UUID text with NUL */
#define UPLOAD_HASH_MAX 255

struct upload_row {
    char upload_id[UPLOAD_ID_SIZE];
    struct binary_id id;
    enum artifact_type type;
    char hash[UPLOAD_HASH_MAX + 1]; /* as the uploader said it: no hash of the payload */
    uint64_t declared_size;
    enum upload_state state;
    char reason[512];    /* of a failure; else empty */
    char uploader[128];  /* principal */
    int64_t started_ms;  /* wall clock */
    int64_t finished_ms; /* 0: not finished */
    int64_t object_id;   /* 0: none */
};

enum err catalog_upload_insert(struct catalog_txn *txn, const char *tenant,
                               const struct upload_row *row, struct error *error);

/* ERR_NOT_FOUND. */
enum err catalog_upload_get(struct catalog_txn *txn, const char *tenant, const char *upload_id,
                            struct upload_row *ret_row, struct error *error);

/* The most recently started upload of this id and type that is not abandoned; ERR_NOT_FOUND. */
enum err catalog_upload_latest(struct catalog_txn *txn, const char *tenant,
                               const struct binary_id *id, enum artifact_type type,
                               struct upload_row *ret_row, struct error *error);

/* Writes state, reason, finished_ms and object_id of the row with this upload_id. */
enum err catalog_upload_update(struct catalog_txn *txn, const char *tenant,
                               const struct upload_row *row, struct error *error);

/* How many uploads of (id, type, hash) failed since then. */
enum err catalog_upload_count_failed(struct catalog_txn *txn, const char *tenant,
                                     const struct binary_id *id, enum artifact_type type,
                                     const char *hash, int64_t since_ms, uint64_t *ret_count,
                                     struct error *error);

/* True if an upload of (id, type) with this hash is stored (uploaded), and not lost since. */
enum err catalog_upload_hash_held(struct catalog_txn *txn, const char *tenant,
                                  const struct binary_id *id, enum artifact_type type,
                                  const char *hash, bool *ret_held, struct error *error);

/* At start: whatever was uploading died with the last process and is now interrupted, with this
 * reason. It does not count as failed: the same bytes may be sent again. All tenants. */
enum err catalog_uploads_fail_unfinished(struct catalog_txn *txn, const char *reason,
                                         int64_t now_ms, uint64_t *ret_count, struct error *error);

/* When this (id, type) was last asked to be uploaded again for want of quality; 0: never. */
enum err catalog_invitation_get(struct catalog_txn *txn, const char *tenant,
                                const struct binary_id *id, enum artifact_type type,
                                int64_t *ret_invited_ms, struct error *error);
enum err catalog_invitation_set(struct catalog_txn *txn, const char *tenant,
                                const struct binary_id *id, enum artifact_type type,
                                int64_t invited_ms, struct error *error);
