/* The counters, shared by api/metrics.c, which counts, and api/metrics_render.c, which shows. */
#pragma once

#include <stdatomic.h>

#include "api/metrics.h"

/* Statuses that the service answers; the last place is for all others. */
#define METRICS_HTTP_STATUSES                                                                      \
    {                                                                                              \
        200, 201, 204, 206, 304, 400, 401, 403, 404, 405, 408, 409, 411, 413, 415, 416, 422, 429,  \
            499, 500, 501, 503, 504, 507, 0                                                        \
    }
#define METRICS_HTTP_STATUS_COUNT 25

/* The last place is for all others. */
#define METRICS_METHODS                                                                            \
    { "ShouldInitiateUpload", "InitiateUpload", "Upload", "MarkUploadFinished", "other" }
#define METRICS_METHOD_COUNT 5
#define METRICS_GRPC_STATUS_COUNT GRPC_STATUS_COUNT

struct metrics {
    atomic_uint_fast64_t requests[METRICS_ROUTE_MAX][METRICS_HTTP_STATUS_COUNT];
    atomic_uint_fast64_t calls[METRICS_METHOD_COUNT][METRICS_GRPC_STATUS_COUNT];
    atomic_uint_fast64_t lookups;
    atomic_uint_fast64_t misses[METRICS_MISS_COUNT];
    atomic_uint_fast64_t modules[METRICS_MODULE_STATUS_COUNT];
};
