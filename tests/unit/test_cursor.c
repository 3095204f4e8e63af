#include "base/cursor.h"

#include "tests/support/test.h"

static struct cursor over(const char *bytes, size_t size, bool big_endian) {
    return cursor_of(span_of(bytes, size), big_endian, "test");
}

static void reads_both_byte_orders(void **state) {
    (void)state;
    struct cursor little = over("\x01\x02\x03\x04\x05\x06\x07\x08", 8, false);
    assert_int_equal(cursor_u16(&little), 0x0201);
    assert_int_equal(cursor_u32(&little), 0x06050403);
    struct cursor big = over("\x01\x02\x03\x04\x05\x06\x07\x08", 8, true);
    assert_true(cursor_u64(&big) == 0x0102030405060708);
    assert_false(cursor_failed(&big));
}

static void latches_the_first_underflow(void **state) {
    (void)state;
    struct cursor cursor = over("\x01\x02\x03", 3, false);
    assert_int_equal(cursor_u32(&cursor), 0);
    assert_true(cursor_failed(&cursor));
    assert_int_equal(cursor_u8(&cursor), 0);
    assert_int_equal(cursor_left(&cursor), 0);
    struct error error;
    assert_int_equal(cursor_check(&cursor, &error), ERR_MALFORMED);
    assert_string_equal(error.text, "test ends early or is damaged at offset 0 of 3");
}

static void reads_leb128_to_its_limits(void **state) {
    (void)state;
    struct cursor cursor = over("\xe5\x8e\x26\x7f\x80\x01", 6, false);
    assert_int_equal(cursor_uleb128(&cursor), 624485);
    assert_int_equal(cursor_sleb128(&cursor), -1);
    assert_int_equal(cursor_sleb128(&cursor), 128);
    struct cursor largest = over("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, false);
    assert_true(cursor_uleb128(&largest) == UINT64_MAX);
    struct cursor smallest = over("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, false);
    assert_true(cursor_sleb128(&smallest) == INT64_MIN);
    assert_false(cursor_failed(&smallest));
}

static void refuses_leb128_over_64_bits(void **state) {
    (void)state;
    struct cursor wide = over("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, false);
    cursor_uleb128(&wide);
    assert_true(cursor_failed(&wide));
    struct cursor long_one = over("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, false);
    cursor_uleb128(&long_one);
    assert_true(cursor_failed(&long_one));
}

static void a_string_without_nul_fails(void **state) {
    (void)state;
    struct cursor cursor = over("ab\0cd", 5, false);
    assert_true(span_equal_cstr(cursor_cstring(&cursor), "ab"));
    assert_int_equal(cursor_cstring(&cursor).size, 0);
    assert_true(cursor_failed(&cursor));
}

static void a_seek_or_skip_outside_fails(void **state) {
    (void)state;
    struct cursor cursor = over("abcd", 4, false);
    cursor_seek(&cursor, 4);
    assert_false(cursor_failed(&cursor));
    cursor_skip(&cursor, UINT64_MAX);
    assert_true(cursor_failed(&cursor));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_both_byte_orders),
        cmocka_unit_test(latches_the_first_underflow),
        cmocka_unit_test(reads_leb128_to_its_limits),
        cmocka_unit_test(refuses_leb128_over_64_bits),
        cmocka_unit_test(a_string_without_nul_fails),
        cmocka_unit_test(a_seek_or_skip_outside_fails),
    };
    return cmocka_run_group_tests_name("cursor", tests, NULL, NULL);
}
