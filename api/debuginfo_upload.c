/*
 * The streaming method Upload. The request's bytes go from the connection to upload_stream_append
 * on the network loop; opening and completing, which wait for the disk, run on the pool while the
 * call is paused or its request has ended. So the loop and the pool never hold the stream at once.
 */
#include <stdlib.h>

#include "api/debuginfo_ids.h"
#include "api/debuginfo_service_internal.h"
#include "api/upload_request.h"
#include "base/clock.h"
#include "rpc/proto/debuginfo.pb-c.h"

struct upload_call {
    struct debuginfo_service *service;
    struct grpc_call *call; /* a reference while it is on the pool */
    struct request_context context;
    struct upload_request_reader reader;
    Parca__Debuginfo__V1alpha1__UploadInfo *info; /* NULL until it came */
    struct upload_stream *stream;                 /* NULL until it is open */
    bool on_pool;                                 /* which owns the stream then */
    uint64_t size;                                /* of the chunks so far */
    int64_t started_ms;
};

static void *upload_open(const struct grpc_method *method, struct grpc_call *call) {
    struct upload_call *upload = calloc(1, sizeof(*upload));
    if (!upload)
        return NULL;
    upload->service = method->data;
    upload->call = call;
    upload->context = debuginfo_context(call);
    upload->started_ms = clock_mono_ms();
    return upload;
}

static void log_upload(const struct upload_call *upload, enum err err, const struct error *error) {
    const struct debuginfo_record record = {
        .method = "Upload",
        .build_id = upload->info ? upload->info->build_id : NULL,
        .upload_id = upload->info ? upload->info->upload_id : NULL,
        .size = upload->size,
        .started_ms = upload->started_ms,
    };
    debuginfo_log(upload->service, &upload->context, LOG_LEVEL_INFO, &record, err, error);
}

/* The client may send the upload again as soon as it knows, so our hold on it ends first. */
static void give_up(struct upload_call *upload) {
    if (upload->stream)
        upload_stream_abandon(upload->stream);
}

static void refuse(struct upload_call *upload, const struct error *error) {
    give_up(upload);
    debuginfo_answer(upload->call, error->code, error, NULL);
    log_upload(upload, error->code, error);
}

/* Runs the function on the pool with a reference to the call. */
static enum err submit(struct upload_call *upload, task_function *function, struct error *error) {
    grpc_call_ref(upload->call);
    upload->on_pool = true;
    enum err err = task_pool_submit(upload->service->pool, function, upload, error);
    if (err != ERR_OK) {
        upload->on_pool = false;
        grpc_call_unref(upload->call);
    }
    return err;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void resume(void *state, struct grpc_call *call) {
    struct upload_call *upload = state;
    upload->on_pool = false;
    grpc_call_resume(call);
}

static enum err open_stream(struct upload_call *upload, struct error *error) {
    const Parca__Debuginfo__V1alpha1__UploadInfo *info = upload->info;
    struct binary_id id;
    enum artifact_type type;
    enum err err = debuginfo_type_parse(info->type, &type, error);
    if (err == ERR_OK)
        err = debuginfo_upload_id(upload->service, &upload->context, info->build_id,
                                  info->upload_id, &id, error);
    if (err == ERR_OK)
        err = upload_stream_open(upload->service->ingest, &upload->context, &id, type,
                                 info->upload_id, &upload->stream, error);
    return err;
}

static void run_open(void *argument) {
    struct upload_call *upload = argument;
    struct error error;
    if (!grpc_call_is_over(upload->call)) {
        if (open_stream(upload, &error) == ERR_OK)
            grpc_call_post(upload->call, resume);
        else
            refuse(upload, &error);
    }
    grpc_call_unref(upload->call);
}

/* --- receiving -------------------------------------------------------------------------------- */

static enum err take_info(struct upload_call *upload, struct span bytes, struct error *error) {
    if (upload->info)
        return error_set(error, ERR_INVALID, "info was sent twice");
    ProtobufCMessage *message = NULL;
    enum err err = debuginfo_unpack(&parca__debuginfo__v1alpha1__upload_info__descriptor, bytes,
                                    &message, error);
    if (err != ERR_OK)
        return err;
    upload->info = (void *)message;
    grpc_call_pause(upload->call);
    return submit(upload, run_open, error);
}

static enum err take_chunk(struct upload_call *upload, struct span bytes, struct error *error) {
    if (!upload->stream)
        return error_set(error, ERR_INVALID, "the first message must be the upload info");
    enum err err = upload_stream_append(upload->stream, bytes.data, bytes.size, error);
    if (err == ERR_OK)
        upload->size += bytes.size;
    return err;
}

static void upload_message_begin(void *state, struct grpc_call *call, uint64_t size) {
    (void)call;
    struct upload_call *upload = state;
    struct error error;
    if (upload->service->urls) {
        error_set(&error, ERR_UNIMPLEMENTED,
                  "this server takes uploads at the signed URL that InitiateUpload answers");
        refuse(upload, &error);
        return;
    }
    upload_request_begin(&upload->reader, size);
}

static void upload_message_bytes(void *state, struct grpc_call *call, struct span bytes) {
    (void)call;
    struct upload_call *upload = state;
    enum upload_request_event event = UPLOAD_REQUEST_INFO;
    enum err err = ERR_OK;
    struct error error;
    while (err == ERR_OK && event != UPLOAD_REQUEST_MORE) {
        struct span data = {NULL, 0};
        err = upload_request_next(&upload->reader, &bytes, &event, &data, &error);
        if (err == ERR_OK && event == UPLOAD_REQUEST_INFO)
            err = take_info(upload, data, &error);
        else if (err == ERR_OK && event == UPLOAD_REQUEST_CHUNK)
            err = take_chunk(upload, data, &error);
    }
    if (err != ERR_OK)
        refuse(upload, &error);
}

static void upload_message_end(void *state, struct grpc_call *call) {
    (void)call;
    struct upload_call *upload = state;
    struct error error;
    if (upload_request_end(&upload->reader, &error) != ERR_OK)
        refuse(upload, &error);
}

/* --- completing ------------------------------------------------------------------------------- */

static void run_complete(void *argument) {
    struct upload_call *upload = argument;
    struct error error;
    Parca__Debuginfo__V1alpha1__UploadResponse response =
        PARCA__DEBUGINFO__V1ALPHA1__UPLOAD_RESPONSE__INIT;
    response.build_id = upload->info->build_id;
    enum err err = upload_stream_complete(upload->stream, &response.size, &error);
    if (err != ERR_OK)
        give_up(upload);
    debuginfo_answer(upload->call, err, &error, &response.base);
    log_upload(upload, err, &error);
    grpc_call_unref(upload->call);
}

static void upload_request_ended(void *state, struct grpc_call *call) {
    (void)call;
    struct upload_call *upload = state;
    struct error error;
    enum err err = ERR_OK;
    if (!upload->stream)
        err = error_set(&error, ERR_INVALID, "the request has no upload info");
    if (err == ERR_OK)
        err = submit(upload, run_complete, &error);
    if (err != ERR_OK)
        refuse(upload, &error);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void upload_cancelled(void *state, struct grpc_call *call) {
    (void)call;
    struct upload_call *upload = state;
    struct error error;
    if (!upload->on_pool)
        give_up(upload);
    error_set(&error, ERR_CANCELLED, "the client went away or the deadline passed");
    log_upload(upload, ERR_CANCELLED, &error);
}

static void free_stream(void *argument) {
    upload_stream_free(argument);
}

static void upload_free(void *state) {
    struct upload_call *upload = state;
    struct error error;
    give_up(upload);
    if (upload->stream) {
        /* Removing what was received may take long, but a full pool leaves no other thread. */
        if (task_pool_submit(upload->service->pool, free_stream, upload->stream, &error) != ERR_OK)
            upload_stream_free(upload->stream);
    }
    if (upload->info)
        debuginfo_message_free(&upload->info->base);
    free(upload);
}

const struct grpc_method_functions debuginfo_upload_functions = {
    .open = upload_open,
    .message_begin = upload_message_begin,
    .message_bytes = upload_message_bytes,
    .message_end = upload_message_end,
    .request_end = upload_request_ended,
    .cancelled = upload_cancelled,
    .free = upload_free,
};
