/*
 * The exposure decision: may this principal see this frame, and how much of it? Pure: request and
 * document in, verdict by value out; no I/O, no clock, no globals.
 *
 * Until tenants have policy documents, the verdict is EXPOSURE_FULL for everybody, and a request
 * without ROLE_RESOLVE is denied.
 */
#pragma once

#include <stdint.h>

#include "base/binary_id.h"
#include "base/request_context.h"
#include "base/symbol.h"

/* From most to least that is shown. */
enum exposure {
    EXPOSURE_FULL = 0,
    EXPOSURE_DENY = 4,
};

struct policy_request {
    const struct request_context *context;
    const struct binary_id *id;
    struct span module_name;          /* as the asker named it; may be empty */
    const struct symbol_frame *frame; /* NULL asks for the module as a whole */
    int64_t now_ms;                   /* wall clock */
};

enum exposure policy_decide(const struct policy_request *request);
