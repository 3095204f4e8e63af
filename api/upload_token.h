/*
 * The token in a signed upload URL: a proof that this server allowed one upload, until a time.
 *
 * It says the tenant and the time of its end, and carries an HMAC-SHA-256 over those and over what
 * the upload was initiated for: its upload id, build ID with kind, type and declared size. These
 * are not in the token, since the catalog has them under the upload id; so the token is checked
 * after the row was read, and fits one row only.
 *
 *     base64url( version (1) | end, big-endian milliseconds (8) | HMAC (32) | tenant (1..127) )
 *
 * That a token works once is not the token's doing but that of the upload it names.
 *
 * Pure. The text is hostile; comparison takes a time that does not depend on the bytes.
 */
#pragma once

#include <stdint.h>

#include "base/binary_id.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/request_context.h"
#include "base/span.h"
#include "cache/artifact.h"

#define UPLOAD_KEY_SIZE 32
#define UPLOAD_TOKEN_BYTES_MAX (1 + 8 + DIGEST_SIZE + TENANT_NAME_MAX)
#define UPLOAD_TOKEN_TEXT_SIZE ((UPLOAD_TOKEN_BYTES_MAX + 2) / 3 * 4 + 1) /* with NUL */

struct upload_key {
    uint8_t bytes[UPLOAD_KEY_SIZE];
};

/* What a token is bound to. The texts are borrowed. */
struct upload_grant {
    const char *tenant;
    const char *upload_id;
    const struct binary_id *id;
    enum artifact_type type;
    uint64_t size;
    int64_t end_ms; /* wall clock; the token is good before it */
};

/* What a token says of itself; nothing of it is proven before upload_token_check. */
struct upload_token {
    char tenant[TENANT_NAME_MAX + 1];
    int64_t end_ms;
    struct digest proof;
};

/* The tenant has 1 to TENANT_NAME_MAX bytes. */
void upload_token_write(const struct upload_key *key, const struct upload_grant *grant,
                        char ret_text[static UPLOAD_TOKEN_TEXT_SIZE]);

/* ERR_DENIED when the text is no token. */
enum err upload_token_read(struct span text, struct upload_token *ret_token, struct error *error);

/* ERR_DENIED unless the token was written with this key for this grant (whose tenant and end are
 * the token's own) and its end is not reached. */
enum err upload_token_check(const struct upload_key *key, const struct upload_token *token,
                            const struct upload_grant *grant, int64_t now_ms, struct error *error);
