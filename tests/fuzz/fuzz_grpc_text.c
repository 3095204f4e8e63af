/*
 * Properties of the text forms in gRPC's headers: a status message comes back as it was but for its
 * control bytes, and never with one; a timeout is read in bounds and written so that it is read as
 * the same; only what gRPC allows passes as custom metadata.
 */
#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "rpc/grpc_metadata.h"
#include "rpc/grpc_text.h"

#define TEXT_MAX 256
#define TIMEOUT_MS_MAX ((int64_t)99999999 * 3600 * 1000)
#define DIGITS_MAX 99999999

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_control(char byte) {
    return (unsigned char)byte < ' ' || byte == 0x7f;
}

/* Any bytes decode to a text without control bytes that fits. */
static void check_decoding(struct span encoded) {
    for (size_t room = 1; room <= encoded.size + 1; room += 1 + room / 3) {
        CLEANUP(cleanup_free) char *text = malloc(room);
        assert(text);
        grpc_message_decode(encoded, text, room);
        assert(strlen(text) < room);
        for (const char *at = text; *at; at++)
            assert(!is_control(*at));
    }
}

static void check_round_trip(const char *text) {
    char encoded[3 * TEXT_MAX + 1], decoded[TEXT_MAX + 1];
    grpc_message_encode(text, encoded, sizeof(encoded));
    for (const char *at = encoded; *at; at++)
        assert(*at >= ' ' && *at <= '~');
    grpc_message_decode(span_cstr(encoded), decoded, sizeof(decoded));
    assert(strlen(decoded) == strlen(text));
    for (size_t i = 0; text[i]; i++)
        assert(decoded[i] == (is_control(text[i]) ? '?' : text[i]));
}

static void check_timeout(struct span text) {
    int64_t timeout_ms = -1, again_ms = -1;
    char written[GRPC_TIMEOUT_SIZE];
    if (!grpc_timeout_parse(text, &timeout_ms))
        return;
    assert(timeout_ms >= 0 && timeout_ms <= TIMEOUT_MS_MAX);
    grpc_timeout_format(timeout_ms, written);
    assert(grpc_timeout_parse(span_cstr(written), &again_ms));
    int64_t seconds = timeout_ms / 1000 < DIGITS_MAX ? timeout_ms / 1000 : DIGITS_MAX;
    assert(again_ms == (timeout_ms <= DIGITS_MAX ? timeout_ms : seconds * 1000));
}

static void check_metadata(const char *name, const char *value) {
    const struct grpc_header header = {name, value};
    struct error error;
    if (grpc_headers_check(&header, 1, &error) != ERR_OK)
        return;
    assert(*name && strncmp(name, "grpc-", 5) != 0);
    for (; *name; name++)
        assert(islower((unsigned char)*name) || isdigit((unsigned char)*name) ||
               strchr("_-.", *name));
    for (; *value; value++)
        assert(*value >= ' ' && *value <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > TEXT_MAX)
        return 0;
    struct span bytes = span_of(data, size);
    char text[TEXT_MAX + 1];
    memcpy(text, data, size);
    text[size] = '\0';
    check_decoding(bytes);
    check_round_trip(text);
    check_timeout(bytes);
    grpc_content_type_known(bytes);
    /* A name and a value with a colon between them. */
    char *colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    check_metadata(text, colon ? colon + 1 : "");
    return 0;
}
