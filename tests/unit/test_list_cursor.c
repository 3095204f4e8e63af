#include "api/list_cursor.h"

#include "tests/support/test.h"

static void a_cursor_comes_back_as_it_was(void **state) {
    (void)state;
    static const int64_t numbers[] = {1, 2, 255, 256, 1000000, INT64_MAX};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char text[LIST_CURSOR_SIZE];
        int64_t read = 0;
        list_cursor_write(numbers[i], text);
        assert_int_equal(strlen(text), LIST_CURSOR_SIZE - 1);
        assert_true(list_cursor_read(span_cstr(text), &read));
        assert_int_equal(read, numbers[i]);
    }
}

static void a_cursor_with_any_digit_changed_is_refused(void **state) {
    (void)state;
    char text[LIST_CURSOR_SIZE];
    int64_t read = 0;
    list_cursor_write(123456, text);
    for (size_t i = 0; i < LIST_CURSOR_SIZE - 1; i++) {
        char before = text[i];
        text[i] = before == '0' ? '1' : '0';
        assert_false(list_cursor_read(span_cstr(text), &read));
        text[i] = before;
    }
    assert_true(list_cursor_read(span_cstr(text), &read));
}

static void what_is_no_cursor_is_refused(void **state) {
    (void)state;
    char text[LIST_CURSOR_SIZE];
    int64_t read = 7;
    list_cursor_write(5, text);
    assert_false(list_cursor_read(span_cstr(""), &read));
    assert_false(list_cursor_read(span_cstr("abc"), &read));
    assert_false(list_cursor_read(span_of(text, LIST_CURSOR_SIZE - 3), &read));
    assert_false(list_cursor_read(span_cstr("zz"), &read));
    list_cursor_write(0, text);
    assert_false(list_cursor_read(span_cstr(text), &read));
    list_cursor_write(-1, text);
    assert_false(list_cursor_read(span_cstr(text), &read));
    assert_int_equal(read, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cursor_comes_back_as_it_was),
        cmocka_unit_test(a_cursor_with_any_digit_changed_is_refused),
        cmocka_unit_test(what_is_no_cursor_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
