/* One HTTP/2 connection of the gRPC server: an nghttp2 session over a transport. */
#pragma once

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "rpc/grpc_loop_internal.h"
#include "rpc/grpc_transport.h"

struct grpc_connection {
    struct grpc_loop *loop;
    struct grpc_transport *transport;
    nghttp2_session *session;
    struct grpc_connection *previous; /* of the loop's connections */
    struct grpc_connection *next;
    struct grpc_connection *dirty_next;
    bool dirty;
    bool goaway;       /* ends with its last call */
    bool broken;       /* ends at the next flush */
    bool ready;        /* the transport's handshake is over */
    bool refused;      /* it failed: what comes is dropped until the peer closes */
    bool greeted;      /* the client's first SETTINGS have come */
    uint32_t interest; /* epoll events */
    int64_t active_ms; /* when the peer last sent anything */
    struct grpc_keepalive keepalive;
    struct grpc_call *calls;
    struct buffer out; /* taken from the session, not yet from us by the socket */
    size_t out_offset;
};

/* Takes the descriptor; closes it on failure. */
void grpc_connection_open(struct grpc_loop *loop, int fd);

/* Ends its calls (they are cancelled) and frees it. */
void grpc_connection_close(struct grpc_connection *connection);

void grpc_connection_handle_events(struct grpc_connection *connection, uint32_t events);

/* Which event of the socket comes next: EPOLLIN or EPOLLOUT. May end the connection. */
void grpc_connection_wait_for(struct grpc_connection *connection, uint32_t interest);

/* Marks it for a flush at the end of the loop's round. */
void grpc_connection_mark_dirty(struct grpc_connection *connection);

/* Sends what there is. May end the connection. */
void grpc_connection_flush(struct grpc_connection *connection);

/* No new calls; the open ones may end. */
void grpc_connection_shut(struct grpc_connection *connection);

/* Sends the finished call's answer. */
void grpc_connection_answer(struct grpc_connection *connection, struct grpc_call *call);

/* Sends what the call streams so far. */
void grpc_connection_send(struct grpc_connection *connection, struct grpc_call *call);

/* Bytes that the call took late, after a pause. */
void grpc_connection_consume(struct grpc_connection *connection, struct grpc_call *call,
                             size_t size);

/* What the client may send ahead on the call's stream. */
void grpc_connection_set_window(struct grpc_connection *connection, struct grpc_call *call,
                                size_t size);

/* Ends what is overdue. Returns when to look again. May end the connection. */
int64_t grpc_connection_expire(struct grpc_connection *connection, int64_t now_ms);
