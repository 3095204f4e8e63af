#include "rpc/grpc_connection_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "rpc/grpc_answer_internal.h"
#include "rpc/grpc_call_internal.h"
#include "rpc/grpc_handshake_internal.h"

/* Streams that wait for us leave room for the others of their connection. */
#define CONNECTION_WINDOW_SIZE (4 * GRPC_WINDOW_SIZE_MAX)
#define STREAM_COUNT_MAX 256

#define OUT_SIZE_MAX 65536
#define READS_PER_ROUND 8
#define GREETING_MS 10000
#define LOOK_AGAIN_MS 1000

/* --- calls ------------------------------------------------------------------------------------ */

static struct grpc_call *stream_call(nghttp2_session *session, int32_t stream_id) {
    return nghttp2_session_get_stream_user_data(session, stream_id);
}

static struct grpc_call *add_call(struct grpc_connection *connection, int32_t stream_id) {
    struct grpc_call *call = grpc_call_new(connection->loop, connection, stream_id);
    if (!call)
        return NULL;
    call->next = connection->calls;
    if (call->next)
        call->next->previous = call;
    connection->calls = call;
    return call;
}

static void drop_call(struct grpc_connection *connection, struct grpc_call *call) {
    if (call->previous)
        call->previous->next = call->next;
    else
        connection->calls = call->next;
    if (call->next)
        call->next->previous = call->previous;
    call->connection = NULL;
    grpc_call_unref(call);
}

/* --- what the session tells us ---------------------------------------------------------------- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user_data) {
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct grpc_call *call = add_call(user_data, frame->hd.stream_id);
    if (!call)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *user_data) {
    (void)flags;
    (void)user_data;
    struct grpc_call *call = stream_call(session, frame->hd.stream_id);
    if (call && !call->method && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        grpc_call_add_header(call, span_of(name, name_size), span_of(value, value_size));
    return 0;
}

static void take_ping(struct grpc_connection *connection) {
    static const char text[] = "too_many_pings"; /* gRPC clients know it, and ping less often */
    if (grpc_keepalive_take_ping(&connection->keepalive,
                                 &connection->loop->shared->limits.keepalive, clock_mono_ms(),
                                 connection->calls != NULL))
        return;
    nghttp2_submit_goaway(connection->session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(connection->session),
                          NGHTTP2_ENHANCE_YOUR_CALM, (const uint8_t *)text, sizeof(text) - 1);
    connection->broken = true;
}

static int on_frame_received(nghttp2_session *session, const nghttp2_frame *frame,
                             void *user_data) {
    struct grpc_connection *connection = user_data;
    if (frame->hd.type == NGHTTP2_SETTINGS)
        connection->greeted = true;
    if (frame->hd.type == NGHTTP2_PING && !(frame->hd.flags & NGHTTP2_FLAG_ACK))
        take_ping(connection);
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    struct grpc_call *call = stream_call(session, frame->hd.stream_id);
    if (!call)
        return 0;
    const struct grpc_shared *shared = connection->loop->shared;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        grpc_call_start(call, shared->services, shared->service_count,
                        shared->limits.message_size_max);
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        grpc_call_receive_end(call);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data,
                   size_t size, void *user_data) {
    (void)flags;
    (void)user_data;
    struct grpc_call *call = stream_call(session, stream_id);
    size_t taken = call ? grpc_call_receive(call, span_of(data, size)) : size;
    return nghttp2_session_consume(session, stream_id, taken) == NGHTTP2_ERR_NOMEM
               ? NGHTTP2_ERR_CALLBACK_FAILURE
               : 0;
}

/*
 * An answer that was sent before the request ended closes only our half. RST_STREAM(NO_ERROR) then
 * tells the client to stop sending (RFC 9113, 8.1); sent any earlier it would hide the status.
 */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user_data) {
    struct grpc_connection *connection = user_data;
    if (frame->hd.stream_id > 0)
        grpc_keepalive_sent(&connection->keepalive);
    if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    struct grpc_call *call = stream_call(session, frame->hd.stream_id);
    if (call && !call->request_ended)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                  NGHTTP2_NO_ERROR);
    return 0;
}

static int on_stream_closed(nghttp2_session *session, int32_t stream_id, uint32_t error_code,
                            void *user_data) {
    (void)error_code;
    struct grpc_connection *connection = user_data;
    struct grpc_call *call = stream_call(session, stream_id);
    if (!call)
        return 0;
    grpc_call_cancel(call, GRPC_OK, NULL);
    /* What the method never took still counts against the connection's window. */
    nghttp2_session_consume_connection(session, grpc_call_unconsumed(call));
    drop_call(connection, call);
    if (!connection->calls)
        grpc_keepalive_idle(&connection->keepalive, clock_mono_ms());
    return 0;
}

/* --- the session ------------------------------------------------------------------------------ */

static enum err new_session(struct grpc_connection *connection) {
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return ERR_NO_MEMORY;
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_received);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_closed);
    int failure = nghttp2_option_new(&option);
    if (failure == 0) {
        nghttp2_option_set_no_auto_window_update(option, 1);
        failure = nghttp2_session_server_new2(&connection->session, callbacks, connection, option);
        nghttp2_option_del(option);
    }
    nghttp2_session_callbacks_del(callbacks);
    return failure == 0 ? ERR_OK : ERR_NO_MEMORY;
}

static enum err greet(nghttp2_session *session) {
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAM_COUNT_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, GRPC_WINDOW_SIZE},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, GRPC_HEADER_BYTES_MAX},
    };
    if (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, ARRAY_SIZE(settings)) != 0 ||
        nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                              CONNECTION_WINDOW_SIZE) != 0)
        return ERR_NO_MEMORY;
    return ERR_OK;
}

static enum err watch(struct grpc_connection *connection, int operation, uint32_t interest) {
    struct epoll_event event = {.events = interest, .data.ptr = connection};
    int fd = grpc_transport_fd(connection->transport);
    connection->interest = interest;
    return epoll_ctl(connection->loop->epoll_fd, operation, fd, &event) == 0 ? ERR_OK : ERR_IO;
}

static void end_connection(struct grpc_connection *connection) {
    nghttp2_session_del(connection->session);
    buffer_clear(&connection->out);
    /* Closing alone does not end the watch while a worker that is being forked holds a copy of the
     * descriptor: events would come for a connection that is gone. */
    epoll_ctl(connection->loop->epoll_fd, EPOLL_CTL_DEL, grpc_transport_fd(connection->transport),
              NULL);
    grpc_transport_free(connection->transport);
    atomic_fetch_sub(&connection->loop->shared->connection_count, 1);
    free(connection);
}

void grpc_connection_open(struct grpc_loop *loop, int fd) {
    struct grpc_shared *shared = loop->shared;
    struct grpc_transport *transport = NULL;
    if (grpc_handshake_prepare(shared, fd, &transport) != ERR_OK)
        return;
    unsigned count = atomic_fetch_add(&shared->connection_count, 1) + 1;
    struct grpc_connection *connection = NULL;
    if (count <= shared->limits.connection_count_max)
        connection = calloc(1, sizeof(*connection));
    if (!connection) {
        atomic_fetch_sub(&shared->connection_count, 1);
        grpc_transport_free(transport);
        return;
    }
    connection->loop = loop;
    connection->transport = transport;
    connection->active_ms = clock_mono_ms();
    connection->keepalive =
        grpc_keepalive_of(&shared->limits.keepalive, connection->active_ms, (unsigned)fd);
    if (new_session(connection) != ERR_OK || greet(connection->session) != ERR_OK ||
        watch(connection, EPOLL_CTL_ADD, EPOLLIN) != ERR_OK) {
        end_connection(connection);
        return;
    }
    connection->next = loop->connections;
    if (connection->next)
        connection->next->previous = connection;
    loop->connections = connection;
    grpc_connection_mark_dirty(connection);
    grpc_loop_set_timer(loop, connection->active_ms + LOOK_AGAIN_MS);
}

static void unmark_dirty(struct grpc_connection *connection) {
    struct grpc_connection **link = &connection->loop->dirty;
    while (*link != connection)
        link = &(*link)->dirty_next;
    *link = connection->dirty_next;
}

void grpc_connection_close(struct grpc_connection *connection) {
    while (connection->calls) {
        struct grpc_call *call = connection->calls;
        grpc_call_cancel(call, GRPC_OK, NULL);
        drop_call(connection, call);
    }
    if (connection->dirty)
        unmark_dirty(connection);
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        connection->loop->connections = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    end_connection(connection);
}

void grpc_connection_mark_dirty(struct grpc_connection *connection) {
    if (connection->dirty)
        return;
    connection->dirty = true;
    connection->dirty_next = connection->loop->dirty;
    connection->loop->dirty = connection;
}

/* --- the socket ------------------------------------------------------------------------------- */

enum sent { SENT_ALL, SENT_BLOCKED, SENT_FAILED };

/* Up to OUT_SIZE_MAX and one frame. False when the session is broken. */
static bool take_output(struct grpc_connection *connection) {
    while (connection->out.size < OUT_SIZE_MAX) {
        const uint8_t *bytes = NULL;
        ssize_t size = nghttp2_session_mem_send(connection->session, &bytes);
        if (size <= 0)
            return size == 0;
        buffer_append(&connection->out, bytes, (size_t)size);
        if (buffer_failed(&connection->out))
            return false;
    }
    return true;
}

static enum sent send_output(struct grpc_connection *connection) {
    struct buffer *out = &connection->out;
    struct error error;
    while (connection->out_offset < out->size) {
        size_t size = 0;
        enum transport_result result =
            grpc_transport_send(connection->transport, out->data + connection->out_offset,
                                out->size - connection->out_offset, &size, &error);
        if (result != TRANSPORT_DONE)
            return result == TRANSPORT_BLOCKED ? SENT_BLOCKED : SENT_FAILED;
        connection->out_offset += size;
    }
    buffer_clear(out);
    connection->out_offset = 0;
    return SENT_ALL;
}

static enum sent flush_output(struct grpc_connection *connection) {
    for (;;) {
        enum sent sent = send_output(connection);
        if (sent != SENT_ALL)
            return sent;
        if (!take_output(connection))
            return SENT_FAILED;
        if (connection->out.size == 0)
            return SENT_ALL;
    }
}

void grpc_connection_wait_for(struct grpc_connection *connection, uint32_t interest) {
    if (interest != connection->interest && watch(connection, EPOLL_CTL_MOD, interest) != ERR_OK)
        grpc_connection_close(connection);
}

void grpc_connection_flush(struct grpc_connection *connection) {
    if (!connection->ready && !grpc_handshake_advance(connection))
        return;
    enum sent sent = flush_output(connection);
    nghttp2_session *session = connection->session;
    bool idle = !nghttp2_session_want_read(session) && !nghttp2_session_want_write(session);
    bool ended = connection->broken || idle || (connection->goaway && !connection->calls);
    if (sent == SENT_FAILED || (sent == SENT_ALL && ended)) {
        grpc_connection_close(connection);
        return;
    }
    /* A peer that does not read is not read either: its requests would only add to what waits. */
    grpc_connection_wait_for(connection, sent == SENT_BLOCKED ? EPOLLOUT : EPOLLIN);
}

/* False when nothing more is to be read in this round. */
static bool read_once(struct grpc_connection *connection, bool *ret_gone) {
    struct grpc_loop *loop = connection->loop;
    struct error error;
    size_t size = 0;
    enum transport_result result = grpc_transport_receive(connection->transport, loop->scratch,
                                                          sizeof(loop->scratch), &size, &error);
    if (result != TRANSPORT_DONE) {
        *ret_gone = result != TRANSPORT_BLOCKED;
        return false;
    }
    connection->active_ms = clock_mono_ms();
    /* The session takes all or fails; it has then queued a GOAWAY that says why. */
    if (nghttp2_session_mem_recv(connection->session, loop->scratch, size) < 0) {
        connection->broken = true;
        return false;
    }
    return size > sizeof(loop->scratch) - GRPC_TRANSPORT_ROOM_MIN;
}

/* Some of what there is, so that other connections get their turn; the socket then stays readable.
 * Bytes that only the transport knows of are not left behind. False when the peer is gone. */
static bool read_some(struct grpc_connection *connection) {
    bool gone = false;
    int reads = 0;
    while (read_once(connection, &gone) && ++reads < READS_PER_ROUND)
        continue;
    while (!gone && !connection->broken && grpc_transport_pending(connection->transport))
        read_once(connection, &gone);
    return !gone;
}

void grpc_connection_handle_events(struct grpc_connection *connection, uint32_t events) {
    bool gone = events & EPOLLERR;
    if (!gone && !connection->ready && !grpc_handshake_advance(connection))
        return;
    if (!gone && (events & (EPOLLIN | EPOLLHUP)))
        gone = !read_some(connection);
    if (gone)
        grpc_connection_close(connection);
    else
        grpc_connection_mark_dirty(connection);
}

/* --- from the loop ---------------------------------------------------------------------------- */

void grpc_connection_shut(struct grpc_connection *connection) {
    if (connection->goaway)
        return;
    connection->goaway = true;
    int32_t last = nghttp2_session_get_last_proc_stream_id(connection->session);
    nghttp2_submit_goaway(connection->session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
    grpc_connection_mark_dirty(connection);
}

void grpc_connection_answer(struct grpc_connection *connection, struct grpc_call *call) {
    if (grpc_answer_submit(connection->session, call) != ERR_OK)
        connection->broken = true;
    grpc_connection_mark_dirty(connection);
}

void grpc_connection_send(struct grpc_connection *connection, struct grpc_call *call) {
    if (grpc_answer_send(connection->session, call) != ERR_OK)
        connection->broken = true;
    grpc_connection_mark_dirty(connection);
}

void grpc_connection_consume(struct grpc_connection *connection, struct grpc_call *call,
                             size_t size) {
    if (size == 0)
        return;
    if (nghttp2_session_consume(connection->session, call->stream_id, size) != 0)
        connection->broken = true;
    grpc_connection_mark_dirty(connection);
}

void grpc_connection_set_window(struct grpc_connection *connection, struct grpc_call *call,
                                size_t size) {
    if (nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE,
                                              call->stream_id, (int32_t)size) != 0)
        connection->broken = true;
}

static void expire_call(struct grpc_connection *connection, struct grpc_call *call,
                        int64_t now_ms) {
    bool finished = atomic_load(&call->finished);
    bool idle = grpc_call_waits_for_client(call) &&
                now_ms - call->progress_ms >= connection->loop->shared->limits.call_idle_ms;
    if (!finished && now_ms >= call->deadline_ms) {
        grpc_call_cancel(call, GRPC_DEADLINE_EXCEEDED, "the deadline has passed");
    } else if (!finished && idle) {
        grpc_call_cancel(call, GRPC_DEADLINE_EXCEEDED, "the client stopped sending");
    } else if (idle) {
        nghttp2_submit_rst_stream(connection->session, NGHTTP2_FLAG_NONE, call->stream_id,
                                  NGHTTP2_CANCEL);
        grpc_connection_mark_dirty(connection);
    }
}

static void keep_alive(struct grpc_connection *connection, int64_t now_ms) {
    switch (grpc_keepalive_check(&connection->keepalive,
                                 &connection->loop->shared->limits.keepalive, now_ms,
                                 connection->active_ms, connection->calls != NULL)) {
    case GRPC_KEEPALIVE_NOTHING:
        break;
    case GRPC_KEEPALIVE_PING:
        nghttp2_submit_ping(connection->session, NGHTTP2_FLAG_NONE, NULL);
        grpc_connection_mark_dirty(connection);
        break;
    case GRPC_KEEPALIVE_SHUT:
        grpc_connection_shut(connection);
        break;
    case GRPC_KEEPALIVE_CLOSE:
        grpc_connection_close(connection);
        break;
    }
}

int64_t grpc_connection_expire(struct grpc_connection *connection, int64_t now_ms) {
    int64_t again_ms = now_ms + LOOK_AGAIN_MS;
    for (struct grpc_call *call = connection->calls; call; call = call->next) {
        expire_call(connection, call, now_ms);
        if (!atomic_load(&call->finished) && call->deadline_ms < again_ms)
            again_ms = call->deadline_ms;
    }
    int64_t quiet_ms = now_ms - connection->active_ms;
    bool blocked = connection->interest == EPOLLOUT;
    if (!connection->ready)
        grpc_handshake_expire(connection, quiet_ms);
    else if ((!connection->greeted && quiet_ms >= GREETING_MS) ||
             (blocked && quiet_ms >= connection->loop->shared->limits.call_idle_ms))
        grpc_connection_close(connection);
    else if (!blocked)
        keep_alive(connection, now_ms);
    return again_ms;
}
