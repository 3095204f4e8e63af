#include "symbolizer/build/keyed_hash.h"

#include <string.h>

#include "base/cleanup.h"
#include "tests/support/test.h"

/* Rust's DefaultHasher is SipHash-1-3 with a key of zeros; these are its results for the bytes
 * 0, 1, 2 … of that many. */
static void agrees_with_rusts_default_hasher(void **state) {
    (void)state;
    static const struct {
        size_t size;
        uint64_t hash;
    } known[] = {
        {0, 0xd1fba762150c532c},  {1, 0x68a914128e01e473},  {7, 0x2f098ab0c751325a},
        {8, 0xead411e67ebe2eea},  {9, 0x75927f9d95124362},  {15, 0xf30eb725bb91c9ea},
        {16, 0x8972188433a5c5b7}, {63, 0x385d3e39e5f37359},
    };
    char bytes[64];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)i;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        assert_true(keyed_hash((struct hash_key){{0, 0}}, span_of(bytes, known[i].size)) ==
                    known[i].hash);
}

static void another_key_gives_another_hash(void **state) {
    (void)state;
    struct hash_key key = {{1, 0}};
    struct hash_key other = {{0, 1}};
    assert_true(keyed_hash(key, span_cstr("main")) != keyed_hash(other, span_cstr("main")));
}

static void the_key_of_the_process_stays_the_same_and_is_not_zero(void **state) {
    (void)state;
    struct hash_key key = hash_key_of_process();
    struct hash_key again = hash_key_of_process();
    assert_memory_equal(&key, &again, sizeof(key));
    assert_true(key.words[0] != 0 && key.words[1] != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_rusts_default_hasher),
        cmocka_unit_test(another_key_gives_another_hash),
        cmocka_unit_test(the_key_of_the_process_stays_the_same_and_is_not_zero),
    };
    return cmocka_run_group_tests_name("keyed_hash", tests, NULL, NULL);
}
