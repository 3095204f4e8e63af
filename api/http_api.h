/*
 * The HTTP API (docs/API.md): its routes, and the handlers that translate between HTTP and the
 * services behind it.
 *
 * Stopping: build_waiter_stop, then http_server_stop (requests that wait are then answered as
 * things stand), then the pool may go.
 */
#pragma once

#include "api/build_waiter.h"
#include "api/debuginfo_file.h"
#include "api/http_server.h"
#include "api/http_upload.h"
#include "api/metrics.h"
#include "api/module_resolver.h"
#include "api/signed_upload.h"
#include "base/log.h"

/* All borrowed. */
struct http_api {
    struct module_resolver resolver;
    struct build_waiter *waiter;
    struct task_pool *pool;
    struct ingest *ingest;
    struct debuginfo_files files;
    struct signed_upload_config signed_uploads;
    struct http_upload_config uploads;
    struct metrics *metrics;
    struct metrics_sources sources;
    const struct log *log;
    _Atomic bool access_log; /* may change; each request is an event at level info */
};

/* Fills in the routes, argument and observer of a server's configuration. */
void http_api_configure(struct http_api *api, struct http_server_config *config);
