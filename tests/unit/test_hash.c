#include "base/hash.h"

#include <string.h>

#include "tests/support/test.h"

static void the_digest_is_sha256_whatever_the_pieces(void **state) {
    (void)state;
    /* FIPS 180-4's own example. */
    static const char expected[] =
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
    static const char text[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char hex[DIGEST_HEX_SIZE];
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        struct hash_sha256 hash;
        hash_sha256_init(&hash);
        for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
            size_t left = sizeof(text) - 1 - at;
            hash_sha256_update(&hash, text + at, left < piece ? left : piece);
        }
        struct digest digest = hash_sha256_final(&hash);
        digest_to_hex(&digest, hex);
        assert_string_equal(hex, expected);
    }
    struct digest back;
    struct digest whole = hash_sha256_of(span_cstr(text));
    assert_true(digest_from_hex(span_cstr(expected), &back));
    assert_true(digest_equal(&back, &whole));
}

static void the_keyed_digest_is_that_of_rfc_4231(void **state) {
    (void)state;
    /* Test case 2. */
    static const char expected[] =
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    char hex[DIGEST_HEX_SIZE];
    struct digest digest =
        hash_hmac_sha256(span_cstr("Jefe"), span_cstr("what do ya want for nothing?"));
    digest_to_hex(&digest, hex);
    assert_string_equal(hex, expected);
    struct digest other = digest;
    assert_true(digest_equal_secret(&digest, &other));
    other.bytes[DIGEST_SIZE - 1] ^= 1;
    assert_false(digest_equal_secret(&digest, &other));
}

static void hex_that_is_none_is_refused(void **state) {
    (void)state;
    uint8_t bytes[4];
    size_t size = 77;
    assert_true(hex_decode(span_cstr("0aF9"), bytes, sizeof(bytes), &size));
    assert_int_equal(size, 2);
    assert_memory_equal(bytes, "\x0a\xf9", 2);
    assert_false(hex_decode(span_cstr("0aF"), bytes, sizeof(bytes), &size));
    assert_false(hex_decode(span_cstr("0g"), bytes, sizeof(bytes), &size));
    assert_false(hex_decode(span_cstr("0011223344"), bytes, sizeof(bytes), &size));
    assert_int_equal(size, 2);
    struct digest digest;
    assert_false(digest_from_hex(span_cstr("00"), &digest));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_digest_is_sha256_whatever_the_pieces),
        cmocka_unit_test(the_keyed_digest_is_that_of_rfc_4231),
        cmocka_unit_test(hex_that_is_none_is_refused),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
