/* What the unary methods (debuginfo_service.c) and the streaming one (debuginfo_upload.c) share. */
#pragma once

#include <stdatomic.h>

#include "api/debuginfo_service.h"
#include "base/block_list.h"
#include "base/request_context.h"
#include "rpc/grpc_service.h"
#include "rpc/grpc_unary.h"
#include "rpc/message.h"

#define DEBUGINFO_UNARY_COUNT 3

struct debuginfo_service {
    struct ingest *ingest;
    struct task_pool *pool;
    struct task_pool *asks;
    struct task_pool *writers;
    struct block_pool *blocks;
    _Atomic int64_t window_left; /* of what all Upload calls may send ahead; below 0 when many */
    const struct log *log;
    struct metrics *metrics;
    const struct upload_urls *urls;
    struct grpc_unary unary[DEBUGINFO_UNARY_COUNT];
    struct grpc_method methods[DEBUGINFO_UNARY_COUNT + 1];
    struct grpc_service grpc;
};

extern const struct grpc_method_functions debuginfo_upload_functions;

/* The context of a call, as made at the edge. */
struct request_context debuginfo_context(const struct grpc_call *call);

/*
 * The id that an upload was initiated for. Upload and MarkUploadFinished say the build ID without
 * its kind, which is therefore taken from the upload; where there is none of that upload_id and
 * text, the text alone decides, as for clients that never say the kind. Blocks shortly.
 */
enum err debuginfo_upload_id(const struct debuginfo_service *service,
                             const struct request_context *context, const char *build_id,
                             const char *upload_id, struct binary_id *ret_id, struct error *error);

/* Ends the call: with the message when err is ERR_OK, else with what the error maps to. */
void debuginfo_answer(struct grpc_call *call, enum err err, const struct error *error,
                      const ProtobufCMessage *message);

/* What one line of the log says about a call. */
struct debuginfo_record {
    const char *method;
    const char *build_id;
    const char *upload_id; /* NULL: none yet */
    const char *reason;    /* NULL: none */
    uint64_t size;
    int64_t started_ms; /* clock_mono_ms() */
};

/* Logs and counts an answered call. */
void debuginfo_log(const struct debuginfo_service *service, const struct request_context *context,
                   enum log_level level, const struct debuginfo_record *record, enum err err,
                   const struct error *error);
