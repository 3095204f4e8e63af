#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static size_t size_of(const char *bytes) {
    return utf8_character_size(span_cstr(bytes));
}

static void measures_well_formed_characters(void **state) {
    (void)state;
    assert_int_equal(size_of("a"), 1);
    assert_int_equal(size_of("\xc3\xa9"), 2);
    assert_int_equal(size_of("\xe2\x82\xac"), 3);
    assert_int_equal(size_of("\xf0\x9f\x98\x80"), 4);
    assert_int_equal(size_of("\xf4\x8f\xbf\xbf"), 4);
    assert_int_equal(utf8_character_size(span_of("\0", 1)), 1);
}

static void refuses_what_rfc_3629_refuses(void **state) {
    (void)state;
    assert_int_equal(size_of(""), 0);
    assert_int_equal(size_of("\x80"), 0);
    assert_int_equal(size_of("\xc0\xaf"), 0);
    assert_int_equal(size_of("\xc1\xbf"), 0);
    assert_int_equal(size_of("\xe0\x9f\xbf"), 0);
    assert_int_equal(size_of("\xf0\x8f\xbf\xbf"), 0);
    assert_int_equal(size_of("\xed\xa0\x80"), 0);
    assert_int_equal(size_of("\xf4\x90\x80\x80"), 0);
    assert_int_equal(size_of("\xf5\x80\x80\x80"), 0);
    assert_int_equal(size_of("\xe2\x82"), 0);
    assert_int_equal(size_of("\xe2\x82 "), 0);
}

static void printable_copies_replace_controls_and_broken_bytes(void **state) {
    (void)state;
    char text[32];
    size_t length = utf8_copy_printable(span_of("a\n\0\x7f\xc2\x85\xad\xc3\xa9z", 10), text, 32);
    assert_string_equal(text, "a?????\xc3\xa9z");
    assert_int_equal(length, 9);
}

static void printable_copies_end_at_a_whole_character(void **state) {
    (void)state;
    char text[4];
    assert_int_equal(utf8_copy_printable(span_cstr("ab\xc3\xa9"), text, sizeof(text)), 2);
    assert_string_equal(text, "ab");
    assert_int_equal(utf8_copy_printable(span_cstr("abcd"), text, sizeof(text)), 3);
    assert_string_equal(text, "abc");
    assert_int_equal(utf8_copy_printable(span_cstr("abcd"), text, 1), 0);
    assert_string_equal(text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_well_formed_characters),
        cmocka_unit_test(refuses_what_rfc_3629_refuses),
        cmocka_unit_test(printable_copies_replace_controls_and_broken_bytes),
        cmocka_unit_test(printable_copies_end_at_a_whole_character),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
