/*
 * The text forms in gRPC's HTTP/2 headers (doc/PROTOCOL-HTTP2.md of the gRPC project). What is
 * parsed here comes from outside and may hold any byte.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* Status-Message: percent-encoded UTF-8. Cut to what fits, at a whole escape. */
void grpc_message_encode(const char *text, char *ret_text, size_t text_size);

/* Never fails: a broken escape stays as it is, and control bytes become '?'. */
void grpc_message_decode(struct span encoded, char *ret_text, size_t text_size);

/* Timeout: 1 to 8 digits and one of H M S m u n. Rounded up to milliseconds. */
bool grpc_timeout_parse(struct span text, int64_t *ret_ms);

#define GRPC_TIMEOUT_SIZE 16

/* Milliseconds, or seconds where the digits would not suffice. */
void grpc_timeout_format(int64_t timeout_ms, char ret_text[static GRPC_TIMEOUT_SIZE]);

/* "application/grpc" or "application/grpc+proto", in any case, parameters ignored. */
bool grpc_content_type_known(struct span value);
