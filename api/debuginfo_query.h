/* Path and query of requests about one stored binary, as HTTP has them. */
#pragma once

#include "api/http_server.h"
#include "base/binary_id.h"
#include "cache/artifact.h"

/* {build_id} and id_kind (default gnu). ERR_INVALID. */
enum err debuginfo_query_id(const struct http_exchange *exchange, struct binary_id *ret_id,
                            struct error *error);

/* type; *ret_present is false when it is not given. ERR_INVALID. */
enum err debuginfo_query_type(const struct http_exchange *exchange, enum artifact_type *ret_type,
                              bool *ret_present, struct error *error);

/* "true", "1" and a bare key are true, "false", "0" and an absent key false. ERR_INVALID. */
enum err debuginfo_query_flag(const struct http_exchange *exchange, const char *key, bool *ret_flag,
                              struct error *error);

/* A number from `min` to `max`; absent: `fallback`. ERR_INVALID. */
struct query_range {
    uint64_t min, max, fallback;
};
enum err debuginfo_query_number(const struct http_exchange *exchange, const char *key,
                                const struct query_range *range, uint64_t *ret_number,
                                struct error *error);
