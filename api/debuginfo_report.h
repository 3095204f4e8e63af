/* The answer of GET /v1/debuginfo/{build_id} (docs/API.md): what is known of one binary. */
#pragma once

#include "api/module_resolver.h"
#include "base/buffer.h"

/* Appends the JSON. ERR_NOT_FOUND when the tenant has nothing for the id. Blocks for the disk. */
enum err debuginfo_report(const struct module_resolver *resolver,
                          const struct request_context *context, const struct binary_id *id,
                          struct buffer *ret_json, struct error *error);
