/*
 * Paths and queries of requests as they came, still percent-encoded, so that "%2F" inside a
 * segment is a byte of the segment and no separator (RFC 3986, 2.2 and 3.3).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

/*
 * Does the raw path match the pattern, such as "/v1/debuginfo/{build_id}"? "{…}" stands for one
 * segment that is not empty; *ret_parameter is what stands there, still encoded (the last one, if
 * there are several), or empty.
 */
bool http_path_match(const char *pattern, struct span path, struct span *ret_parameter);

/* Decodes into ret_text with a NUL behind (the text may hold NULs of its own). False on a broken
 * escape or when it does not fit into `size` with its NUL. */
bool http_percent_decode(struct span text, char *ret_text, size_t size, size_t *ret_size);
