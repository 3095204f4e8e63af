/*
 * PUT /v1/debuginfo and PUT /v1/debuginfo/{build_id}: the body goes from the connection into an
 * upload_put, piece by piece, on the network thread; opening and finishing, which wait for the disk
 * and a worker, run on the pool.
 */
#pragma once

#include "api/http_server.h"
#include "api/module_resolver.h"
#include "ingest/upload.h"

/* All borrowed. */
struct http_upload_config {
    struct ingest *ingest;
    const struct module_resolver *resolver;
    struct task_pool *pool; /* where what was given up is removed */
};

/* A route's prepare; has_id: {build_id} is in its path. */
void http_upload_prepare(struct http_exchange *exchange, const struct http_upload_config *config,
                         bool has_id);

/* And its handler: 201, or 200 when the same bytes were there. */
void http_upload_finish(struct http_exchange *exchange);
