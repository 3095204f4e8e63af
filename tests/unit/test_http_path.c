#include "api/http_path.h"

#include "tests/support/test.h"

static bool matches(const char *pattern, const char *path, const char *parameter) {
    struct span found = {0};
    return http_path_match(pattern, span_cstr(path), &found) && span_equal_cstr(found, parameter);
}

static void a_pattern_matches_segment_by_segment(void **state) {
    (void)state;
    assert_true(matches("/healthz", "/healthz", ""));
    assert_true(matches("/v1/symbolize", "/v1/symbolize", ""));
    assert_false(matches("/v1/symbolize", "/v1/symbolize/", ""));
    assert_false(matches("/v1/symbolize", "/v1", ""));
    assert_false(matches("/v1/symbolize", "/v1/symboliz", ""));
    assert_false(matches("/v1/symbolize", "//v1/symbolize", ""));
    assert_false(matches("/v1/symbolize", "", ""));
}

static void a_parameter_is_one_segment_as_it_came(void **state) {
    (void)state;
    assert_true(matches("/v1/debuginfo/{id}", "/v1/debuginfo/c0ffee", "c0ffee"));
    assert_true(matches("/v1/debuginfo/{id}", "/v1/debuginfo/a%2Fb%2fc", "a%2Fb%2fc"));
    assert_true(matches("/v1/{id}/x", "/v1/7/x", "7"));
    assert_false(matches("/v1/debuginfo/{id}", "/v1/debuginfo/a/b", "a/b"));
    assert_false(matches("/v1/debuginfo/{id}", "/v1/debuginfo/", ""));
    assert_false(matches("/v1/debuginfo/{id}", "/v1/debuginfo", ""));
}

static void escapes_become_bytes(void **state) {
    (void)state;
    char text[16];
    size_t size = 0;
    assert_true(http_percent_decode(span_cstr("a%2Fb%2fc%00+"), text, sizeof(text), &size));
    assert_true(span_equal(span_of(text, size), span_of("a/b/c\0+", 7)));
    assert_true(http_percent_decode(span_cstr(""), text, sizeof(text), &size));
    assert_int_equal(size, 0);
}

static void broken_escapes_and_long_texts_are_refused(void **state) {
    (void)state;
    char text[4];
    size_t size = 0;
    assert_false(http_percent_decode(span_cstr("%"), text, sizeof(text), &size));
    assert_false(http_percent_decode(span_cstr("%2"), text, sizeof(text), &size));
    assert_false(http_percent_decode(span_cstr("%zz"), text, sizeof(text), &size));
    assert_true(http_percent_decode(span_cstr("abc"), text, sizeof(text), &size));
    assert_false(http_percent_decode(span_cstr("abcd"), text, sizeof(text), &size));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_matches_segment_by_segment),
        cmocka_unit_test(a_parameter_is_one_segment_as_it_came),
        cmocka_unit_test(escapes_become_bytes),
        cmocka_unit_test(broken_escapes_and_long_texts_are_refused),
    };
    return cmocka_run_group_tests_name("http_path", tests, NULL, NULL);
}
