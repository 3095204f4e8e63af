#include "debuginfo/string_pool.h"

#include <stdint.h>
#include <stdio.h>

#include "tests/support/test.h"

static void equal_bytes_give_the_same_copy(void **state) {
    (void)state;
    CLEANUP(cleanup_string_pool) struct string_pool *pool = string_pool_new((size_t)1 << 20);
    struct error error;
    char bytes[] = "one\0more";
    struct span first;
    struct span second;
    struct span third;
    assert_int_equal(string_pool_intern(pool, span_of(bytes, 8), &first, &error), ERR_OK);
    assert_int_equal(string_pool_intern(pool, span_of(bytes, 3), &second, &error), ERR_OK);
    assert_true(first.data != bytes && first.size == 8 && second.size == 3);
    assert_true(first.data[8] == '\0' && first.data != second.data);
    assert_int_equal(string_pool_intern(pool, span_of("one\0more", 8), &third, &error), ERR_OK);
    assert_ptr_equal(first.data, third.data);
}

static void thousands_of_strings_stay_where_they_are(void **state) {
    (void)state;
    CLEANUP(cleanup_string_pool) struct string_pool *pool = string_pool_new((size_t)1 << 20);
    struct error error;
    struct span copies[5000];
    char text[16];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 5000; i++) {
            struct span copy;
            snprintf(text, sizeof(text), "%d", i);
            assert_int_equal(string_pool_intern(pool, span_cstr(text), &copy, &error), ERR_OK);
            assert_string_equal(copy.data, text);
            if (round == 0)
                copies[i] = copy;
            assert_ptr_equal(copies[i].data, copy.data);
        }
    }
}

static void the_limit_is_an_error_and_keeps_what_is_there(void **state) {
    (void)state;
    CLEANUP(cleanup_string_pool) struct string_pool *pool = string_pool_new(64);
    struct error error;
    struct span kept;
    struct span copy;
    char large[128] = {0};
    assert_int_equal(string_pool_intern(pool, span_cstr("kept"), &kept, &error), ERR_OK);
    assert_int_equal(string_pool_intern(pool, span_of(large, 128), &copy, &error), ERR_NO_MEMORY);
    assert_int_equal(string_pool_intern(pool, span_cstr("kept"), &copy, &error), ERR_OK);
    assert_ptr_equal(kept.data, copy.data);
    assert_int_equal(string_pool_intern(pool, span_cstr(""), &copy, &error), ERR_OK);
    assert_int_equal(copy.size, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bytes_give_the_same_copy),
        cmocka_unit_test(thousands_of_strings_stay_where_they_are),
        cmocka_unit_test(the_limit_is_an_error_and_keeps_what_is_there),
    };
    return cmocka_run_group_tests_name("string_pool", tests, NULL, NULL);
}
