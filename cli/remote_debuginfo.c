#include "cli/remote_debuginfo.h"

#include <stdio.h>
#include <stdlib.h>

#include "rpc/message.h"
#include "rpc/proto/debuginfo.pb-c.h"

#define SERVICE "/parca.debuginfo.v1alpha1.DebuginfoService/"
#define QUESTION_TIMEOUT_MS ((int64_t)2 * 60 * 1000)
/* The server runs a worker over the file before it answers. */
#define FINISH_TIMEOUT_MS ((int64_t)10 * 60 * 1000)
/* After this the server calls the upload stale. */
#define SEND_TIMEOUT_MS ((int64_t)15 * 60 * 1000)
#define CHUNK_SIZE_MAX ((size_t)1 << 20)
#define VARINT_SIZE_MAX 10

static enum err pack(const ProtobufCMessage *message, struct buffer *ret_bytes,
                     struct error *error) {
    message_pack(message, ret_bytes);
    if (buffer_failed(ret_bytes))
        return error_set(error, ERR_NO_MEMORY, "no memory for a request");
    return ERR_OK;
}

/* Status and text of a reply; its message, unless it is not OK, as *ret_message. */
static enum err read_reply(struct grpc_reply *reply, const ProtobufCMessageDescriptor *descriptor,
                           struct remote_answer *answer, ProtobufCMessage **ret_message,
                           struct error *error) {
    *answer = (struct remote_answer){.status = reply->status};
    snprintf(answer->text, sizeof(answer->text), "%s", reply->text);
    enum err err = ERR_OK;
    if (reply->status == GRPC_OK)
        err = message_unpack(descriptor, buffer_span(&reply->message), ret_message, error);
    if (err != ERR_OK)
        error_prefix(error, "the server's answer");
    grpc_reply_clear(reply);
    return err;
}

/* The call's own bound, or the session's if that is nearer. */
static enum err bounded(const struct remote_session *session, int64_t *timeout_ms,
                        struct error *error) {
    *timeout_ms = remote_retry_left_ms(&session->retry, *timeout_ms);
    return *timeout_ms > 0 ? ERR_OK : error_set(error, ERR_TIMEOUT, "the time for it is over");
}

static enum err call(struct remote_session *session, const char *path, int64_t timeout_ms,
                     const ProtobufCMessage *request, const ProtobufCMessageDescriptor *descriptor,
                     struct remote_answer *answer, ProtobufCMessage **ret_message,
                     struct error *error) {
    struct buffer bytes = {.size_max = 0};
    enum err err = pack(request, &bytes, error);
    if (err != ERR_OK)
        return err;
    struct grpc_reply reply;
    err = bounded(session, &timeout_ms, error);
    if (err == ERR_OK)
        err = grpc_client_unary(session->client, path, buffer_span(&bytes), timeout_ms, &reply,
                                error);
    buffer_clear(&bytes);
    if (err == ERR_OK)
        err = read_reply(&reply, descriptor, answer, ret_message, error);
    return err;
}

static const char *const type_names[] = {"debuginfo", "executable", "sources", "source_map"};

const char *remote_type_name(enum remote_type type) {
    return type_names[type];
}

bool remote_type_from_name(const char *name, enum remote_type *ret_type) {
    for (size_t i = 0; i < ARRAY_SIZE(type_names); i++) {
        if (strcmp(name, type_names[i]) == 0) {
            *ret_type = (enum remote_type)i;
            return true;
        }
    }
    return false;
}

static Parca__Debuginfo__V1alpha1__DebuginfoType wire_type(enum remote_type type) {
    switch (type) {
    case REMOTE_EXECUTABLE:
        return PARCA__DEBUGINFO__V1ALPHA1__DEBUGINFO_TYPE__DEBUGINFO_TYPE_EXECUTABLE;
    case REMOTE_SOURCES:
        return PARCA__DEBUGINFO__V1ALPHA1__DEBUGINFO_TYPE__DEBUGINFO_TYPE_SOURCES;
    case REMOTE_SOURCE_MAP:
        return PARCA__DEBUGINFO__V1ALPHA1__DEBUGINFO_TYPE__DEBUGINFO_TYPE_SOURCE_MAP;
    case REMOTE_DEBUGINFO:
        break;
    }
    return PARCA__DEBUGINFO__V1ALPHA1__DEBUGINFO_TYPE__DEBUGINFO_TYPE_DEBUGINFO_UNSPECIFIED;
}

static Parca__Debuginfo__V1alpha1__BuildIDType wire_id_type(const struct binary_id *id) {
    switch (id->kind) {
    case BINARY_ID_GNU:
        return PARCA__DEBUGINFO__V1ALPHA1__BUILD_IDTYPE__BUILD_ID_TYPE_GNU;
    case BINARY_ID_HTLHASH:
        return PARCA__DEBUGINFO__V1ALPHA1__BUILD_IDTYPE__BUILD_ID_TYPE_HASH;
    case BINARY_ID_GO:
        return PARCA__DEBUGINFO__V1ALPHA1__BUILD_IDTYPE__BUILD_ID_TYPE_GO;
    default:
        return PARCA__DEBUGINFO__V1ALPHA1__BUILD_IDTYPE__BUILD_ID_TYPE_SOURCE_MAP_DEBUG_ID;
    }
}

enum err remote_should_initiate(struct remote_session *session, const struct remote_object *object,
                                struct remote_answer *ret_answer, struct error *error) {
    Parca__Debuginfo__V1alpha1__ShouldInitiateUploadRequest request =
        PARCA__DEBUGINFO__V1ALPHA1__SHOULD_INITIATE_UPLOAD_REQUEST__INIT;
    request.build_id = (char *)object->id.text;
    request.build_id_type = wire_id_type(&object->id);
    request.hash = (char *)object->hash;
    request.type = wire_type(object->type);
    request.force = object->force;
    CLEANUP(cleanup_message) ProtobufCMessage *message = NULL;
    enum err err = call(session, SERVICE "ShouldInitiateUpload", QUESTION_TIMEOUT_MS, &request.base,
                        &parca__debuginfo__v1alpha1__should_initiate_upload_response__descriptor,
                        ret_answer, &message, error);
    if (err == ERR_OK && message) {
        Parca__Debuginfo__V1alpha1__ShouldInitiateUploadResponse *response = (void *)message;
        ret_answer->should_upload = response->should_initiate_upload;
        snprintf(ret_answer->text, sizeof(ret_answer->text), "%s", response->reason);
    }
    return err;
}

static enum err read_instructions(const ProtobufCMessage *message, struct remote_answer *answer,
                                  struct error *error) {
    const Parca__Debuginfo__V1alpha1__InitiateUploadResponse *response = (const void *)message;
    const Parca__Debuginfo__V1alpha1__UploadInstructions *instructions =
        response->upload_instructions;
    if (!instructions || strlen(instructions->upload_id) >= sizeof(answer->upload_id))
        return error_set(error, ERR_MALFORMED, "the server's answer has no upload instructions");
    snprintf(answer->upload_id, sizeof(answer->upload_id), "%s", instructions->upload_id);
    switch (instructions->upload_strategy) {
    case PARCA__DEBUGINFO__V1ALPHA1__UPLOAD_INSTRUCTIONS__UPLOAD_STRATEGY__UPLOAD_STRATEGY_GRPC:
        return ERR_OK;
    case PARCA__DEBUGINFO__V1ALPHA1__UPLOAD_INSTRUCTIONS__UPLOAD_STRATEGY__UPLOAD_STRATEGY_SIGNED_URL:
        break;
    default:
        return error_set(error, ERR_UNSUPPORTED,
                         "the server wants the file in a way that is not known (strategy %d)",
                         (int)instructions->upload_strategy);
    }
    size_t size = strlen(instructions->signed_url);
    if (size == 0 || size >= sizeof(answer->signed_url))
        return error_set(error, ERR_MALFORMED, "the server's answer has no URL that can be used");
    memcpy(answer->signed_url, instructions->signed_url, size + 1);
    return ERR_OK;
}

enum err remote_initiate(struct remote_session *session, const struct remote_object *object,
                         struct remote_answer *ret_answer, struct error *error) {
    Parca__Debuginfo__V1alpha1__InitiateUploadRequest request =
        PARCA__DEBUGINFO__V1ALPHA1__INITIATE_UPLOAD_REQUEST__INIT;
    request.build_id = (char *)object->id.text;
    request.build_id_type = wire_id_type(&object->id);
    request.hash = (char *)object->hash;
    request.size = (int64_t)object->bytes.size;
    request.type = wire_type(object->type);
    request.force = object->force;
    CLEANUP(cleanup_message) ProtobufCMessage *message = NULL;
    enum err err = call(session, SERVICE "InitiateUpload", QUESTION_TIMEOUT_MS, &request.base,
                        &parca__debuginfo__v1alpha1__initiate_upload_response__descriptor,
                        ret_answer, &message, error);
    if (err == ERR_OK && message)
        err = read_instructions(message, ret_answer, error);
    return err;
}

/* --- Upload ----------------------------------------------------------------------------------- */

static enum err send_info(struct grpc_client_call *stream, const struct remote_object *object,
                          const char *upload_id, struct error *error) {
    Parca__Debuginfo__V1alpha1__UploadInfo info = PARCA__DEBUGINFO__V1ALPHA1__UPLOAD_INFO__INIT;
    Parca__Debuginfo__V1alpha1__UploadRequest request =
        PARCA__DEBUGINFO__V1ALPHA1__UPLOAD_REQUEST__INIT;
    info.build_id = (char *)object->id.text;
    info.upload_id = (char *)upload_id;
    info.type = wire_type(object->type);
    request.data_case = PARCA__DEBUGINFO__V1ALPHA1__UPLOAD_REQUEST__DATA_INFO;
    request.info = &info;
    struct buffer bytes = {.size_max = 0};
    enum err err = pack(&request.base, &bytes, error);
    if (err != ERR_OK)
        return err;
    const struct span part = buffer_span(&bytes);
    err = grpc_client_call_send(stream, &part, 1, error);
    buffer_clear(&bytes);
    return err;
}

/* UploadRequest{chunk_data} is written by hand, so that the chunk is sent from where it lies. */
static enum err send_chunk(struct grpc_client_call *stream, struct span chunk,
                           struct error *error) {
    char head[1 + VARINT_SIZE_MAX] = {2 << 3 | 2}; /* field 2, length-delimited */
    size_t head_size = 1;
    size_t size = chunk.size;
    for (; size >= 0x80; size >>= 7)
        head[head_size++] = (char)(size | 0x80);
    head[head_size++] = (char)size;
    const struct span parts[] = {span_of(head, head_size), chunk};
    return grpc_client_call_send(stream, parts, ARRAY_SIZE(parts), error);
}

/* *ret_sent counts also when it fails. */
static enum err send_all(struct grpc_client_call *stream, struct remote_session *session,
                         const struct remote_object *object, const char *upload_id,
                         uint64_t *ret_sent, struct error *error) {
    enum err err = send_info(stream, object, upload_id, error);
    struct span rest = object->bytes;
    while (err == ERR_OK && rest.size > 0) {
        size_t size = rest.size < CHUNK_SIZE_MAX ? rest.size : CHUNK_SIZE_MAX;
        err = send_chunk(stream, span_of(rest.data, size), error);
        rest = span_of(rest.data + size, rest.size - size);
        *ret_sent += size;
        progress_move(session->progress, (int64_t)size);
    }
    return err;
}

static enum err stream(struct remote_session *session, const struct remote_object *object,
                       const char *upload_id, uint64_t *ret_sent, struct grpc_reply *ret_reply,
                       struct error *error) {
    CLEANUP(cleanup_grpc_client_call) struct grpc_client_call *call = NULL;
    int64_t timeout_ms = SEND_TIMEOUT_MS;
    enum err err = bounded(session, &timeout_ms, error);
    if (err == ERR_OK)
        err = grpc_client_call_open(session->client, SERVICE "Upload", timeout_ms, &call, error);
    if (err == ERR_OK)
        err = send_all(call, session, object, upload_id, ret_sent, error);
    /* ERR_STATE: the server has refused it already, and says why. */
    if (err == ERR_OK || err == ERR_STATE)
        err = grpc_client_call_finish(call, ret_reply, error);
    return err;
}

enum err remote_send(struct remote_session *session, const struct remote_object *object,
                     const char *upload_id, struct remote_answer *ret_answer, struct error *error) {
    CLEANUP(cleanup_message) ProtobufCMessage *message = NULL;
    struct grpc_reply reply;
    uint64_t sent = 0;
    enum err err = stream(session, object, upload_id, &sent, &reply, error);
    if (err == ERR_OK)
        err = read_reply(&reply, &parca__debuginfo__v1alpha1__upload_response__descriptor,
                         ret_answer, &message, error);
    const Parca__Debuginfo__V1alpha1__UploadResponse *response = (const void *)message;
    if (err == ERR_OK && response && response->size != object->bytes.size)
        err = error_set(error, ERR_MALFORMED, "the server says it got %llu of %zu bytes",
                        (unsigned long long)response->size, object->bytes.size);
    if (err != ERR_OK || ret_answer->status != GRPC_OK)
        progress_move(session->progress, -(int64_t)sent);
    return err;
}

enum err remote_finish(struct remote_session *session, const struct remote_object *object,
                       const char *upload_id, struct remote_answer *ret_answer,
                       struct error *error) {
    Parca__Debuginfo__V1alpha1__MarkUploadFinishedRequest request =
        PARCA__DEBUGINFO__V1ALPHA1__MARK_UPLOAD_FINISHED_REQUEST__INIT;
    request.build_id = (char *)object->id.text;
    request.upload_id = (char *)upload_id;
    request.type = wire_type(object->type);
    CLEANUP(cleanup_message) ProtobufCMessage *message = NULL;
    return call(session, SERVICE "MarkUploadFinished", FINISH_TIMEOUT_MS, &request.base,
                &parca__debuginfo__v1alpha1__mark_upload_finished_response__descriptor, ret_answer,
                &message, error);
}
