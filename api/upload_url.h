/*
 * Signed upload URLs: `<base>/v1/upload/<upload_id>?token=…`, which whoever has one may PUT the
 * bytes of that upload to, once, until the token's end (see api/upload_token.h).
 */
#pragma once

#include "api/upload_token.h"
#include "base/buffer.h"
#include "base/request_context.h"
#include "cache/catalog_uploads.h"

struct upload_urls {
    struct upload_key key;
    const char *base; /* borrowed: "https://host:port/path", no slash at its end */
    int64_t expiry_ms;
};

/* The URL for the upload in this row, good from now_ms (wall clock). */
void upload_url_append(const struct upload_urls *urls, const char *tenant,
                       const struct upload_row *row, int64_t now_ms, struct buffer *out);
