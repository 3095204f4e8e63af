/*
 * A gRPC server over HTTP/2 (nghttp2; h2c by prior knowledge, or TLS 1.3 with ALPN h2),
 * implementing the gRPC over HTTP/2 protocol document of the gRPC project. It knows no service:
 * methods are registered by path, and any other path is answered UNIMPLEMENTED with the connection
 * kept.
 *
 * A request message is handed over in pieces as its bytes arrive, never assembled here, so that a
 * method can stream it to disk; flow control bounds what a connection can make us hold.
 *
 * Threads: config.thread_count threads run one event loop each; the callbacks of one call all run
 * on the loop of its connection and must not block. grpc_call_finish and the other functions marked
 * "any thread" hand their work to that loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"

struct grpc_server;
struct grpc_service;
struct tls_slot;

/* A client whose TLS handshake failed, and why. On the thread of a loop: must not block. */
typedef void grpc_refusal_observer(void *argument, const char *peer, const char *reason);

struct grpc_server_config {
    const char *address;            /* numeric, "127.0.0.1" */
    uint16_t port;                  /* 0: any free one; see grpc_server_port */
    unsigned thread_count;          /* 0: 1 */
    uint64_t message_size_max;      /* 0: 64 MiB */
    unsigned connection_count_max;  /* 0: 4096 */
    int64_t call_idle_ms;           /* a client neither sends nor takes bytes; 0: 2 min */
    int64_t connection_idle_ms;     /* no call open; 0: 30 min */
    int64_t connection_age_ms;      /* from then on no new calls; 0: any age */
    int64_t keepalive_time_ms;      /* a silent client is pinged; 0: 2 h */
    int64_t keepalive_timeout_ms;   /* and given up; 0: 20 s */
    int64_t ping_interval_min_ms;   /* of the client's pings; 0: 5 min */
    bool pings_without_calls;       /* so often also while no call is open; else 2 h */
    struct tls_slot *tls;           /* borrowed; NULL: plain text */
    grpc_refusal_observer *refused; /* may be NULL */
    void *refused_argument;
};

/* Listens and starts the threads. The services (borrowed) must outlive the server. */
enum err grpc_server_open(const struct grpc_server_config *config,
                          const struct grpc_service *const *services, size_t service_count,
                          struct grpc_server **ret_server, struct error *error);
uint16_t grpc_server_port(const struct grpc_server *server);

struct grpc_server_stats {
    uint64_t connections; /* open now */
    uint64_t calls;       /* open now */
};

void grpc_server_stats_read(struct grpc_server *server, struct grpc_server_stats *ret_stats);

/* Listens no more and sends GOAWAY; open calls have grace_ms to end from now on. Does not wait. */
void grpc_server_begin_stop(struct grpc_server *server, int64_t grace_ms);

/* Begins to stop unless that was done before, waits for the calls, then closes and joins. */
void grpc_server_stop(struct grpc_server *server, int64_t grace_ms);
void grpc_server_free(struct grpc_server *server);
DEFINE_CLEANUP(grpc_server, struct grpc_server, grpc_server_free)
