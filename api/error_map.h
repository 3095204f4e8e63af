/*
 * The one table that turns a failure into what a client sees: a gRPC status code and an HTTP
 * status code.
 *
 * Agents act on these: after INVALID_ARGUMENT or ALREADY_EXISTS Parca Agent never asks about that
 * binary again, RESOURCE_EXHAUSTED and UNAVAILABLE are retried with a delay, and anything else is
 * dropped until the agent meets the binary anew, hours later.
 */
#pragma once

#include "base/error.h"
#include "rpc/grpc_status.h"

/* GRPC_OK for ERR_OK. */
enum grpc_status error_map_grpc(enum err code);

/* 200 for ERR_OK. */
unsigned error_map_http(enum err code);

/* What a client may read: the error's own text, or a general one where it would tell about our
 * system (what a system call said, a broken invariant). The log has the full text. */
const char *error_map_public_text(const struct error *error);
