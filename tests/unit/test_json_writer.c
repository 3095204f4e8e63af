#include "api/json_writer.h"

#include <jansson.h>

#include "tests/support/test.h"

static void assert_written(struct buffer *out, const char *expected) {
    assert_string_equal(buffer_cstr(out), expected);
    buffer_clear(out);
}

static void string_is(struct span text, const char *expected) {
    struct buffer out = {0};
    struct json_writer writer = json_writer_to(&out);
    json_writer_string(&writer, text);
    assert_written(&out, expected);
}

static void nesting_and_commas_come_out_right(void **state) {
    (void)state;
    struct buffer out = {0};
    struct json_writer writer = json_writer_to(&out);
    json_writer_object_begin(&writer);
    json_writer_key(&writer, "a");
    json_writer_array_begin(&writer);
    json_writer_u64(&writer, 0);
    json_writer_u64(&writer, UINT64_MAX);
    json_writer_array_begin(&writer);
    json_writer_array_end(&writer);
    json_writer_object_begin(&writer);
    json_writer_object_end(&writer);
    json_writer_array_end(&writer);
    json_writer_key(&writer, "b");
    json_writer_bool(&writer, true);
    json_writer_key(&writer, "c");
    json_writer_null(&writer);
    json_writer_key(&writer, "d");
    json_writer_fixed(&writer, 0.5, 4);
    json_writer_object_end(&writer);
    assert_written(&out,
                   "{\"a\":[0,18446744073709551615,[],{}],\"b\":true,\"c\":null,\"d\":0.5000}");
}

static void the_unknown_is_null(void **state) {
    (void)state;
    struct buffer out = {0};
    struct json_writer writer = json_writer_to(&out);
    json_writer_array_begin(&writer);
    json_writer_u64_or_null(&writer, 0);
    json_writer_u64_or_null(&writer, 7);
    json_writer_string_or_null(&writer, span_of("", 0));
    json_writer_string_or_null(&writer, span_cstr("x"));
    json_writer_cstr_or_null(&writer, NULL);
    json_writer_cstr_or_null(&writer, "");
    json_writer_array_end(&writer);
    assert_written(&out, "[null,7,null,\"x\",null,\"\"]");
}

static void quotes_and_control_characters_are_escaped(void **state) {
    (void)state;
    string_is(span_cstr("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
    string_is(span_of("\0\b\t\n\f\r\x1f\x7f", 8), "\"\\u0000\\b\\t\\n\\f\\r\\u001f\x7f\"");
}

static void valid_utf8_passes(void **state) {
    (void)state;
    string_is(span_cstr("\xc2\x80 \xe2\x82\xac \xed\x9f\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"),
              "\"\xc2\x80 \xe2\x82\xac \xed\x9f\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf\"");
}

#define BAD "\xef\xbf\xbd"

static void each_byte_of_no_character_becomes_a_replacement(void **state) {
    (void)state;
    string_is(span_cstr("a\xff\xff z"), "\"a" BAD BAD " z\"");
    string_is(span_cstr("\xe2\x82"), "\"" BAD BAD "\"");
    string_is(span_cstr("\xe2\x82z"), "\"" BAD BAD "z\"");
    /* Long form, surrogate and past the end of Unicode: the second byte never belongs. */
    string_is(span_cstr("\xc0\xaf"), "\"" BAD BAD "\"");
    string_is(span_cstr("\xed\xa0\x80"), "\"" BAD BAD BAD "\"");
    string_is(span_cstr("\xf4\x90\x80\x80"), "\"" BAD BAD BAD BAD "\"");
    string_is(span_cstr("\x80"), "\"" BAD "\"");
}

static void every_two_bytes_make_a_string_that_a_parser_takes(void **state) {
    (void)state;
    for (unsigned pair = 0; pair < 0x10000; pair++) {
        char bytes[2] = {(char)(pair >> 8), (char)pair};
        struct buffer out = {0};
        struct json_writer writer = json_writer_to(&out);
        json_writer_string(&writer, span_of(bytes, 2));
        json_t *value = json_loadb(out.data, out.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(value);
        json_decref(value);
        buffer_clear(&out);
    }
}

static void every_byte_at_every_place_of_a_long_string_is_told_apart(void **state) {
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        for (size_t place = 0; place < 20; place++) {
            char bytes[20];
            memset(bytes, 'x', sizeof(bytes));
            bytes[place] = (char)byte;
            struct buffer out = {0};
            struct json_writer writer = json_writer_to(&out);
            json_writer_string(&writer, span_of(bytes, sizeof(bytes)));
            json_t *value = json_loadb(out.data, out.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
            const char *text = json_string_value(value);
            assert_non_null(text);
            assert_int_equal(json_string_length(value), byte < 0x80 ? 20 : 22);
            assert_memory_equal(text + place, byte < 0x80 ? &bytes[place] : BAD,
                                byte < 0x80 ? 1 : 3);
            json_decref(value);
            buffer_clear(&out);
        }
    }
}

static void the_buffer_may_be_emptied_between_calls(void **state) {
    (void)state;
    struct buffer out = {0};
    struct json_writer writer = json_writer_to(&out);
    json_writer_array_begin(&writer);
    json_writer_u64(&writer, 1);
    out.size = 0;
    json_writer_u64(&writer, 2);
    json_writer_array_end(&writer);
    assert_written(&out, ",2]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nesting_and_commas_come_out_right),
        cmocka_unit_test(the_unknown_is_null),
        cmocka_unit_test(quotes_and_control_characters_are_escaped),
        cmocka_unit_test(valid_utf8_passes),
        cmocka_unit_test(each_byte_of_no_character_becomes_a_replacement),
        cmocka_unit_test(every_two_bytes_make_a_string_that_a_parser_takes),
        cmocka_unit_test(every_byte_at_every_place_of_a_long_string_is_told_apart),
        cmocka_unit_test(the_buffer_may_be_emptied_between_calls),
    };
    return cmocka_run_group_tests_name("json_writer", tests, NULL, NULL);
}
