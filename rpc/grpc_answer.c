#include "rpc/grpc_answer_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "rpc/grpc_call_internal.h"
#include "rpc/grpc_text.h"

#define HEADERS_MAX 5

struct header_list {
    nghttp2_nv headers[HEADERS_MAX];
    size_t count;
};

/* The session copies both texts when the list is submitted. */
static void add(struct header_list *list, const char *name, const char *value) {
    list->headers[list->count++] = (nghttp2_nv){.name = (uint8_t *)name,
                                                .value = (uint8_t *)value,
                                                .namelen = strlen(name),
                                                .valuelen = strlen(value),
                                                .flags = NGHTTP2_NV_FLAG_NONE};
}

static void add_content_type(struct header_list *list) {
    add(list, ":status", "200");
    add(list, "content-type", "application/grpc");
    add(list, "grpc-accept-encoding", "identity,gzip");
}

/* Room for the texts of a status until the session has copied them. */
struct status_text {
    char number[12];
    char message[3 * GRPC_STATUS_TEXT_SIZE];
};

static void add_status(struct header_list *list, const struct grpc_call *call,
                       struct status_text *text) {
    snprintf(text->number, sizeof(text->number), "%d", (int)call->status);
    grpc_message_encode(call->text, text->message, sizeof(text->message));
    add(list, "grpc-status", text->number);
    if (text->message[0])
        add(list, "grpc-message", text->message);
}

static int submit_trailers(nghttp2_session *session, const struct grpc_call *call) {
    struct header_list list = {.count = 0};
    struct status_text text;
    add_status(&list, call, &text);
    return nghttp2_submit_trailer(session, call->stream_id, list.headers, list.count);
}

static void copy_out(struct span part, size_t *offset, uint8_t **to, size_t *room) {
    if (*offset >= part.size) {
        *offset -= part.size;
        return;
    }
    size_t size = part.size - *offset < *room ? part.size - *offset : *room;
    memcpy(*to, part.data + *offset, size);
    *offset = 0;
    *to += size;
    *room -= size;
}

static ssize_t read_message(nghttp2_session *session, int32_t stream_id, uint8_t *bytes,
                            size_t size, uint32_t *data_flags, nghttp2_data_source *source,
                            void *user_data) {
    (void)stream_id;
    (void)user_data;
    struct grpc_call *call = source->ptr;
    size_t total = GRPC_PREFIX_SIZE + call->response.size;
    size_t offset = call->response_offset;
    size_t room = size;
    copy_out(span_of(call->prefix, GRPC_PREFIX_SIZE), &offset, &bytes, &room);
    copy_out(buffer_span(&call->response), &offset, &bytes, &room);
    call->response_offset += size - room;
    call->progress_ms = clock_mono_ms();
    if (call->response_offset == total) {
        *data_flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (submit_trailers(session, call) != 0)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return (ssize_t)(size - room);
}

static int submit_message(nghttp2_session *session, struct grpc_call *call) {
    struct header_list list = {.count = 0};
    add_content_type(&list);
    grpc_prefix_write((uint32_t)call->response.size, call->prefix);
    nghttp2_data_provider provider = {.source.ptr = call, .read_callback = read_message};
    return nghttp2_submit_response(session, call->stream_id, list.headers, list.count, &provider);
}

static ssize_t read_stream(nghttp2_session *session, int32_t stream_id, uint8_t *bytes, size_t size,
                           uint32_t *data_flags, nghttp2_data_source *source, void *user_data) {
    (void)stream_id;
    (void)user_data;
    struct grpc_call *call = source->ptr;
    size_t offset = call->unsent_offset;
    size_t room = size;
    copy_out(buffer_span(&call->unsent), &offset, &bytes, &room);
    call->unsent_offset += size - room;
    if (room < size)
        call->progress_ms = clock_mono_ms();
    if (call->unsent_offset < call->unsent.size)
        return (ssize_t)(size - room);
    buffer_clear(&call->unsent);
    call->unsent_offset = 0;
    if (call->answer_ended) {
        *data_flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (submit_trailers(session, call) != 0)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    } else if (room == size) {
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)(size - room);
}

static int submit_stream(nghttp2_session *session, struct grpc_call *call) {
    if (call->answer_begun) {
        /* Anything but this failure says that the session is going to ask for data by itself. */
        int failure = nghttp2_session_resume_data(session, call->stream_id);
        return failure == NGHTTP2_ERR_NOMEM ? failure : 0;
    }
    call->answer_begun = true;
    struct header_list list = {.count = 0};
    add_content_type(&list);
    nghttp2_data_provider provider = {.source.ptr = call, .read_callback = read_stream};
    return nghttp2_submit_response(session, call->stream_id, list.headers, list.count, &provider);
}

/* Trailers-Only: one block of headers that is the whole answer. */
static int submit_status(nghttp2_session *session, const struct grpc_call *call) {
    struct header_list list = {.count = 0};
    struct status_text text;
    add_content_type(&list);
    add_status(&list, call, &text);
    return nghttp2_submit_response(session, call->stream_id, list.headers, list.count, NULL);
}

static int submit_http(nghttp2_session *session, const struct grpc_call *call) {
    struct header_list list = {.count = 0};
    char status[12];
    snprintf(status, sizeof(status), "%u", call->http_status);
    add(&list, ":status", status);
    if (call->http_status == 405)
        add(&list, "allow", "POST");
    return nghttp2_submit_response(session, call->stream_id, list.headers, list.count, NULL);
}

enum err grpc_answer_send(nghttp2_session *session, struct grpc_call *call) {
    return submit_stream(session, call) == 0 ? ERR_OK : ERR_NO_MEMORY;
}

enum err grpc_answer_submit(nghttp2_session *session, struct grpc_call *call) {
    call->progress_ms = clock_mono_ms();
    call->answer_ended = true;
    int failure;
    if (call->http_status != 200)
        failure = submit_http(session, call);
    else if (call->answer_begun || (call->status == GRPC_OK && call->method->streams_answers))
        failure = submit_stream(session, call);
    else if (call->status != GRPC_OK)
        failure = submit_status(session, call);
    else
        failure = submit_message(session, call);
    return failure == 0 ? ERR_OK : ERR_NO_MEMORY;
}
