/*
 * Deleting what is stored under a build ID: uploads, objects with all their names, the indexes made
 * from them, and the bytes that no other object needs, of one tenant. The rows go in one
 * transaction, so that answers change at once; what was answered by an index that had a removed
 * object for input is planned anew from what is left. A build that is under way for a removed
 * object comes to nothing. Who offers the build ID again is told that it was purged.
 *
 * Backups and copies that askers hold are not ours to delete. What a crash leaves behind after the
 * transaction is found by ingest/orphan_sweep.h.
 *
 * Fault points: purge.after_commit, purge.after_indexes, purge.after_blob.
 */
#pragma once

#include "cache/index_cache.h"
#include "ingest/upload.h"

struct purge_request {
    struct binary_id id;
    enum artifact_type type;
    bool has_type; /* else all types */
};

struct purge_result {
    uint64_t objects;
    uint64_t uploads;
};

/* Blocks (a commit, files). ERR_NOT_FOUND: nothing is known of the build ID, or nothing any more.
 * ERR_IO: the rows are gone, but a file could not be removed. */
enum err ingest_purge(struct ingest *ingest, struct index_cache *indexes,
                      const struct request_context *context, const struct purge_request *request,
                      struct purge_result *ret_result, struct error *error);
