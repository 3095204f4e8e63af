#include "api/upload_url.h"

void upload_url_append(const struct upload_urls *urls, const char *tenant,
                       const struct upload_row *row, int64_t now_ms, struct buffer *out) {
    char token[UPLOAD_TOKEN_TEXT_SIZE];
    struct upload_grant grant = {
        .tenant = tenant,
        .upload_id = row->upload_id,
        .id = &row->id,
        .type = row->type,
        .size = row->declared_size,
        .end_ms = now_ms + urls->expiry_ms,
    };
    upload_token_write(&urls->key, &grant, token);
    buffer_printf(out, "%s/v1/upload/%s?token=%s", urls->base, row->upload_id, token);
}
