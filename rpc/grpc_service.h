/*
 * What a service is to the gRPC server: a name and methods, each a set of functions that the loop
 * of a call's connection runs as the bytes of its request arrive.
 *
 * The life of a call:
 *
 *     open, then per message: message_begin, message_bytes (any number, any size), message_end,
 *     then request_end. Compressed messages arrive inflated; the size at their begin is then the
 *     most that they may have. At any of these moments, or later from any thread, the method
 * answers with grpc_call_finish; nothing more is delivered after that. If the client resets the
 * stream, the connection breaks or the deadline passes before grpc_call_finish, `cancelled` is
 * called instead, once, and nothing more is delivered. `free` ends the state once the call is over
 * and nobody holds a reference to it.
 *
 * All functions but `free` run on the loop and must not block: work that does goes to a task pool,
 * with a reference to the call, and comes back by grpc_call_post or grpc_call_finish. While such
 * work needs the request to wait, grpc_call_pause stops delivery; what arrives meanwhile is bounded
 * by the stream's flow-control window. A method that keeps bytes beyond message_bytes holds them
 * (grpc_call_hold), so that the window bounds those too.
 *
 * Trust: headers and messages are hostile bytes. Paths, sizes and framing were checked here, the
 * contents of messages were not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"
#include "rpc/grpc_status.h"

struct grpc_call;
struct grpc_method;

struct grpc_method_functions {
    /* The method's state for this call; NULL (no memory) is answered RESOURCE_EXHAUSTED. */
    void *(*open)(const struct grpc_method *method, struct grpc_call *call);
    void (*message_begin)(void *state, struct grpc_call *call, uint64_t size);
    void (*message_bytes)(void *state, struct grpc_call *call, struct span bytes);
    void (*message_end)(void *state, struct grpc_call *call);
    void (*request_end)(void *state, struct grpc_call *call);
    void (*cancelled)(void *state, struct grpc_call *call); /* NULL: nothing to do */
    void (*free)(void *state); /* on the thread that drops the last reference; must not block */
};

struct grpc_method {
    const char *name; /* the path is /<service name>/<name> */
    const struct grpc_method_functions *functions;
    void *data;                /* for the functions; borrowed */
    uint64_t message_size_max; /* 0: the server's */
    bool streams_answers;      /* messages come by grpc_call_send only, and may be none */
};

struct grpc_service {
    const char *name; /* "parca.debuginfo.v1alpha1.DebuginfoService" */
    const struct grpc_method *methods;
    size_t method_count;
};

/* A request header (metadata) by its lower-case name, also ":path"; {NULL, 0} if absent. The bytes
 * live as long as the call. Any thread that holds a reference. */
struct span grpc_call_header(const struct grpc_call *call, const char *name);

const struct grpc_method *grpc_call_method(const struct grpc_call *call);

/* Who calls, by a certificate that was verified; "" when none was asked for. Printable. */
const char *grpc_call_client(const struct grpc_call *call);

/* A clock_mono_ms() value; INT64_MAX when the client set none. */
int64_t grpc_call_deadline_ms(const struct grpc_call *call);

/* True once the call was cancelled, its deadline passed or its client went away: work for it may
 * stop early. Any thread. */
bool grpc_call_is_over(const struct grpc_call *call);

/* References keep the call and the method's state. Any thread. */
struct grpc_call *grpc_call_ref(struct grpc_call *call);
void grpc_call_unref(struct grpc_call *call);

/* Stop and restart delivery. On the loop only; not counted, one resume undoes any number. */
void grpc_call_pause(struct grpc_call *call);
void grpc_call_resume(struct grpc_call *call);

/*
 * Of the bytes that message_bytes is being given, the method keeps `size`: the client may not send
 * others in their place until they are released. Bytes of compressed messages are not bounded by
 * this, since they are more than came over the wire: a method that is sent such pauses when it
 * holds enough. On the loop only.
 */
void grpc_call_hold(struct grpc_call *call, size_t size);
void grpc_call_release(struct grpc_call *call, size_t size);

/* How much the client may send ahead, from GRPC_WINDOW_SIZE, which every call begins with, up to
 * GRPC_WINDOW_SIZE_MAX; it is given as much memory as that. To be called by `open`. */
#define GRPC_WINDOW_SIZE ((size_t)65535)
#define GRPC_WINDOW_SIZE_MAX ((size_t)1 << 20)
void grpc_call_set_window(struct grpc_call *call, size_t size);

/*
 * Has the call's loop run function(state, call) soon, also if the call is over by then (see
 * grpc_call_is_over). The method may have one function posted at a time. Any thread.
 */
void grpc_call_post(struct grpc_call *call, void (*function)(void *state, struct grpc_call *call));

/*
 * Sends one message of a method that streams its answers; copies it. On the loop only. A client
 * that lets more than GRPC_UNSENT_SIZE_MAX wait has its call cancelled. Does
 * nothing once the call is finished or over.
 */
#define GRPC_UNSENT_SIZE_MAX (1 << 20)
void grpc_call_send(struct grpc_call *call, struct span message);

/*
 * Ends the call. With GRPC_OK the message in `response` is sent (NULL: an empty message, or none
 * by a method that streams its answers) and its bytes are taken over; otherwise the status and the
 * text (NULL: none). Only the first finish of a call counts, and one that comes after its
 * cancellation does nothing. Any thread.
 */
void grpc_call_finish(struct grpc_call *call, enum grpc_status status, const char *text,
                      struct buffer *response);
