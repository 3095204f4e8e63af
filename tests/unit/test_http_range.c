#include "api/http_range.h"

#include "tests/support/test.h"

static void assert_part(const char *header, uint64_t total, uint64_t offset, uint64_t size) {
    struct http_range range = http_range_parse(header, total);
    assert_int_equal(range.kind, HTTP_RANGE_PART);
    assert_int_equal(range.offset, offset);
    assert_int_equal(range.size, size);
}

static void single_ranges_are_cut_to_what_is_there(void **state) {
    (void)state;
    assert_part("bytes=0-0", 10, 0, 1);
    assert_part("bytes=2-5", 10, 2, 4);
    assert_part("bytes=2-", 10, 2, 8);
    assert_part("bytes=2-99", 10, 2, 8);
    assert_part("bytes=-3", 10, 7, 3);
    assert_part("bytes=-30", 10, 0, 10);
    assert_part("Bytes=9-9 ", 10, 9, 1);
    assert_part("bytes=1-18446744073709551615", 10, 1, 9);
    assert_part("bytes=1-99999999999999999999999", 10, 1, 9);
    assert_part("bytes=-18446744073709551615", 10, 0, 10);
}

static void ranges_past_the_end_cannot_be_served(void **state) {
    (void)state;
    static const char *const headers[] = {"bytes=10-", "bytes=10-12", "bytes=-0",
                                          "bytes=99999999999999999999-"};
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        assert_int_equal(http_range_parse(headers[i], 10).kind, HTTP_RANGE_UNSATISFIABLE);
    assert_int_equal(http_range_parse("bytes=0-", 0).kind, HTTP_RANGE_UNSATISFIABLE);
    assert_int_equal(http_range_parse("bytes=-1", 0).kind, HTTP_RANGE_UNSATISFIABLE);
}

static void other_headers_are_passed_over(void **state) {
    (void)state;
    static const char *const headers[] = {"",           "bytes",     "bytes=",        "bytes=-",
                                          "bytes=5-2",  "bytes=a-b", "bytes=1-2,4-5", "lines=1-2",
                                          "bytes=1-2x", "bytes=--1", "bytes=1"};
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        struct http_range range = http_range_parse(headers[i], 10);
        assert_int_equal(range.kind, HTTP_RANGE_WHOLE);
        assert_int_equal(range.size, 10);
    }
    assert_int_equal(http_range_parse(NULL, 10).kind, HTTP_RANGE_WHOLE);
}

static void entity_tags_match_in_lists_weak_or_by_star(void **state) {
    (void)state;
    assert_true(http_etag_matches("\"ab\"", "\"ab\""));
    assert_true(http_etag_matches(" \"x\" , W/\"ab\" ", "\"ab\""));
    assert_true(http_etag_matches("*", "\"ab\""));
    assert_false(http_etag_matches(NULL, "\"ab\""));
    assert_false(http_etag_matches("", "\"ab\""));
    assert_false(http_etag_matches("\"a\"", "\"ab\""));
    assert_false(http_etag_matches("\"abc\"", "\"ab\""));
    assert_false(http_etag_matches("ab", "\"ab\""));
    assert_false(http_etag_matches(",,W/", "\"ab\""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_ranges_are_cut_to_what_is_there),
        cmocka_unit_test(ranges_past_the_end_cannot_be_served),
        cmocka_unit_test(other_headers_are_passed_over),
        cmocka_unit_test(entity_tags_match_in_lists_weak_or_by_star),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
