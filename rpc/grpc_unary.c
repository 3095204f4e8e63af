#include "rpc/grpc_unary.h"

#include <stdlib.h>

struct unary_call {
    const struct grpc_unary *unary;
    struct grpc_call *call; /* a reference while it is on the pool */
    struct buffer request;
    bool has_message;
};

static void *unary_open(const struct grpc_method *method, struct grpc_call *call) {
    struct unary_call *unary_call = calloc(1, sizeof(*unary_call));
    if (!unary_call)
        return NULL;
    unary_call->unary = method->data;
    unary_call->call = call;
    return unary_call;
}

static void unary_message_begin(void *state, struct grpc_call *call, uint64_t size) {
    struct unary_call *unary_call = state;
    if (unary_call->has_message)
        grpc_call_finish(call, GRPC_INTERNAL, "a unary call with more than one message", NULL);
    unary_call->has_message = true;
    unary_call->request.size_max = size > 0 ? size : 1;
}

static void unary_message_bytes(void *state, struct grpc_call *call, struct span bytes) {
    struct unary_call *unary_call = state;
    buffer_append(&unary_call->request, bytes.data, bytes.size);
    if (buffer_failed(&unary_call->request))
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "no memory for the request", NULL);
}

static void unary_message_end(void *state, struct grpc_call *call) {
    (void)state;
    (void)call;
}

static void run_handler(void *argument) {
    struct unary_call *unary_call = argument;
    struct grpc_call *call = unary_call->call;
    const struct grpc_unary *unary = unary_call->unary;
    if (!grpc_call_is_over(call))
        unary->handle(unary->service, call, buffer_span(&unary_call->request));
    grpc_call_unref(call);
}

static void unary_request_end(void *state, struct grpc_call *call) {
    struct unary_call *unary_call = state;
    if (!unary_call->has_message) {
        grpc_call_finish(call, GRPC_INTERNAL, "a unary call without a message", NULL);
        return;
    }
    grpc_call_ref(call);
    struct error error;
    if (task_pool_submit(unary_call->unary->pool, run_handler, unary_call, &error) != ERR_OK) {
        grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, error.text, NULL);
        grpc_call_unref(call);
    }
}

static void unary_free(void *state) {
    struct unary_call *unary_call = state;
    buffer_clear(&unary_call->request);
    free(unary_call);
}

const struct grpc_method_functions grpc_unary_functions = {
    .open = unary_open,
    .message_begin = unary_message_begin,
    .message_bytes = unary_message_bytes,
    .message_end = unary_message_end,
    .request_end = unary_request_end,
    .free = unary_free,
};
