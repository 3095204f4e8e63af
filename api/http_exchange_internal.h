/* One request and its answer, shared by api/http_server.c, api/http_receive.c and
 * api/http_exchange.c. */
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "api/http_server.h"

#define HTTP_PARAMETER_SIZE_MAX ((size_t)255)

#define HTTP_ANSWER_HEADERS_MAX 16
#define HTTP_ANSWER_HEADER_VALUE_SIZE 200

/* A header of the answer, added before there is a response to hold it. */
struct answer_header {
    const char *name; /* a literal */
    char value[HTTP_ANSWER_HEADER_VALUE_SIZE];
};

enum exchange_state {
    EXCHANGE_PREPARING, /* the connection is suspended until the body has a receiver */
    EXCHANGE_RECEIVING, /* the body is arriving */
    EXCHANGE_RUNNING,   /* the connection is suspended; a handler owns the exchange */
    EXCHANGE_ANSWERED,  /* the response is ready, or is being sent */
};

struct http_exchange {
    struct http_server *server;
    struct MHD_Connection *connection;
    struct request_context context;
    size_t route; /* position; the count of routes when there is none */
    char method[16];
    char parameter[HTTP_PARAMETER_SIZE_MAX + 1];
    size_t parameter_size;
    struct buffer body;
    struct http_receiver *receiver; /* NULL: the body is kept, or dropped */
    uint64_t received;              /* of a kept body */
    uint64_t dropped;
    int64_t deadline_ms; /* for receiving what has no receiver */
    bool headers_done;   /* libmicrohttpd calls twice for them if the first call suspends */
    int64_t started_ms;
    struct answer_header headers[HTTP_ANSWER_HEADERS_MAX];
    size_t header_count;
    enum exchange_state state;
    bool suspended;
    struct MHD_Response *response;
    unsigned status;
    uint64_t sent;     /* of the answer's body */
    char message[256]; /* of an error */
};

struct http_server {
    struct http_server_config config;
    /* Set when its threads may run already: a request can come before MHD_start_daemon returns. */
    struct MHD_Daemon *_Atomic daemon;
    int listen_fd; /* -1 while the daemon owns it */
    uint16_t port;
    atomic_bool stopping;
    atomic_size_t body_total; /* bytes of bodies held by all exchanges */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t open_count;    /* exchanges */
    size_t running_count; /* of them, with a handler */
    bool closing;         /* no more handlers are begun */
};

/* NULL when out of memory. */
struct http_exchange *http_exchange_new(struct http_server *server,
                                        struct MHD_Connection *connection, const char *method);
void http_exchange_free(struct http_exchange *exchange);

/* The connection is done with the answer. */
void http_exchange_tell_end(const struct http_exchange *exchange);

/* Before the first byte of the body: refuses it by its announced size, or asks for a receiver. */
enum MHD_Result http_receive_begin(struct http_exchange *exchange);
/* The second call for the headers, after the first one has suspended the connection. */
enum MHD_Result http_receive_prepared(struct http_exchange *exchange);
enum MHD_Result http_receive_bytes(struct http_exchange *exchange, const char *bytes, size_t size);

/* Suspends the connection and runs a handler of the exchange's route on its pool. */
enum MHD_Result http_server_hand_over(struct http_exchange *exchange, enum exchange_state state);
/* The handler is done with its exchange. */
void http_server_handler_ended(struct http_server *server);
/* Sends what the exchange was answered with. */
enum MHD_Result http_exchange_send(struct http_exchange *exchange);
