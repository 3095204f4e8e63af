/*
 * One call of the gRPC server. Everything but the fields marked "any thread" belongs to the loop
 * of its connection. The connection holds one reference while the stream is open; work outside
 * holds more. `connection` is NULL once the stream is closed.
 */
#pragma once

#include <stdatomic.h>

#include "rpc/grpc_frames.h"
#include "rpc/grpc_inflate.h"
#include "rpc/grpc_service.h"
#include "rpc/tls_guard.h"

#define GRPC_HEADER_COUNT_MAX 64
#define GRPC_HEADER_BYTES_MAX 16384
#define GRPC_STATUS_TEXT_SIZE 512

struct grpc_connection;
struct grpc_loop;

struct grpc_header {
    uint32_t name_offset;
    uint32_t name_size;
    uint32_t value_offset;
    uint32_t value_size;
};

struct grpc_call {
    struct grpc_loop *loop;
    struct grpc_connection *connection;
    struct grpc_call *previous; /* of the connection's calls */
    struct grpc_call *next;
    int32_t stream_id;
    atomic_uint reference_count; /* any thread */

    struct buffer header_bytes;
    struct grpc_header headers[GRPC_HEADER_COUNT_MAX];
    size_t header_count;
    bool headers_refused;
    char client[TLS_CLIENT_SIZE]; /* outlives the connection */

    const struct grpc_method *method; /* NULL until opened, and where the path is unknown */
    void *state;
    int64_t deadline_ms;
    int64_t progress_ms; /* when the client last gave or took bytes */

    struct grpc_frames frames;
    struct grpc_inflate *inflate; /* NULL until the first compressed message */
    struct buffer pending;        /* arrived while paused, not yet consumed for flow control */
    size_t pending_offset;
    size_t held; /* taken by the method, not yet consumed for flow control */
    bool paused;
    bool feeding;
    bool request_ended;    /* the client's END_STREAM has come */
    bool request_end_told; /* and the method knows */

    atomic_bool over;     /* any thread: cancelled, timed out or disconnected */
    atomic_bool finished; /* any thread: the first finish or cancellation has taken the call */
    enum grpc_status status;
    unsigned http_status; /* not 200: no gRPC at all */
    char text[GRPC_STATUS_TEXT_SIZE];
    uint8_t prefix[GRPC_PREFIX_SIZE];
    struct buffer response;
    size_t response_offset; /* counts the prefix too */
    struct buffer unsent;   /* streamed answers with their prefixes, from unsent_offset on */
    size_t unsent_offset;
    bool answer_begun; /* its headers are with the session */
    bool answer_ended; /* the trailers may follow what is unsent */

    /* The loop's queue, under its mutex: any thread. */
    struct grpc_call *queue_next;
    bool queued;
    bool finish_queued;
    void (*posted)(void *state, struct grpc_call *call);
};

/* With one reference, and the loop's count of live calls raised; NULL when out of memory. */
struct grpc_call *grpc_call_new(struct grpc_loop *loop, struct grpc_connection *connection,
                                int32_t stream_id);

/* False when the header is over the limits; the call remembers that. */
void grpc_call_add_header(struct grpc_call *call, struct span name, struct span value);

/* The headers are complete: checks them, finds the method and opens it, or finishes the call. */
void grpc_call_start(struct grpc_call *call, const struct grpc_service *const *services,
                     size_t service_count, uint64_t message_size_max);

/* Bytes of the request, and its end. Return what may be consumed for flow control. */
size_t grpc_call_receive(struct grpc_call *call, struct span bytes);
void grpc_call_receive_end(struct grpc_call *call);

/* The stream is gone, or (with a status other than GRPC_OK to send) its time is over. */
void grpc_call_cancel(struct grpc_call *call, enum grpc_status status, const char *text);

/* What came and was not consumed for flow control. */
size_t grpc_call_unconsumed(const struct grpc_call *call);

/* True while nothing can happen until the client sends or takes bytes. */
bool grpc_call_waits_for_client(const struct grpc_call *call);
