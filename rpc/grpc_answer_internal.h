/* The answer of a finished call, as HTTP/2 headers, data and trailers. */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/error.h"

struct grpc_call;

/* Queues it in the session. ERR_NO_MEMORY. The call must stay until its stream is closed. */
enum err grpc_answer_submit(nghttp2_session *session, struct grpc_call *call);
