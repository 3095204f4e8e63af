/*
 * GET and HEAD /v1/debuginfo/{build_id}/file: the bytes of a stored file as they were uploaded,
 * whole or a range, with the digest as entity tag. A compressed file is inflated by the frames that
 * are asked for.
 *
 * No wrong bytes are given for right ones. A whole file is hashed on its way, and its last piece
 * only goes out when the digest is that of the upload: else the answer is an error, or ends early
 * if it has begun. Of a range of a compressed file each frame has a checksum; before a range of a
 * raw one the whole file is hashed, once while the server runs. A file that is found to be damaged
 * or missing is marked, so that it is asked for again.
 */
#pragma once

#include "api/http_server.h"
#include "cache/blob_store.h"
#include "cache/catalog.h"
#include "ingest/upload.h"

/* Borrowed, until the last answer has ended. */
struct debuginfo_files {
    struct catalog *catalog;
    struct blob_store *blobs;
    struct ingest *ingest;
    struct task_pool *pool; /* whose tasks may wait for disks */
};

/* Blocks: a file may be read whole. */
void debuginfo_file_answer(struct http_exchange *exchange, const struct debuginfo_files *files);
