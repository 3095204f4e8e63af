/*
 * Unary methods for a service that wants its request in one piece and may block: the message is
 * assembled up to the method's size limit and handed to a handler on a task pool.
 *
 *     .functions = &grpc_unary_functions, .data = &(struct grpc_unary){handler, service, pool}
 */
#pragma once

#include "base/span.h"
#include "base/task_pool.h"
#include "rpc/grpc_service.h"

/* On the pool. Ends the call with grpc_call_finish before it returns. Not run at all when the call
 * was over before its turn came. The request lives until it returns. */
typedef void grpc_unary_handler(void *service, struct grpc_call *call, struct span request);

struct grpc_unary {
    grpc_unary_handler *handle;
    void *service;
    struct task_pool *pool;
};

extern const struct grpc_method_functions grpc_unary_functions;
