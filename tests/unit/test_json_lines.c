#include "cli/json_lines.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

static void expect(const char *json, const char *want) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    json_t *value = json_loads(json, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert_non_null(value);
    json_lines_write(stream, value);
    json_decref(value);
    fclose(stream);
    assert_string_equal(text, want);
    free(text);
}

static void each_value_stands_on_a_line_under_its_path(void **state) {
    (void)state;
    expect("{\"a\": 1, \"b\": {\"c\": \"x\", \"d\": [true, {\"e\": 0.5}]}}",
           "a: 1\nb.c: x\nb.d[0]: true\nb.d[1].e: 0.5\n");
}

static void what_is_null_or_empty_is_left_out(void **state) {
    (void)state;
    expect("{\"a\": null, \"b\": [], \"c\": {}}", "");
}

static void control_characters_are_not_passed_on(void **state) {
    (void)state;
    expect("{\"a\\u001b\": \"\\u001b[31m\\n\\u0000x\"}", "a?: ?[31m??x\n");
}

static void what_lies_too_deep_is_only_hinted_at(void **state) {
    (void)state;
    expect("[[[[[[[[[1]]]]]]]]]", "[0][0][0][0][0][0][0][0]: \xe2\x80\xa6\n");
}

static void long_keys_do_not_overflow_a_path(void **state) {
    (void)state;
    char json[2100];
    char key[1001] = {0};
    memset(key, 'k', 1000);
    snprintf(json, sizeof(json), "{\"%s\": {\"%s\": 1}}", key, key);
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    json_t *value = json_loads(json, 0, NULL);
    json_lines_write(stream, value);
    json_decref(value);
    fclose(stream);
    assert_in_range(size, 4, 520);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_stands_on_a_line_under_its_path),
        cmocka_unit_test(what_is_null_or_empty_is_left_out),
        cmocka_unit_test(control_characters_are_not_passed_on),
        cmocka_unit_test(what_lies_too_deep_is_only_hinted_at),
        cmocka_unit_test(long_keys_do_not_overflow_a_path),
    };
    return cmocka_run_group_tests_name("json_lines", tests, NULL, NULL);
}
