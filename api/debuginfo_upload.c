/*
 * The streaming method Upload. The network loop gathers the request's bytes in blocks; a pool opens
 * the stream, hashes and writes what has been gathered, and completes it: one step at a time, which
 * owns the stream while it runs and comes back to the loop with how it went. The loop goes on
 * meanwhile, so that a slow disk holds up nobody else; how much it gathers is bounded by the
 * stream's window, since the client may send on only as bytes are written.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "api/debuginfo_ids.h"
#include "api/debuginfo_service_internal.h"
#include "api/upload_request.h"
#include "base/block_list.h"
#include "base/clock.h"
#include "rpc/proto/debuginfo.pb-c.h"

/* All uploads together may send ahead about this much; each newcomer is given a part of what is
 * left of it, and at least what any call has. */
#define WINDOW_SHARE 8

struct upload_call {
    struct debuginfo_service *service;
    struct grpc_call *call; /* a reference while it is on the pool */
    struct request_context context;
    struct upload_request_reader reader;
    Parca__Debuginfo__V1alpha1__UploadInfo *info; /* NULL until it came */
    struct upload_stream *stream;                 /* NULL until it is open; the step's, if any */
    size_t window_size;
    struct block_list received; /* by the loop */
    uint64_t size;              /* of the chunks so far */
    int64_t started_ms;
    bool request_ended;
    bool refused; /* `failure` is to be answered once no step runs */
    bool logged;
    struct error failure;
    atomic_bool lost; /* to somebody else, which was answered */

    /* The pool's while a step runs. */
    bool on_pool; /* a step is running; the loop's own note */
    struct block_list writing;
    struct error step_error; /* code ERR_OK when the step went well */
};

/* --- the window ------------------------------------------------------------------------------- */

static size_t lend_window(struct debuginfo_service *service) {
    int64_t left = atomic_load(&service->window_left);
    int64_t size = left / WINDOW_SHARE;
    if (size < (int64_t)GRPC_WINDOW_SIZE)
        size = GRPC_WINDOW_SIZE;
    if (size > (int64_t)GRPC_WINDOW_SIZE_MAX)
        size = GRPC_WINDOW_SIZE_MAX;
    atomic_fetch_sub(&service->window_left, size);
    return (size_t)size;
}

static void *upload_open(const struct grpc_method *method, struct grpc_call *call) {
    struct upload_call *upload = calloc(1, sizeof(*upload));
    if (!upload)
        return NULL;
    upload->service = method->data;
    upload->call = call;
    upload->context = debuginfo_context(call);
    upload->started_ms = clock_mono_ms();
    upload->received.pool = upload->writing.pool = upload->service->blocks;
    upload->window_size = lend_window(upload->service);
    grpc_call_set_window(call, upload->window_size);
    return upload;
}

static void log_upload(struct upload_call *upload, enum err err, const struct error *error) {
    upload->logged = true;
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

/* The answer waits for the step that runs, since that has the stream. */
static void refuse(struct upload_call *upload, const struct error *error) {
    if (!upload->refused)
        upload->failure = *error;
    upload->refused = true;
    if (upload->on_pool) {
        grpc_call_pause(upload->call);
        return;
    }
    give_up(upload);
    debuginfo_answer(upload->call, upload->failure.code, &upload->failure, NULL);
    log_upload(upload, upload->failure.code, &upload->failure);
}

/* --- steps on a pool -------------------------------------------------------------------------- */

static enum err submit(struct upload_call *upload, struct task_pool *pool, task_function *function,
                       struct error *error) {
    grpc_call_ref(upload->call);
    upload->on_pool = true;
    enum err err = task_pool_submit(pool, function, upload, error);
    if (err != ERR_OK) {
        upload->on_pool = false;
        grpc_call_unref(upload->call);
    }
    return err;
}

static void go_on(void *state, struct grpc_call *call);

static void end_step(struct upload_call *upload, enum err err) {
    if (err == ERR_OK)
        upload->step_error.code = ERR_OK;
    grpc_call_post(upload->call, go_on);
    grpc_call_unref(upload->call);
}

/* A sender that is gone, as may be, would find out by itself only after minutes, and its bytes
 * would lie here so long. */
static void lose(void *argument, const struct error *why) {
    struct upload_call *upload = argument;
    atomic_store(&upload->lost, true);
    debuginfo_answer(upload->call, why->code, why, NULL);
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
    if (err == ERR_OK)
        upload_stream_watch(upload->stream, lose, upload);
    return err;
}

static void run_open(void *argument) {
    struct upload_call *upload = argument;
    enum err err = ERR_OK;
    if (!grpc_call_is_over(upload->call))
        err = open_stream(upload, &upload->step_error);
    end_step(upload, err);
}

static void run_write(void *argument) {
    struct upload_call *upload = argument;
    const struct block *block = NULL;
    enum err err = ERR_OK;
    while (err == ERR_OK && (block = block_list_next(&upload->writing, block))) {
        struct span bytes = block_bytes(block);
        err = upload_stream_append(upload->stream, bytes.data, bytes.size, &upload->step_error);
    }
    end_step(upload, err);
}

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

/* The next step, if there is anything to do for one. */
static enum err next_step(struct upload_call *upload, struct error *error) {
    if (upload->received.size > 0) {
        block_list_move(&upload->received, &upload->writing);
        return submit(upload, upload->service->writers, run_write, error);
    }
    if (upload->request_ended)
        return submit(upload, upload->service->pool, run_complete, error);
    return ERR_OK;
}

/* On the loop, after a step. */
static void go_on(void *state, struct grpc_call *call) {
    struct upload_call *upload = state;
    struct error error = upload->step_error;
    size_t written = upload->writing.size;
    upload->on_pool = false;
    block_list_clear(&upload->writing);
    if (grpc_call_is_over(call)) {
        give_up(upload);
        return;
    }
    enum err err = error.code;
    if (err == ERR_OK && !upload->refused)
        err = next_step(upload, &error);
    if (err != ERR_OK || upload->refused) {
        refuse(upload, &error);
        return;
    }
    grpc_call_release(call, written);
    grpc_call_resume(call);
}

/* --- receiving -------------------------------------------------------------------------------- */

static enum err take_info(struct upload_call *upload, struct span bytes, struct error *error) {
    if (upload->info)
        return error_set(error, ERR_INVALID, "info was sent twice");
    ProtobufCMessage *message = NULL;
    enum err err = message_unpack(&parca__debuginfo__v1alpha1__upload_info__descriptor, bytes,
                                  &message, error);
    if (err != ERR_OK)
        return err;
    upload->info = (void *)message;
    grpc_call_pause(upload->call);
    return submit(upload, upload->service->asks, run_open, error);
}

/* Written at once when nothing else is, so that little waits for more to come. */
static enum err take_chunk(struct upload_call *upload, struct span bytes, struct error *error) {
    if (!upload->stream)
        return error_set(error, ERR_INVALID, "the first message must be the upload info");
    enum err err = block_list_append(&upload->received, bytes, error);
    if (err != ERR_OK)
        return err;
    upload->size += bytes.size;
    grpc_call_hold(upload->call, bytes.size);
    if (upload->received.size > GRPC_WINDOW_SIZE_MAX)
        grpc_call_pause(upload->call);
    return upload->on_pool ? ERR_OK : next_step(upload, error);
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

static void upload_request_ended(void *state, struct grpc_call *call) {
    (void)call;
    struct upload_call *upload = state;
    struct error error;
    enum err err = ERR_OK;
    upload->request_ended = true;
    if (!upload->stream)
        err = error_set(&error, ERR_INVALID, "the request has no upload info");
    else if (!upload->on_pool)
        err = next_step(upload, &error);
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
    if (atomic_load(&upload->lost) && !upload->logged) {
        error_set(&error, ERR_ABORTED, "the upload was lost to another one");
        log_upload(upload, ERR_ABORTED, &error);
    }
    if (upload->stream) {
        /* Removing what was received may take long, but a full pool leaves no other thread. */
        if (task_pool_submit(upload->service->pool, free_stream, upload->stream, &error) != ERR_OK)
            upload_stream_free(upload->stream);
    }
    atomic_fetch_add(&upload->service->window_left, (int64_t)upload->window_size);
    block_list_clear(&upload->received);
    block_list_clear(&upload->writing);
    if (upload->info)
        message_free(&upload->info->base);
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
