#include "api/upload_token.h"

#include <assert.h>
#include <nettle/base64.h>
#include <string.h>

#define TOKEN_VERSION 1
#define PROOF_AT 9
#define TENANT_AT (PROOF_AT + DIGEST_SIZE)

/* The message under the HMAC: what a reader of two grants could confuse has its length in front. */
struct message {
    uint8_t bytes[1024];
    size_t size;
};

static void put_u64(struct message *message, uint64_t value) {
    assert(message->size + 8 <= sizeof(message->bytes));
    for (int shift = 56; shift >= 0; shift -= 8)
        message->bytes[message->size++] = (uint8_t)(value >> shift);
}

static void put_text(struct message *message, const char *text) {
    size_t size = strlen(text);
    put_u64(message, size);
    assert(size <= sizeof(message->bytes) - message->size);
    memcpy(message->bytes + message->size, text, size);
    message->size += size;
}

static struct digest prove(const struct upload_key *key, const struct upload_grant *grant) {
    struct message message = {.size = 0};
    put_text(&message, "signed upload");
    put_u64(&message, TOKEN_VERSION);
    put_text(&message, grant->tenant);
    put_text(&message, grant->upload_id);
    put_u64(&message, (uint64_t)grant->id->kind);
    put_text(&message, grant->id->text);
    put_u64(&message, (uint64_t)grant->type);
    put_u64(&message, grant->size);
    put_u64(&message, (uint64_t)grant->end_ms);
    return hash_hmac_sha256(span_of(key->bytes, sizeof(key->bytes)),
                            span_of(message.bytes, message.size));
}

void upload_token_write(const struct upload_key *key, const struct upload_grant *grant,
                        char ret_text[static UPLOAD_TOKEN_TEXT_SIZE]) {
    size_t tenant_size = strlen(grant->tenant);
    assert(tenant_size >= 1 && tenant_size <= TENANT_NAME_MAX);
    struct message raw = {.bytes = {TOKEN_VERSION}, .size = 1};
    struct digest proof = prove(key, grant);
    put_u64(&raw, (uint64_t)grant->end_ms);
    memcpy(raw.bytes + PROOF_AT, proof.bytes, DIGEST_SIZE);
    memcpy(raw.bytes + TENANT_AT, grant->tenant, tenant_size);
    raw.size = TENANT_AT + tenant_size;
    struct base64_encode_ctx encoder;
    base64url_encode_init(&encoder);
    size_t size = base64_encode_update(&encoder, ret_text, raw.size, raw.bytes);
    size += base64_encode_final(&encoder, ret_text + size);
    while (ret_text[size - 1] == '=')
        size--;
    ret_text[size] = '\0';
}

static enum err refuse(struct error *error) {
    return error_set(error, ERR_DENIED, "the token of this upload URL is not valid");
}

/* The written form has no padding, which the decoder wants. False if this is no base64url. */
static bool decode(struct span text,
                   uint8_t ret_raw[static BASE64_DECODE_LENGTH(UPLOAD_TOKEN_TEXT_SIZE)],
                   size_t *ret_size) {
    struct base64_decode_ctx decoder;
    base64url_decode_init(&decoder);
    size_t padding = (4 - text.size % 4) % 4;
    size_t size = 0;
    size_t more = 0;
    if (!base64_decode_update(&decoder, &size, ret_raw, text.size, text.data) ||
        !base64_decode_update(&decoder, &more, ret_raw + size, padding, "===") ||
        !base64_decode_final(&decoder))
        return false;
    *ret_size = size + more;
    return true;
}

enum err upload_token_read(struct span text, struct upload_token *ret_token, struct error *error) {
    uint8_t raw[BASE64_DECODE_LENGTH(UPLOAD_TOKEN_TEXT_SIZE)];
    size_t size = 0;
    if (text.size >= UPLOAD_TOKEN_TEXT_SIZE || !decode(text, raw, &size) || size <= TENANT_AT ||
        size > UPLOAD_TOKEN_BYTES_MAX || raw[0] != TOKEN_VERSION)
        return refuse(error);
    struct upload_token token = {.end_ms = 0};
    uint64_t end_ms = 0;
    for (size_t i = 1; i < PROOF_AT; i++)
        end_ms = end_ms << 8 | raw[i];
    token.end_ms = (int64_t)end_ms;
    memcpy(token.proof.bytes, raw + PROOF_AT, DIGEST_SIZE);
    memcpy(token.tenant, raw + TENANT_AT, size - TENANT_AT);
    if (strlen(token.tenant) != size - TENANT_AT)
        return refuse(error);
    *ret_token = token;
    return ERR_OK;
}

enum err upload_token_check(const struct upload_key *key, const struct upload_token *token,
                            const struct upload_grant *grant, int64_t now_ms, struct error *error) {
    struct upload_grant granted = *grant;
    granted.tenant = token->tenant;
    granted.end_ms = token->end_ms;
    struct digest proof = prove(key, &granted);
    if (!digest_equal_secret(&proof, &token->proof))
        return refuse(error);
    if (now_ms >= token->end_ms)
        return error_set(error, ERR_DENIED, "this upload URL has expired: initiate another upload");
    return ERR_OK;
}
