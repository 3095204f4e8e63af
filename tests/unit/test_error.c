#include "base/error.h"

#include <errno.h>
#include <string.h>

#include "tests/support/test.h"

static void context_goes_in_front(void **state) {
    (void)state;
    struct error error;
    assert_int_equal(error_set(&error, ERR_MALFORMED, "bad byte %d", 7), ERR_MALFORMED);
    assert_int_equal(error_prefix(&error, "section %s", ".debug_line"), ERR_MALFORMED);
    assert_string_equal(error.text, "section .debug_line: bad byte 7");
    assert_int_equal(error.sys_errno, 0);
}

static void a_system_error_names_its_cause(void **state) {
    (void)state;
    struct error error;
    error_set_errno(&error, ERR_IO, ENOENT, "cannot open %s", "x");
    assert_string_equal(error.text, "cannot open x: No such file or directory");
    assert_int_equal(error.sys_errno, ENOENT);
}

static void long_texts_are_cut_at_a_whole_character(void **state) {
    (void)state;
    char text[1024];
    for (size_t i = 0; i < sizeof(text) - 1; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    text[sizeof(text) - 2] = '\0';
    struct error error;
    error_set(&error, ERR_INVALID, "%s", text);
    size_t length = strlen(error.text);
    assert_true(length >= sizeof(error.text) - 3);
    assert_int_equal((unsigned char)error.text[length - 1], 0xa9);
    for (int i = 0; i < 5; i++)
        error_prefix(&error, "%s", text);
    assert_true(strlen(error.text) < sizeof(error.text));
}

static void every_code_has_a_name_of_its_own(void **state) {
    (void)state;
    for (int i = 0; i < ERR_COUNT; i++) {
        assert_non_null(err_name((enum err)i));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(err_name((enum err)i), err_name((enum err)j));
    }
    assert_string_equal(err_name(ERR_COUNT), "internal");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_goes_in_front),
        cmocka_unit_test(a_system_error_names_its_cause),
        cmocka_unit_test(long_texts_are_cut_at_a_whole_character),
        cmocka_unit_test(every_code_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
