/*
 * POST /v1/symbolize (docs/API.md) for one module: addresses in, frames out. What the server sends
 * is checked: it may be any server.
 */
#pragma once

#include <stdint.h>

#include "base/binary_id.h"
#include "base/symbol_source.h"
#include "cli/http_client.h"

struct remote_question {
    const struct binary_id *id;
    const uint64_t *addresses;
    size_t count;
    int64_t wait_ms; /* for a pending index, over as many requests as that takes */
};

struct remote_frames;

/* Errors: as http_client_ask, and ERR_MALFORMED for an answer that is none. */
enum err remote_symbolize(struct http_client *client, const struct remote_question *question,
                          struct remote_frames **ret_frames, struct error *error);
void remote_frames_free(struct remote_frames *frames);
DEFINE_CLEANUP(remote_frames, struct remote_frames, remote_frames_free)

/* "ok", or why nothing was answered ("no_debuginfo", "pending", ...), with the server's detail or
 * NULL. */
const char *remote_frames_status(const struct remote_frames *frames);
const char *remote_frames_detail(const struct remote_frames *frames);

/* Of address `position`, leaf first; the strings live as long as `frames`. The name is what the
 * server made of it for a reader, or the linkage name where `demangle` is false. */
enum err remote_frames_get(const struct remote_frames *frames, size_t position, bool demangle,
                           struct frame_list *ret_list, struct error *error);
