/*
 * A file that comes in one request (HTTP PUT): no hash is said before, its size need not be known,
 * nor its build ID, which is then read out of the bytes (GNU, else Go, else htlhash).
 *
 * Other uploaders see a put of a known build ID as an upload in progress. One that is given up, or
 * refused because something else is stored already, leaves nothing; one whose bytes are refused
 * leaves a failed upload with the reason.
 *
 * Threads: a put belongs to one thread at a time.
 */
#pragma once

#include "ingest/upload.h"
#include "ingest/upload_verify.h"

struct upload_put;

struct upload_claim {
    bool has_id;
    struct binary_id id;
    enum artifact_type type;
    bool has_size;
    uint64_t size;
    bool force; /* also while another upload is in progress, and over a good object */
};

/* Blocks (a commit). ERR_INVALID: no bytes, or sources without a build ID; ERR_LIMIT: over the
 * maximum; ERR_STATE: another upload is in progress; ERR_EXHAUSTED: no place for an upload. */
enum err upload_put_open(struct ingest *ingest, const struct request_context *context,
                         const struct upload_claim *claim, struct upload_put **ret_put,
                         struct error *error);

/* ERR_LIMIT: more than the maximum, or than the claim says; ERR_STATE: another upload took over. */
enum err upload_put_append(struct upload_put *put, const void *bytes, size_t size,
                           struct error *error);

struct upload_put_result {
    struct binary_id id; /* the claimed one, or the one that was found */
    struct upload_identity identity;
    enum artifact_type type;
    uint64_t size;
    struct digest digest;
    bool existed; /* these bytes were stored for this id and type before */
};

/* Blocks (fsync, worker, commit). ERR_UNSUPPORTED: the bytes are refused; ERR_EXISTS: a good object
 * with other bytes is stored and force was not said; ERR_INVALID: no bytes or too few;
 * ERR_UNAVAILABLE: our own trouble. */
enum err upload_put_finish(struct upload_put *put, struct upload_put_result *ret_result,
                           struct error *error);

/* Gives up what is not finished. Blocks (a commit, a file that may be large). */
void upload_put_free(struct upload_put *put);
DEFINE_CLEANUP(upload_put, struct upload_put, upload_put_free)
