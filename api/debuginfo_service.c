#include "api/debuginfo_service_internal.h"

#include <stdio.h>
#include <string.h>

#include "api/debuginfo_ids.h"
#include "api/error_map.h"
#include "base/clock.h"
#include "rpc/proto/debuginfo.pb-c.h"

#define REQUEST_SIZE_MAX 65536
#define WINDOWS_SIZE_MAX ((int64_t)32 << 20)
#define SPARE_BLOCKS_MAX 64
#define SERVICE_NAME "parca.debuginfo.v1alpha1.DebuginfoService"

/* --- shared with the streaming method --------------------------------------------------------- */

struct request_context debuginfo_context(const struct grpc_call *call) {
    const char *client = grpc_call_client(call);
    struct request_context context = request_context_default(client[0] ? client : "anonymous");
    context.deadline_mono_ms = grpc_call_deadline_ms(call);
    return context;
}

enum err debuginfo_upload_id(const struct debuginfo_service *service,
                             const struct request_context *context, const char *build_id,
                             const char *upload_id, struct binary_id *ret_id, struct error *error) {
    enum err err = debuginfo_id_parse(
        build_id, PARCA__DEBUGINFO__V1ALPHA1__BUILD_IDTYPE__BUILD_ID_TYPE_UNKNOWN_UNSPECIFIED,
        ret_id, error);
    struct upload_row row;
    struct binary_id same_kind;
    struct error why;
    enum err found = ingest_upload_get(service->ingest, context, upload_id, &row, &why);
    if (found != ERR_OK && found != ERR_NOT_FOUND) {
        *error = why;
        return found;
    }
    if (found == ERR_NOT_FOUND ||
        binary_id_parse(row.id.kind, span_cstr(build_id), &same_kind, &why) != ERR_OK ||
        !binary_id_equal(&row.id, &same_kind))
        return err;
    *ret_id = row.id;
    return ERR_OK;
}

void debuginfo_answer(struct grpc_call *call, enum err err, const struct error *error,
                      const ProtobufCMessage *message) {
    if (err != ERR_OK) {
        grpc_call_finish(call, error_map_grpc(err), error_map_public_text(error), NULL);
        return;
    }
    struct buffer response = {0};
    message_pack(message, &response);
    grpc_call_finish(call, GRPC_OK, NULL, &response);
}

static enum log_level level_of(enum log_level level, enum err err) {
    enum grpc_status status = error_map_grpc(err);
    return status == GRPC_INTERNAL || status == GRPC_UNAVAILABLE ? LOG_LEVEL_ERROR : level;
}

void debuginfo_log(const struct debuginfo_service *service, const struct request_context *context,
                   enum log_level level, const struct debuginfo_record *record, enum err err,
                   const struct error *error) {
    metrics_count_call(service->metrics, record->method, error_map_grpc(err));
    log_event(service->log, level_of(level, err), "rpc", log_str("method", record->method),
              log_str("code", grpc_status_name(error_map_grpc(err))),
              log_str("build_id", record->build_id), log_str("upload_id", record->upload_id),
              log_i64("bytes", (int64_t)record->size),
              log_str("reason", err == ERR_OK ? record->reason : error->text),
              log_i64("duration_ms", clock_mono_ms() - record->started_ms),
              log_str("client", context->principal), log_str("request_id", context->request_id));
}

/* --- unary methods ---------------------------------------------------------------------------- */

static enum err make_query(const char *build_id, int build_id_type, int type, const char *hash,
                           struct upload_query *ret_query, struct error *error) {
    enum err err = debuginfo_id_parse(build_id, build_id_type, &ret_query->id, error);
    if (err == ERR_OK)
        err = debuginfo_type_parse(type, &ret_query->type, error);
    if (err == ERR_OK && strlen(hash) > UPLOAD_HASH_MAX)
        err = error_set(error, ERR_INVALID, "hash of %zu bytes: at most %d are accepted",
                        strlen(hash), UPLOAD_HASH_MAX);
    if (err == ERR_OK)
        snprintf(ret_query->hash, sizeof(ret_query->hash), "%s", hash);
    return err;
}

/*
 * A handler is two functions: one that asks the upload core, with what it needs of the request
 * unpacked, and one around it that unpacks, answers and logs.
 */
struct unary_call {
    struct debuginfo_service *service;
    struct request_context context;
    struct debuginfo_record record;
};

static struct unary_call unary_begin(void *service, const struct grpc_call *call,
                                     const char *method) {
    return (struct unary_call){
        .service = service,
        .context = debuginfo_context(call),
        .record = {.method = method, .started_ms = clock_mono_ms()},
    };
}

static void unary_end(const struct unary_call *unary, struct grpc_call *call, enum log_level level,
                      enum err err, const struct error *error, const ProtobufCMessage *response) {
    debuginfo_answer(call, err, error, response);
    debuginfo_log(unary->service, &unary->context, level, &unary->record, err, error);
}

static enum err ask_should_initiate(
    struct unary_call *unary, const Parca__Debuginfo__V1alpha1__ShouldInitiateUploadRequest *asked,
    Parca__Debuginfo__V1alpha1__ShouldInitiateUploadResponse *response, struct error *error) {
    struct upload_query query = {.force = asked->force};
    bool should = false;
    enum upload_reason reason;
    unary->record.build_id = asked->build_id;
    enum err err =
        make_query(asked->build_id, asked->build_id_type, asked->type, asked->hash, &query, error);
    if (err == ERR_OK)
        err = ingest_should_initiate(unary->service->ingest, &unary->context, &query, &should,
                                     &reason, error);
    if (err != ERR_OK)
        return err;
    response->should_initiate_upload = should;
    response->reason = (char *)upload_reason_text(reason);
    unary->record.reason = response->reason;
    return ERR_OK;
}

static void should_initiate_upload(void *state, struct grpc_call *call, struct span request) {
    struct unary_call unary = unary_begin(state, call, "ShouldInitiateUpload");
    CLEANUP(cleanup_message) ProtobufCMessage *message = NULL;
    struct error error;
    Parca__Debuginfo__V1alpha1__ShouldInitiateUploadResponse response =
        PARCA__DEBUGINFO__V1ALPHA1__SHOULD_INITIATE_UPLOAD_RESPONSE__INIT;
    enum err err =
        message_unpack(&parca__debuginfo__v1alpha1__should_initiate_upload_request__descriptor,
                       request, &message, &error);
    if (message)
        err = ask_should_initiate(&unary, (void *)message, &response, &error);
    unary_end(&unary, call, LOG_LEVEL_DEBUG, err, &error, &response.base);
}

static enum err ask_initiate(struct unary_call *unary,
                             const Parca__Debuginfo__V1alpha1__InitiateUploadRequest *asked,
                             char ret_upload_id[static UPLOAD_ID_SIZE], struct error *error) {
    struct upload_query query = {.force = asked->force};
    unary->record.build_id = asked->build_id;
    unary->record.size = (uint64_t)asked->size;
    enum err err =
        make_query(asked->build_id, asked->build_id_type, asked->type, asked->hash, &query, error);
    if (err == ERR_OK && asked->size < 0)
        return error_set(error, ERR_INVALID, "size must not be negative");
    if (err == ERR_OK)
        err = ingest_initiate(unary->service->ingest, &unary->context, &query,
                              (uint64_t)asked->size, ret_upload_id, error);
    return err;
}

/* How the client is to send its bytes. */
static enum err instruct(const struct unary_call *unary, const char *upload_id,
                         Parca__Debuginfo__V1alpha1__UploadInstructions *instructions,
                         struct buffer *url, struct error *error) {
    const struct debuginfo_service *service = unary->service;
    struct upload_row row;
    instructions->upload_id = (char *)upload_id;
    instructions->upload_strategy =
        PARCA__DEBUGINFO__V1ALPHA1__UPLOAD_INSTRUCTIONS__UPLOAD_STRATEGY__UPLOAD_STRATEGY_GRPC;
    if (!service->urls)
        return ERR_OK;
    enum err err = ingest_upload_get(service->ingest, &unary->context, upload_id, &row, error);
    if (err != ERR_OK)
        return err;
    upload_url_append(service->urls, unary->context.tenant, &row, clock_wall_ms(), url);
    if (buffer_failed(url))
        return error_set(error, ERR_NO_MEMORY, "no memory for the upload URL");
    instructions->signed_url = (char *)buffer_cstr(url);
    instructions->upload_strategy =
        PARCA__DEBUGINFO__V1ALPHA1__UPLOAD_INSTRUCTIONS__UPLOAD_STRATEGY__UPLOAD_STRATEGY_SIGNED_URL;
    return ERR_OK;
}

static void initiate_upload(void *state, struct grpc_call *call, struct span request) {
    struct unary_call unary = unary_begin(state, call, "InitiateUpload");
    CLEANUP(cleanup_message) ProtobufCMessage *message = NULL;
    struct error error;
    char upload_id[UPLOAD_ID_SIZE] = "";
    CLEANUP(buffer_clear) struct buffer url = {0};
    Parca__Debuginfo__V1alpha1__UploadInstructions instructions =
        PARCA__DEBUGINFO__V1ALPHA1__UPLOAD_INSTRUCTIONS__INIT;
    Parca__Debuginfo__V1alpha1__InitiateUploadResponse response =
        PARCA__DEBUGINFO__V1ALPHA1__INITIATE_UPLOAD_RESPONSE__INIT;
    enum err err = message_unpack(&parca__debuginfo__v1alpha1__initiate_upload_request__descriptor,
                                  request, &message, &error);
    if (message) {
        const Parca__Debuginfo__V1alpha1__InitiateUploadRequest *asked = (const void *)message;
        err = ask_initiate(&unary, asked, upload_id, &error);
        instructions.build_id = asked->build_id;
        instructions.type = asked->type;
    }
    if (err == ERR_OK)
        err = instruct(&unary, upload_id, &instructions, &url, &error);
    response.upload_instructions = &instructions;
    unary.record.upload_id = upload_id;
    unary_end(&unary, call, LOG_LEVEL_INFO, err, &error, &response.base);
}

static enum err ask_finish(struct unary_call *unary,
                           const Parca__Debuginfo__V1alpha1__MarkUploadFinishedRequest *asked,
                           struct error *error) {
    struct binary_id id;
    enum artifact_type type;
    unary->record.build_id = asked->build_id;
    unary->record.upload_id = asked->upload_id;
    enum err err = debuginfo_type_parse(asked->type, &type, error);
    if (err == ERR_OK)
        err = debuginfo_upload_id(unary->service, &unary->context, asked->build_id,
                                  asked->upload_id, &id, error);
    if (err == ERR_OK)
        err = ingest_finish(unary->service->ingest, &unary->context, &id, type, asked->upload_id,
                            error);
    return err;
}

static void mark_upload_finished(void *state, struct grpc_call *call, struct span request) {
    struct unary_call unary = unary_begin(state, call, "MarkUploadFinished");
    CLEANUP(cleanup_message) ProtobufCMessage *message = NULL;
    struct error error;
    Parca__Debuginfo__V1alpha1__MarkUploadFinishedResponse response =
        PARCA__DEBUGINFO__V1ALPHA1__MARK_UPLOAD_FINISHED_RESPONSE__INIT;
    enum err err =
        message_unpack(&parca__debuginfo__v1alpha1__mark_upload_finished_request__descriptor,
                       request, &message, &error);
    if (message)
        err = ask_finish(&unary, (void *)message, &error);
    unary_end(&unary, call, LOG_LEVEL_INFO, err, &error, &response.base);
}

/* --- the service ------------------------------------------------------------------------------ */

enum err debuginfo_service_new(const struct debuginfo_service_config *config,
                               struct debuginfo_service **ret_service, struct error *error) {
    const struct {
        const char *name;
        grpc_unary_handler *handle;
        struct task_pool *pool;
    } unary[DEBUGINFO_UNARY_COUNT] = {
        {"ShouldInitiateUpload", should_initiate_upload, config->asks},
        {"InitiateUpload", initiate_upload, config->asks},
        {"MarkUploadFinished", mark_upload_finished, config->pool},
    };
    CLEANUP(cleanup_debuginfo_service)
    struct debuginfo_service *service = calloc(1, sizeof(*service));
    if (service)
        service->blocks = block_pool_new(SPARE_BLOCKS_MAX);
    if (!service || !service->blocks)
        return error_set(error, ERR_NO_MEMORY, "no memory for the debuginfo service");
    service->ingest = config->ingest;
    service->pool = config->pool;
    service->asks = config->asks;
    service->writers = config->writers;
    atomic_init(&service->window_left, WINDOWS_SIZE_MAX);
    service->log = config->log;
    service->metrics = config->metrics;
    service->urls = config->urls;
    for (size_t i = 0; i < DEBUGINFO_UNARY_COUNT; i++) {
        service->unary[i] = (struct grpc_unary){unary[i].handle, service, unary[i].pool};
        service->methods[i] = (struct grpc_method){.name = unary[i].name,
                                                   .functions = &grpc_unary_functions,
                                                   .data = &service->unary[i],
                                                   .message_size_max = REQUEST_SIZE_MAX};
    }
    service->methods[DEBUGINFO_UNARY_COUNT] = (struct grpc_method){
        .name = "Upload", .functions = &debuginfo_upload_functions, .data = service};
    service->grpc =
        (struct grpc_service){SERVICE_NAME, service->methods, ARRAY_SIZE(service->methods)};
    *ret_service = TAKE(service);
    return ERR_OK;
}

const struct grpc_service *debuginfo_service_grpc(const struct debuginfo_service *service) {
    return &service->grpc;
}

void debuginfo_service_free(struct debuginfo_service *service) {
    if (!service)
        return;
    block_pool_free(service->blocks);
    free(service);
}
