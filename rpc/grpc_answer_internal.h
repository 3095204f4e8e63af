/* The answer of a call, as HTTP/2 headers, data and trailers. */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/error.h"

struct grpc_call;

/*
 * Both queue in the session, ERR_NO_MEMORY; the call must stay until its stream is closed.
 * The first sends what an unfinished call streams, the second the answer or rest of a finished one.
 */
enum err grpc_answer_send(nghttp2_session *session, struct grpc_call *call);
enum err grpc_answer_submit(nghttp2_session *session, struct grpc_call *call);
