/*
 * `PUT /v1/upload/{upload_id}?token=…`: the bytes of one upload, at the URL that InitiateUpload
 * answered (api/upload_url.h). The token is all the authority that is needed, and says the tenant.
 *
 *   | 200 | all bytes are here: MarkUploadFinished comes next                                    |
 *   | 400 | fewer bytes than declared                                                            |
 *   | 403 | no such upload, or no token for it, or the token's end has passed                     |
 *   | 409 | the bytes are here already or are coming, or the upload has ended                     |
 *   | 413 | more bytes than declared                                                             |
 *   | 429 | all places for uploads are taken; come again                                         |
 *
 * The body has a Content-Length or is chunked, and is written as it comes. But for 200, nothing of
 * it is kept, and except after 403 and 409 it may be sent again with the same URL.
 */
#pragma once

#include "api/http_server.h"
#include "api/upload_url.h"
#include "base/log.h"
#include "ingest/upload.h"

struct signed_upload_config {
    struct ingest *ingest;
    const struct log *log;
    struct task_pool *pool;         /* for what may block after the answer */
    const struct upload_urls *urls; /* NULL: there are none, and all requests are answered 404 */
};

/* The two steps of the route. */
void signed_upload_prepare(struct http_exchange *exchange,
                           const struct signed_upload_config *config);
void signed_upload_complete(struct http_exchange *exchange);
