#include "base/hash.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>

void hash_sha256_init(struct hash_sha256 *hash) {
    sha256_init(&hash->context);
}

void hash_sha256_update(struct hash_sha256 *hash, const void *bytes, size_t size) {
    sha256_update(&hash->context, size, bytes);
}

struct digest hash_sha256_final(struct hash_sha256 *hash) {
    struct digest digest;
    sha256_digest(&hash->context, sizeof(digest.bytes), digest.bytes);
    return digest;
}

struct digest hash_sha256_of(struct span bytes) {
    struct hash_sha256 hash;
    hash_sha256_init(&hash);
    hash_sha256_update(&hash, bytes.data, bytes.size);
    return hash_sha256_final(&hash);
}

bool digest_equal(const struct digest *a, const struct digest *b) {
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool digest_equal_secret(const struct digest *a, const struct digest *b) {
    return memeql_sec(a->bytes, b->bytes, sizeof(a->bytes)) != 0;
}

struct digest hash_hmac_sha256(struct span key, struct span message) {
    struct hmac_sha256_ctx context;
    struct digest digest;
    hmac_sha256_set_key(&context, key.size, (const uint8_t *)key.data);
    hmac_sha256_update(&context, message.size, (const uint8_t *)message.data);
    hmac_sha256_digest(&context, sizeof(digest.bytes), digest.bytes);
    return digest;
}

void hex_encode(struct span bytes, char *ret_text) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.size; i++) {
        unsigned char byte = (unsigned char)bytes.data[i];
        ret_text[2 * i] = digits[byte >> 4];
        ret_text[2 * i + 1] = digits[byte & 15];
    }
    ret_text[2 * bytes.size] = '\0';
}

int hex_digit_value(char digit) {
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

bool hex_decode(struct span text, uint8_t *ret_bytes, size_t size_max, size_t *ret_size) {
    if (text.size % 2 != 0 || text.size / 2 > size_max)
        return false;
    for (size_t i = 0; i < text.size / 2; i++) {
        int high = hex_digit_value(text.data[2 * i]);
        int low = hex_digit_value(text.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret_bytes[i] = (uint8_t)(high << 4 | low);
    }
    *ret_size = text.size / 2;
    return true;
}

void digest_to_hex(const struct digest *digest, char ret_text[static DIGEST_HEX_SIZE]) {
    hex_encode(span_of(digest->bytes, sizeof(digest->bytes)), ret_text);
}

bool digest_from_hex(struct span text, struct digest *ret_digest) {
    uint8_t bytes[DIGEST_SIZE];
    size_t size = 0;
    if (!hex_decode(text, bytes, sizeof(bytes), &size) || size != sizeof(bytes))
        return false;
    memcpy(ret_digest->bytes, bytes, sizeof(bytes));
    return true;
}
