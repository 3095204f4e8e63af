/* The answer of POST /v1/symbolize (docs/API.md), written piece by piece while it is sent. */
#pragma once

#include "api/http_server.h"
#include "api/metrics.h"
#include "api/symbolize.h"

/* Takes the batch; borrows the metrics, which learn the reasons. */
enum err symbolize_json_new(struct symbolize_batch *batch, struct metrics *metrics,
                            struct http_stream **ret_stream, struct error *error);
