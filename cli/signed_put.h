/*
 * The bytes of an upload sent to a URL that the server signed: PUT with a Content-Length, nothing
 * else, as Parca's agents send it. The URL may be of another host and of http or https; our token
 * and headers are not for it. Certificates and whom to trust are the same as for the server.
 */
#pragma once

#include "base/error.h"
#include "cli/remote_access.h"
#include "cli/remote_debuginfo.h"

/* Once, before there are threads. */
enum err signed_put_init(struct error *error);

/* ret_answer->status: GRPC_OK for any 2xx; GRPC_UNAVAILABLE where trying again may help (408, 425,
 * 429, 5xx); GRPC_FAILED_PRECONDITION for other codes. ERR_UNAVAILABLE, ERR_TIMEOUT: there is no
 * answer; ERR_INVALID: no URL. */
enum err signed_put(struct remote_session *session, const struct remote_access *access,
                    const struct remote_object *object, const char *url,
                    struct remote_answer *ret_answer, struct error *error);
