#include "rpc/grpc_text.h"

#include <string.h>

#include "tests/support/test.h"

static void messages_survive_encoding_and_decoding(void **state) {
    (void)state;
    static const char text[] = "100% of \xc3\xbc\n~ \x7f";
    char encoded[128];
    grpc_message_encode(text, encoded, sizeof(encoded));
    assert_string_equal(encoded, "100%25 of %C3%BC%0A~ %7F");
    char decoded[128];
    grpc_message_decode(span_cstr(encoded), decoded, sizeof(decoded));
    assert_string_equal(decoded, "100% of \xc3\xbc?~ ?");
}

static void an_encoded_message_is_cut_at_a_whole_escape(void **state) {
    (void)state;
    char encoded[6];
    grpc_message_encode("ab%%", encoded, sizeof(encoded));
    assert_string_equal(encoded, "ab%25");
    grpc_message_encode("abc%", encoded, sizeof(encoded));
    assert_string_equal(encoded, "abc");
}

static void broken_escapes_stay_as_they_are(void **state) {
    (void)state;
    char decoded[16];
    grpc_message_decode(span_cstr("%4%zz%41%4"), decoded, sizeof(decoded));
    assert_string_equal(decoded, "%4%zzA%4");
    grpc_message_decode(span_cstr("%41%42%43"), decoded, 3);
    assert_string_equal(decoded, "AB");
}

static void timeouts_of_every_unit_round_up_to_milliseconds(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {{"1H", 3600000}, {"2M", 120000}, {"3S", 3000}, {"4m", 4},
                 {"1u", 1},       {"1001u", 2},   {"1n", 1},    {"99999999H", 359999996400000},
                 {"2000000n", 2}, {"0S", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ms = -1;
        assert_true(grpc_timeout_parse(span_cstr(cases[i].text), &ms));
        assert_true(ms == cases[i].ms);
    }
}

static void malformed_timeouts_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"", "S", "1", "1s", "-1S", "123456789S", "1 S", "1.5S"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int64_t ms;
        assert_false(grpc_timeout_parse(span_cstr(texts[i]), &ms));
    }
}

static void formatted_timeouts_are_read_back(void **state) {
    (void)state;
    static const int64_t values[] = {0, 1, 99999999, 100000000, INT64_MAX};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char text[GRPC_TIMEOUT_SIZE];
        grpc_timeout_format(values[i], text);
        int64_t ms = -1;
        assert_true(grpc_timeout_parse(span_cstr(text), &ms));
        assert_true(i == 4 ? ms == 99999999000 : ms == values[i]);
    }
}

static void only_grpc_content_types_are_known(void **state) {
    (void)state;
    assert_true(grpc_content_type_known(span_cstr("application/grpc")));
    assert_true(grpc_content_type_known(span_cstr("application/grpc+proto")));
    assert_true(grpc_content_type_known(span_cstr("Application/GRPC; charset=utf-8")));
    assert_false(grpc_content_type_known(span_cstr("application/grpc-web")));
    assert_false(grpc_content_type_known(span_cstr("application/grpc+json")));
    assert_false(grpc_content_type_known(span_cstr("application/grp")));
    assert_false(grpc_content_type_known(span_cstr("")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_survive_encoding_and_decoding),
        cmocka_unit_test(an_encoded_message_is_cut_at_a_whole_escape),
        cmocka_unit_test(broken_escapes_stay_as_they_are),
        cmocka_unit_test(timeouts_of_every_unit_round_up_to_milliseconds),
        cmocka_unit_test(malformed_timeouts_are_refused),
        cmocka_unit_test(formatted_timeouts_are_read_back),
        cmocka_unit_test(only_grpc_content_types_are_known),
    };
    return cmocka_run_group_tests_name("grpc_text", tests, NULL, NULL);
}
