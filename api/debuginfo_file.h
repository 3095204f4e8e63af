/*
 * GET and HEAD /v1/debuginfo/{build_id}/file: the bytes of a stored file as they were uploaded,
 * whole or a range, with the digest as entity tag. A compressed file is inflated by the frames that
 * are asked for.
 */
#pragma once

#include "api/http_server.h"
#include "cache/blob_store.h"
#include "cache/catalog.h"

void debuginfo_file_answer(struct http_exchange *exchange, struct catalog *catalog,
                           struct blob_store *blobs);
