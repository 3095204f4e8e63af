/*
 * `parca.debuginfo.v1alpha1.DebuginfoService` on the upload core: translates messages, ids and
 * errors, and keeps no state of its own.
 */
#pragma once

#include "api/metrics.h"
#include "api/upload_url.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/task_pool.h"
#include "ingest/upload.h"
#include "rpc/grpc_server.h"

struct debuginfo_service;

struct debuginfo_service_config {
    struct ingest *ingest;
    struct task_pool *pool;    /* for steps that take long: disk syncs, workers */
    struct task_pool *asks;    /* for questions and beginnings, which clients wait for: commits */
    struct task_pool *writers; /* for hashing and writing what is received */
    const struct log *log;
    struct metrics *metrics;
    const struct upload_urls *urls; /* NULL: bytes come by the Upload method; else they come to
                                     * signed URLs, and that method is not implemented */
};

/* Borrows all it is given. */
enum err debuginfo_service_new(const struct debuginfo_service_config *config,
                               struct debuginfo_service **ret_service, struct error *error);
const struct grpc_service *debuginfo_service_grpc(const struct debuginfo_service *service);
void debuginfo_service_free(struct debuginfo_service *service);
DEFINE_CLEANUP(debuginfo_service, struct debuginfo_service, debuginfo_service_free)
