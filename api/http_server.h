/*
 * The HTTP/1.1 front: libmicrohttpd with a pool of epoll threads. It receives requests, finds the
 * route, and hands each to its handler; it knows no service.
 *
 * Handlers run on the task pool while their connection is suspended, so that a network thread
 * never waits for a disk or a lookup. A handler may also answer later, from any thread; it ends an
 * exchange by exactly one of the http_exchange_reply and http_exchange_fail functions, after which
 * the exchange is no longer its own. Only routes marked `quick` run on the network thread itself.
 *
 * Every response carries X-Request-Id. Every error has one body:
 *
 *     {"error":{"code":"not_found","message":"…","request_id":"…"}}
 *
 * with Content-Type application/json; the exceptions are what libmicrohttpd refuses before there
 * is a request (headers over the connection's memory, bad request lines).
 *
 * A body is kept in memory, within bounds, or handed on as it comes: a route with `prepare` gives
 * it a receiver before the first byte is read.
 *
 * Bounds: connections, memory per connection (headers), size of a body and of all bodies together,
 * time of inactivity, time to receive a request and to send an answer. A body over the bound is
 * read on and dropped before 413 is sent, since a client that is still writing would lose the
 * answer; one that asked with "Expect: 100-continue" is answered at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/request_context.h"
#include "base/span.h"
#include "base/task_pool.h"

struct http_server;
struct http_exchange;
struct tls_slot;

typedef void http_handler(struct http_exchange *exchange, void *argument);

struct http_route {
    const char *method; /* GET answers HEAD too */
    const char *path;   /* see api/http_path.h */
    http_handler *handler;
    /* NULL, or runs once the headers are there: calls http_exchange_receive_body, after which the
     * handler runs when the body has come, or ends the exchange. */
    http_handler *prepare;
    bool takes_json; /* has a body, whose Content-Type, if there is one, is application/json */
    bool quick;      /* never blocks: runs on the network thread */
    bool waits;      /* for disk syncs or a worker: runs on waiting_pool */
};

/* What was answered, for metrics and logs. */
struct http_outcome {
    size_t route; /* position in the routes; their count when none was found */
    unsigned status;
    const char *method;
    const struct request_context *context;
    uint64_t size; /* bytes of the answer's body that were sent; 0 before its end */
    int64_t duration_ms;
    const char *message; /* of an error; else NULL */
};
typedef void http_observer(const struct http_outcome *outcome, void *argument);

/* A client that got no further than TLS. `reason` is NULL where only the handshake is missing, as
 * when somebody looks whether the port is open. On a network thread: must not block. */
typedef void http_refusal_observer(void *argument, const char *peer, const char *reason);

struct http_server_config {
    const char *address;             /* numeric, IPv4 or IPv6 without brackets */
    uint16_t port;                   /* 0: any free one; see http_server_port */
    unsigned thread_count;           /* 0: 2 */
    unsigned connection_count_max;   /* 0: 1024 */
    size_t body_size_max;            /* 0: 32 MiB */
    size_t body_total_max;           /* 0: eight times body_size_max */
    unsigned idle_timeout_s;         /* 0: 30 */
    int64_t transfer_max_ms;         /* for receiving a request, and for sending; 0: 5 min */
    const struct http_route *routes; /* borrowed, as all below */
    size_t route_count;
    void *argument;             /* for handlers and the observer */
    http_observer *observer;    /* told when the answer is handed to the network */
    http_observer *ended;       /* told when the connection is done with it; may be NULL */
    const char *const *origins; /* of pages that may ask; see api/http_cors.h */
    size_t origin_count;
    const char *const *methods; /* that they may use */
    size_t method_count;
    struct task_pool *pool;
    struct task_pool *waiting_pool; /* NULL: pool */
    struct tls_slot *tls;           /* NULL: plain text; else TLS 1.3 only */
    http_refusal_observer *refused; /* may be NULL */
    void *refused_argument;
};

/* Listens and starts the threads. */
enum err http_server_open(const struct http_server_config *config, struct http_server **ret_server,
                          struct error *error);
uint16_t http_server_port(const struct http_server *server);

/* The connections that are open at the server of this exchange. */
unsigned http_exchange_connection_count(const struct http_exchange *exchange);

/* Stops listening and lets exchanges end for up to grace_ms; handlers are always waited for, so
 * that whoever holds an exchange must end it first. Then closes and joins. */
void http_server_stop(struct http_server *server, int64_t grace_ms);
void http_server_free(struct http_server *server);
DEFINE_CLEANUP(http_server, struct http_server, http_server_free)

/* For handlers. What they point to lives until the exchange is ended. */
const struct request_context *http_exchange_context(const struct http_exchange *exchange);
struct span http_exchange_body(const struct http_exchange *exchange);
/* The body is no longer needed: gives its memory back before the answer is done. */
void http_exchange_drop_body(struct http_exchange *exchange);
/* The path's parameter, decoded; may hold any byte. */
struct span http_exchange_parameter(const struct http_exchange *exchange);
/* A query argument, decoded. False when absent. ERR_INVALID when it is no text of at most 255
 * bytes in proper escapes. */
enum err http_exchange_query(const struct http_exchange *exchange, const char *key,
                             char ret_value[static 256], bool *ret_present, struct error *error);

/* A request header as it came; NULL when absent. */
const char *http_exchange_header(const struct http_exchange *exchange, const char *name);
bool http_exchange_is_head(const struct http_exchange *exchange);
/* The Content-Length; false when the body is chunked. */
bool http_exchange_body_size(const struct http_exchange *exchange, uint64_t *ret_size);

/* What takes a body that is not kept. */
struct http_receiver {
    const struct http_receiver_ops *ops;
};

struct http_receiver_ops {
    /* The next piece, on the network thread: it may write to a file, but not wait for a sync. A
     * failure is answered, and ends the receiver. */
    enum err (*receive)(struct http_receiver *receiver, struct span bytes, struct error *error);
    /* The exchange has ended, or the client went away. On any thread: must not block. */
    void (*free)(struct http_receiver *receiver);
};

/* For `prepare`: takes the receiver and lets the body come. Its exchange is then not its own. */
void http_exchange_receive_body(struct http_exchange *exchange, struct http_receiver *receiver);
/* For the handler, until it ends the exchange. */
struct http_receiver *http_exchange_receiver(const struct http_exchange *exchange);

/* Adds a header to the answer that comes next. Both are copied. */
void http_exchange_add_header(struct http_exchange *exchange, const char *name, const char *value);

/* An answer that is made while it is sent. */
struct http_stream {
    const struct http_stream_ops *ops;
};

struct http_stream_ops {
    /* Appends the next piece, some 16 KiB: at least a byte unless *ret_end becomes true. Runs
     * first on the thread that replies, then on the network thread: it must not block. */
    enum err (*render)(struct http_stream *stream, struct buffer *out, bool *ret_end,
                       struct error *error);
    void (*free)(struct http_stream *stream);
};

/* Takes the bytes; `body` is left empty. */
void http_exchange_reply(struct http_exchange *exchange, unsigned status, const char *content_type,
                         struct buffer *body);
/* Takes the stream. */
void http_exchange_reply_stream(struct http_exchange *exchange, unsigned status,
                                const char *content_type, struct http_stream *stream);
/* The same for an answer of a known size: exactly so many bytes are sent, none for HEAD. */
void http_exchange_reply_sized(struct http_exchange *exchange, unsigned status,
                               const char *content_type, uint64_t size, struct http_stream *stream);
/* Status and code word come from api/error_map.h and err_name. */
void http_exchange_fail(struct http_exchange *exchange, const struct error *error);
/* The error body with a status and code word for which there is no `enum err`. `allow`: NULL, or
 * the value of an Allow header. */
void http_exchange_refuse(struct http_exchange *exchange, unsigned status, const char *code,
                          const char *message, const char *allow);
