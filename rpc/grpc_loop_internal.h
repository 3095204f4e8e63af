/*
 * One event loop of the gRPC server: a thread, its connections, and the queue through which other
 * threads hand calls back to it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "rpc/grpc_keepalive.h"
#include "rpc/grpc_server.h"
#include "rpc/grpc_service.h"

struct grpc_call;
struct grpc_connection;

struct grpc_limits {
    uint64_t message_size_max;
    unsigned connection_count_max;
    int64_t call_idle_ms;
    struct grpc_keepalive_limits keepalive;
};

/* What all loops of a server share. */
struct grpc_shared {
    const struct grpc_service *const *services;
    size_t service_count;
    struct grpc_limits limits;
    struct tls_slot *tls; /* NULL: sockets alone */
    grpc_refusal_observer *refused;
    void *refused_argument;
    atomic_uint connection_count;
};

struct grpc_loop {
    struct grpc_shared *shared;
    int epoll_fd;
    int wake_fd;
    int listen_fd; /* shared by all loops */
    bool listening;
    bool started;
    pthread_t thread;
    uint8_t scratch[65536]; /* what one read brings */
    struct grpc_connection *connections;
    struct grpc_connection *dirty; /* have output to make */
    int64_t timer_ms;              /* the next moment at which something may be overdue */
    int64_t listen_again_ms;       /* after we ran out of descriptors */

    pthread_mutex_t mutex; /* for what follows */
    struct grpc_call *queue_first;
    struct grpc_call *queue_last;
    size_t call_count; /* calls that are not freed yet */
    bool stopping;
    int64_t stop_ms; /* when open calls are cut off */
};

enum err grpc_loop_open(struct grpc_shared *shared, int listen_fd, struct grpc_loop *loop,
                        struct error *error);
enum err grpc_loop_start(struct grpc_loop *loop, struct error *error);

/* GOAWAY to all; the thread ends when its last call has ended. Does not wait. */
void grpc_loop_stop(struct grpc_loop *loop, int64_t stop_ms);
void grpc_loop_join(struct grpc_loop *loop);
void grpc_loop_close(struct grpc_loop *loop);

/* Has the loop look at the call: it was finished, or something was posted. Takes a reference for
 * as long as it is queued. Caller holds the mutex. */
void grpc_loop_queue_locked(struct grpc_loop *loop, struct grpc_call *call);

/* A call of this loop ended. Any thread. */
void grpc_loop_call_freed(struct grpc_loop *loop);

/* Something may be overdue at that time. On the loop only. */
void grpc_loop_set_timer(struct grpc_loop *loop, int64_t when_ms);
