/*
 * Cross-origin requests (Fetch Standard, section 3.2): pages of the configured origins may read
 * answers and send what the configured methods allow; cookies stay closed to them. An origin that
 * is not configured is answered as if there were none of this.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct http_exchange;

/* Every answer to an allowed origin says so; call it before the exchange is answered. */
void http_cors_begin(struct http_exchange *exchange);

/* Answers a preflight of an allowed origin. False: it was none, and nothing has been done. */
bool http_cors_preflight(struct http_exchange *exchange);

/* "https://host" or "https://host:port", as browsers write it: no path, not even "/". */
bool http_cors_is_origin(const char *text);

/* A method that the HTTP API has and that pages may be allowed. */
bool http_cors_is_method(const char *text);
