#include "rpc/grpc_call_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "rpc/grpc_connection_internal.h"
#include "rpc/grpc_loop_internal.h"
#include "rpc/grpc_text.h"

struct grpc_call *grpc_call_new(struct grpc_loop *loop, struct grpc_connection *connection,
                                int32_t stream_id) {
    struct grpc_call *call = calloc(1, sizeof(*call));
    if (!call)
        return NULL;
    call->loop = loop;
    call->connection = connection;
    call->stream_id = stream_id;
    call->deadline_ms = INT64_MAX;
    call->progress_ms = clock_mono_ms();
    call->header_bytes.size_max = GRPC_HEADER_BYTES_MAX;
    call->unsent.size_max = GRPC_UNSENT_SIZE_MAX;
    call->http_status = 200;
    snprintf(call->client, sizeof(call->client), "%s",
             grpc_transport_client(connection->transport));
    atomic_init(&call->reference_count, 1);
    pthread_mutex_lock(&loop->mutex);
    loop->call_count++;
    pthread_mutex_unlock(&loop->mutex);
    return call;
}

struct grpc_call *grpc_call_ref(struct grpc_call *call) {
    atomic_fetch_add_explicit(&call->reference_count, 1, memory_order_relaxed);
    return call;
}

void grpc_call_unref(struct grpc_call *call) {
    if (atomic_fetch_sub_explicit(&call->reference_count, 1, memory_order_acq_rel) != 1)
        return;
    struct grpc_loop *loop = call->loop;
    if (call->state)
        call->method->functions->free(call->state);
    buffer_clear(&call->header_bytes);
    buffer_clear(&call->pending);
    buffer_clear(&call->response);
    buffer_clear(&call->unsent);
    grpc_inflate_free(call->inflate);
    free(call);
    grpc_loop_call_freed(loop);
}

static void add_header_bytes(struct buffer *bytes, struct span text, uint32_t *ret_offset,
                             uint32_t *ret_size) {
    *ret_offset = (uint32_t)bytes->size;
    *ret_size = (uint32_t)text.size;
    buffer_append(bytes, text.data, text.size);
}

void grpc_call_add_header(struct grpc_call *call, struct span name, struct span value) {
    if (call->header_count == GRPC_HEADER_COUNT_MAX)
        call->headers_refused = true;
    if (call->headers_refused)
        return;
    struct grpc_header *header = &call->headers[call->header_count];
    add_header_bytes(&call->header_bytes, name, &header->name_offset, &header->name_size);
    add_header_bytes(&call->header_bytes, value, &header->value_offset, &header->value_size);
    if (buffer_failed(&call->header_bytes))
        call->headers_refused = true;
    else
        call->header_count++;
}

const char *grpc_call_client(const struct grpc_call *call) {
    return call->client;
}

struct span grpc_call_header(const struct grpc_call *call, const char *name) {
    const char *bytes = call->header_bytes.data;
    for (size_t i = 0; i < call->header_count; i++) {
        const struct grpc_header *header = &call->headers[i];
        if (span_equal_cstr(span_of(bytes + header->name_offset, header->name_size), name))
            return span_of(bytes + header->value_offset, header->value_size);
    }
    return (struct span){NULL, 0};
}

const struct grpc_method *grpc_call_method(const struct grpc_call *call) {
    return call->method;
}

int64_t grpc_call_deadline_ms(const struct grpc_call *call) {
    return call->deadline_ms;
}

bool grpc_call_is_over(const struct grpc_call *call) {
    return atomic_load(&call->over);
}

static bool is_finished(const struct grpc_call *call) {
    return atomic_load(&call->finished);
}

static void set_status(struct grpc_call *call, enum grpc_status status, const char *text) {
    call->status = status;
    snprintf(call->text, sizeof(call->text), "%s", text ? text : "");
}

static void queue_answer(struct grpc_call *call) {
    pthread_mutex_lock(&call->loop->mutex);
    call->finish_queued = true;
    grpc_loop_queue_locked(call->loop, call);
    pthread_mutex_unlock(&call->loop->mutex);
}

void grpc_call_finish(struct grpc_call *call, enum grpc_status status, const char *text,
                      struct buffer *response) {
    if (atomic_exchange(&call->finished, true)) {
        if (response)
            buffer_clear(response);
        return;
    }
    if (status == GRPC_OK && response && (response->failed || response->size > UINT32_MAX)) {
        status = GRPC_RESOURCE_EXHAUSTED;
        text = "the answer is too large";
    }
    set_status(call, status, text);
    if (response && status == GRPC_OK) {
        call->response = *response;
        *response = (struct buffer){.size_max = response->size_max};
    } else if (response) {
        buffer_clear(response);
    }
    queue_answer(call);
}

void grpc_call_send(struct grpc_call *call, struct span message) {
    assert(call->method->streams_answers);
    if (!call->connection || is_finished(call))
        return;
    uint8_t prefix[GRPC_PREFIX_SIZE];
    size_t room = GRPC_UNSENT_SIZE_MAX - call->unsent.size;
    if (room < sizeof(prefix) || message.size > room - sizeof(prefix)) {
        grpc_call_cancel(call, GRPC_RESOURCE_EXHAUSTED, "the client does not take its answers");
        return;
    }
    grpc_prefix_write((uint32_t)message.size, prefix);
    buffer_append(&call->unsent, prefix, sizeof(prefix));
    buffer_append(&call->unsent, message.data, message.size);
    if (buffer_failed(&call->unsent))
        grpc_call_cancel(call, GRPC_RESOURCE_EXHAUSTED, "no memory for the answer");
    else
        grpc_connection_send(call->connection, call);
}

void grpc_call_cancel(struct grpc_call *call, enum grpc_status status, const char *text) {
    atomic_store(&call->over, true);
    if (atomic_exchange(&call->finished, true))
        return;
    if (status != GRPC_OK) {
        set_status(call, status, text);
        queue_answer(call);
    }
    if (call->state && call->method->functions->cancelled)
        call->method->functions->cancelled(call->state, call);
}

void grpc_call_post(struct grpc_call *call, void (*function)(void *state, struct grpc_call *call)) {
    pthread_mutex_lock(&call->loop->mutex);
    assert(!call->posted);
    call->posted = function;
    grpc_loop_queue_locked(call->loop, call);
    pthread_mutex_unlock(&call->loop->mutex);
}

/* --- the start of a call ---------------------------------------------------------------------- */

static void refuse_http(struct grpc_call *call, unsigned http_status) {
    call->http_status = http_status;
    grpc_call_cancel(call, GRPC_UNKNOWN, NULL);
}

static const struct grpc_method *
find_method(struct span path, const struct grpc_service *const *services, size_t service_count) {
    for (size_t i = 0; i < service_count; i++) {
        size_t size = strlen(services[i]->name);
        if (path.size < size + 2 || path.data[0] != '/' || path.data[size + 1] != '/' ||
            memcmp(path.data + 1, services[i]->name, size) != 0)
            continue;
        struct span name = span_of(path.data + size + 2, path.size - size - 2);
        for (size_t j = 0; j < services[i]->method_count; j++)
            if (span_equal_cstr(name, services[i]->methods[j].name))
                return &services[i]->methods[j];
    }
    return NULL;
}

/* False when the call was refused. */
static bool check_headers(struct grpc_call *call) {
    bool is_grpc = grpc_content_type_known(grpc_call_header(call, "content-type"));
    if (call->headers_refused && is_grpc) {
        grpc_call_cancel(call, GRPC_RESOURCE_EXHAUSTED, "the metadata are over the limits");
        return false;
    }
    if (call->headers_refused) {
        refuse_http(call, 431);
        return false;
    }
    if (!span_equal_cstr(grpc_call_header(call, ":method"), "POST")) {
        refuse_http(call, 405);
        return false;
    }
    if (!is_grpc) {
        refuse_http(call, 415);
        return false;
    }
    struct span encoding = grpc_call_header(call, "grpc-encoding");
    if (encoding.data && !span_equal_cstr(encoding, "identity") &&
        !span_equal_cstr(encoding, "gzip")) {
        grpc_call_cancel(call, GRPC_UNIMPLEMENTED, "grpc-encoding is neither identity nor gzip");
        return false;
    }
    struct span timeout = grpc_call_header(call, "grpc-timeout");
    int64_t timeout_ms;
    if (timeout.data && !grpc_timeout_parse(timeout, &timeout_ms)) {
        grpc_call_cancel(call, GRPC_INVALID_ARGUMENT, "malformed grpc-timeout");
        return false;
    }
    if (timeout.data) {
        call->deadline_ms = clock_mono_ms() + timeout_ms;
        grpc_loop_set_timer(call->loop, call->deadline_ms);
    }
    return true;
}

void grpc_call_start(struct grpc_call *call, const struct grpc_service *const *services,
                     size_t service_count, uint64_t message_size_max) {
    if (!check_headers(call))
        return;
    const struct grpc_method *method =
        find_method(grpc_call_header(call, ":path"), services, service_count);
    if (!method) {
        grpc_call_cancel(call, GRPC_UNIMPLEMENTED, "unknown service or method");
        return;
    }
    call->method = method;
    call->frames =
        grpc_frames_of(method->message_size_max ? method->message_size_max : message_size_max);
    call->frames.accept_compressed =
        span_equal_cstr(grpc_call_header(call, "grpc-encoding"), "gzip");
    call->state = method->functions->open(method, call);
    if (!call->state)
        grpc_call_cancel(call, GRPC_RESOURCE_EXHAUSTED, "no memory for the call");
}

/* --- the request ------------------------------------------------------------------------------ */

/* What came is no message, or one that we do not take. */
static void refuse_message(struct grpc_call *call, enum err err, const struct error *error) {
    bool scarce = err == ERR_LIMIT || err == ERR_NO_MEMORY;
    grpc_call_cancel(call, scarce ? GRPC_RESOURCE_EXHAUSTED : GRPC_INTERNAL, error->text);
}

static void begin_message(struct grpc_call *call) {
    uint64_t size = call->frames.left;
    if (call->frames.compressed) {
        struct error error;
        enum err err = call->inflate ? ERR_OK : grpc_inflate_new(&call->inflate, &error);
        if (err != ERR_OK) {
            refuse_message(call, err, &error);
            return;
        }
        size = call->frames.message_size_max;
        grpc_inflate_begin(call->inflate, size);
    }
    call->method->functions->message_begin(call->state, call, size);
}

/* Hands over one piece of what the bytes inflate to; *bytes moves past those that it took. */
static void inflate_bytes(struct grpc_call *call, struct span *bytes) {
    struct span piece = {NULL, 0};
    struct error error;
    enum err err = grpc_inflate_next(call->inflate, bytes, &piece, &error);
    if (err != ERR_OK)
        refuse_message(call, err, &error);
    else if (piece.size > 0)
        call->method->functions->message_bytes(call->state, call, piece);
}

static void end_message(struct grpc_call *call) {
    struct error error;
    enum err err = call->frames.compressed ? grpc_inflate_end(call->inflate, &error) : ERR_OK;
    if (err != ERR_OK)
        refuse_message(call, err, &error);
    else
        call->method->functions->message_end(call->state, call);
}

/* The next event of the request, or the next piece of what its bytes inflate to. */
static enum grpc_frames_event feed_next(struct grpc_call *call, struct span *input) {
    enum grpc_frames_event event = GRPC_FRAMES_BYTES;
    struct span bytes = {NULL, 0};
    struct error error;
    if (call->inflate && grpc_inflate_has_more(call->inflate)) {
        inflate_bytes(call, &bytes);
        return event;
    }
    enum err err = grpc_frames_next(&call->frames, input, &event, &bytes, &error);
    if (err != ERR_OK) {
        refuse_message(call, err, &error);
    } else if (event == GRPC_FRAMES_BEGIN) {
        begin_message(call);
    } else if (event == GRPC_FRAMES_BYTES && call->frames.compressed) {
        inflate_bytes(call, &bytes);
        grpc_frames_unread(&call->frames, input, bytes.size);
    } else if (event == GRPC_FRAMES_BYTES) {
        call->method->functions->message_bytes(call->state, call, bytes);
    } else if (event == GRPC_FRAMES_END) {
        end_message(call);
    }
    return event;
}

/* Hands over what the method takes; *input moves past it. */
static void feed(struct grpc_call *call, struct span *input) {
    enum grpc_frames_event event = GRPC_FRAMES_BEGIN;
    call->feeding = true;
    while (!call->paused && !is_finished(call) && event != GRPC_FRAMES_MORE)
        event = feed_next(call, input);
    call->feeding = false;
}

static size_t pending_size(const struct grpc_call *call) {
    return call->pending.size - call->pending_offset;
}

static void tell_end(struct grpc_call *call) {
    if (!call->request_ended || call->request_end_told || call->paused || is_finished(call) ||
        pending_size(call) > 0)
        return;
    call->request_end_told = true;
    struct error error;
    if (grpc_frames_check_end(&call->frames, &error) != ERR_OK)
        grpc_call_cancel(call, GRPC_INTERNAL, error.text);
    else
        call->method->functions->request_end(call->state, call);
}

/* The window bounds this: the client may not send what we did not consume. */
static void keep_pending(struct grpc_call *call, struct span bytes) {
    struct buffer *pending = &call->pending;
    size_t left = pending_size(call);
    if (call->pending_offset > left) {
        memmove(pending->data, pending->data + call->pending_offset, left);
        pending->size = left;
        call->pending_offset = 0;
    }
    buffer_append(pending, bytes.data, bytes.size);
    if (buffer_failed(pending))
        grpc_call_cancel(call, GRPC_RESOURCE_EXHAUSTED, "no memory for the request");
}

size_t grpc_call_receive(struct grpc_call *call, struct span bytes) {
    size_t size = bytes.size;
    size_t held = call->held;
    call->progress_ms = clock_mono_ms();
    if (!is_finished(call) && pending_size(call) == 0)
        feed(call, &bytes);
    if (!is_finished(call) && bytes.size > 0)
        keep_pending(call, bytes);
    size_t left = is_finished(call) ? 0 : bytes.size;
    return size - left - (call->held - held);
}

void grpc_call_receive_end(struct grpc_call *call) {
    call->request_ended = true;
    tell_end(call);
}

void grpc_call_pause(struct grpc_call *call) {
    call->paused = true;
}

void grpc_call_resume(struct grpc_call *call) {
    call->paused = false;
    if (call->feeding || !call->connection || is_finished(call))
        return;
    struct span rest = span_of(call->pending.data + call->pending_offset, pending_size(call));
    size_t before = rest.size;
    size_t held = call->held;
    /* Also without bytes: the end of a message, or what one inflates to, may still be untold. */
    feed(call, &rest);
    call->pending_offset += before - rest.size;
    if (pending_size(call) == 0) {
        buffer_clear(&call->pending);
        call->pending_offset = 0;
    }
    call->progress_ms = clock_mono_ms();
    grpc_connection_consume(call->connection, call, before - rest.size - (call->held - held));
    tell_end(call);
}

void grpc_call_hold(struct grpc_call *call, size_t size) {
    assert(call->feeding);
    if (!call->frames.compressed)
        call->held += size;
}

void grpc_call_release(struct grpc_call *call, size_t size) {
    if (size > call->held)
        size = call->held;
    call->held -= size;
    call->progress_ms = clock_mono_ms();
    if (call->connection)
        grpc_connection_consume(call->connection, call, size);
}

void grpc_call_set_window(struct grpc_call *call, size_t size) {
    assert(size >= GRPC_WINDOW_SIZE && size <= GRPC_WINDOW_SIZE_MAX);
    grpc_connection_set_window(call->connection, call, size);
}

size_t grpc_call_unconsumed(const struct grpc_call *call) {
    return pending_size(call) + call->held;
}

bool grpc_call_waits_for_client(const struct grpc_call *call) {
    bool waits_for_bytes = !call->request_ended && !call->paused && call->held == 0;
    return is_finished(call) || call->unsent.size > 0 || waits_for_bytes;
}
