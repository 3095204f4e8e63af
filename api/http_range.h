/*
 * Conditional and range requests (RFC 9110, 13 and 14), pure. Of ranges a single one is served; a
 * header that is malformed, or asks for several, is passed over, as the RFC allows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum http_range_kind { HTTP_RANGE_WHOLE, HTTP_RANGE_PART, HTTP_RANGE_UNSATISFIABLE };

struct http_range {
    enum http_range_kind kind;
    uint64_t offset; /* of a part */
    uint64_t size;
};

/* `header` is the value of Range, or NULL; `total` the size of the whole. */
struct http_range http_range_parse(const char *header, uint64_t total);

/* Does a value of If-None-Match (or If-Range), or NULL, name this entity tag? `etag` has its
 * quotes. Weak tags match too, as they do for GET. */
bool http_etag_matches(const char *header, const char *etag);
