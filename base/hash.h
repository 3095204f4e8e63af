/* SHA-256 (FIPS 180-4, from nettle), HMAC on it (RFC 2104) and hexadecimal text. */
#pragma once

#include <nettle/sha2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define DIGEST_SIZE 32
#define DIGEST_HEX_SIZE (2 * DIGEST_SIZE + 1) /* with NUL */

struct digest {
    uint8_t bytes[DIGEST_SIZE];
};

struct hash_sha256 {
    struct sha256_ctx context;
};

void hash_sha256_init(struct hash_sha256 *hash);
void hash_sha256_update(struct hash_sha256 *hash, const void *bytes, size_t size);
struct digest hash_sha256_final(struct hash_sha256 *hash);
struct digest hash_sha256_of(struct span bytes);

struct digest hash_hmac_sha256(struct span key, struct span message);

bool digest_equal(const struct digest *a, const struct digest *b);
/* The same in a time that does not depend on the bytes: for what an attacker may guess at. */
bool digest_equal_secret(const struct digest *a, const struct digest *b);
void digest_to_hex(const struct digest *digest, char ret_text[static DIGEST_HEX_SIZE]);
/* False unless the text is exactly 64 lower- or upper-case hex digits. */
bool digest_from_hex(struct span text, struct digest *ret_digest);

/* Lower-case hex with a NUL; ret_text has room for 2 * bytes.size + 1. */
void hex_encode(struct span bytes, char *ret_text);
/* 0 to 15; below 0: no hex digit. */
int hex_digit_value(char digit);
/* False on an odd length, a byte that is no hex digit, or more than size_max bytes. */
bool hex_decode(struct span text, uint8_t *ret_bytes, size_t size_max, size_t *ret_size);
