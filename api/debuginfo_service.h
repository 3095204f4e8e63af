/*
 * `parca.debuginfo.v1alpha1.DebuginfoService` on the upload core: translates messages, ids and
 * errors, and keeps no state of its own.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/task_pool.h"
#include "ingest/upload.h"
#include "rpc/grpc_server.h"

struct debuginfo_service;

/* Borrows all it is given. Blocking steps run on the pool. */
enum err debuginfo_service_new(struct ingest *ingest, struct task_pool *pool, const struct log *log,
                               struct debuginfo_service **ret_service, struct error *error);
const struct grpc_service *debuginfo_service_grpc(const struct debuginfo_service *service);
void debuginfo_service_free(struct debuginfo_service *service);
DEFINE_CLEANUP(debuginfo_service, struct debuginfo_service, debuginfo_service_free)
