/*
 * Properties: whatever text is read as a token names a tenant of proper length, opens nothing with
 * a key that did not write it, and, written anew for the same tenant and end, opens what it was
 * written for and nothing else.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "api/upload_token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct upload_key key = {.bytes = {1}};
    struct binary_id id = {.kind = BINARY_ID_GNU, .text = "abcdef01"};
    struct upload_token token;
    struct upload_token again;
    struct error error;
    if (upload_token_read(span_of(data, size), &token, &error) != ERR_OK) {
        assert(error.code == ERR_DENIED);
        return 0;
    }
    size_t tenant_size = strlen(token.tenant);
    assert(tenant_size >= 1 && tenant_size <= TENANT_NAME_MAX);
    struct upload_grant grant = {
        .tenant = token.tenant,
        .upload_id = "11111111-2222-4333-8444-555555555555",
        .id = &id,
        .type = ARTIFACT_DEBUGINFO,
        .size = 1,
        .end_ms = token.end_ms,
    };
    assert(upload_token_check(&key, &token, &grant, INT64_MIN, &error) == ERR_DENIED);
    char text[UPLOAD_TOKEN_TEXT_SIZE];
    upload_token_write(&key, &grant, text);
    assert(upload_token_read(span_cstr(text), &again, &error) == ERR_OK);
    assert(again.end_ms == token.end_ms && strcmp(again.tenant, token.tenant) == 0);
    if (token.end_ms != INT64_MIN)
        assert(upload_token_check(&key, &again, &grant, INT64_MIN, &error) == ERR_OK);
    grant.size++;
    assert(upload_token_check(&key, &again, &grant, INT64_MIN, &error) == ERR_DENIED);
    return 0;
}
