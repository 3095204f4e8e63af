#include "api/upload_request.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "tests/support/test.h"

/* What was read, as text: "info(bytes)", chunk bytes as they are, "!code" after a failure. */
static void read_message(struct span message, size_t piece_size, struct buffer *trace) {
    static struct upload_request_reader reader;
    struct error error;
    enum err err = ERR_OK;
    upload_request_begin(&reader, message.size);
    while (message.size > 0 && err == ERR_OK) {
        size_t size = message.size < piece_size ? message.size : piece_size;
        struct span piece = span_of(message.data, size);
        message = span_of(message.data + size, message.size - size);
        enum upload_request_event event = UPLOAD_REQUEST_INFO;
        while (err == ERR_OK && event != UPLOAD_REQUEST_MORE) {
            struct span bytes = {NULL, 0};
            err = upload_request_next(&reader, &piece, &event, &bytes, &error);
            if (err == ERR_OK && event == UPLOAD_REQUEST_INFO)
                buffer_printf(trace, "info(%.*s)", (int)bytes.size, bytes.data);
            if (err == ERR_OK && event == UPLOAD_REQUEST_CHUNK)
                buffer_append(trace, bytes.data, bytes.size);
        }
    }
    if (err == ERR_OK)
        err = upload_request_end(&reader, &error);
    if (err != ERR_OK)
        buffer_printf(trace, "!%s", err_name(err));
}

static void expect_trace(struct span message, const char *expected) {
    for (size_t piece_size = 1; piece_size <= message.size + 1; piece_size++) {
        struct buffer trace = {.size_max = 16384};
        read_message(message, piece_size, &trace);
        assert_string_equal(buffer_cstr(&trace), expected);
        buffer_clear(&trace);
    }
}

#define BYTES(literal) span_of(literal, sizeof(literal) - 1)

static void chunks_and_infos_come_out_the_same_however_split(void **state) {
    (void)state;
    expect_trace(BYTES("\x12\x05hello"), "hello");
    expect_trace(BYTES("\x0a\x03\x0a\x01x"), "info(\n\x01x)");
    expect_trace(BYTES("\x0a\x00"), "info()");
    expect_trace(BYTES("\x12\x00"), "");
    expect_trace(BYTES(""), "");
}

static void unknown_fields_of_every_wire_type_are_skipped(void **state) {
    (void)state;
    expect_trace(BYTES("\x18\x96\x01" /* 3: varint */
                       "\x21"
                       "12345678"                  /* 4: fixed64 */
                       "\x2a\x02zz"                /* 5: bytes */
                       "\x33\x12\x01q\x3b\x3c\x34" /* 6: group with field 2 and a group 7 */
                       "\x45"
                       "1234" /* 8: fixed32 */
                       "\x08\x01\x15"
                       "abcd" /* 1 and 2 with wire types not theirs */
                       "\x12\x02ok"),
                 "ok");
}

static void data_set_twice_is_malformed(void **state) {
    (void)state;
    expect_trace(BYTES("\x12\x01"
                       "a\x12\x01"
                       "b"),
                 "a!malformed");
    expect_trace(BYTES("\x0a\x00\x12\x01"
                       "b"),
                 "info()!malformed");
}

static void a_field_longer_than_its_message_is_malformed(void **state) {
    (void)state;
    expect_trace(BYTES("\x12\x05hell"), "!malformed");
    expect_trace(BYTES("\x2a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "!malformed");
    expect_trace(BYTES("\x21"
                       "1234"),
                 "!malformed");
}

static void a_message_that_ends_inside_a_field_is_malformed(void **state) {
    (void)state;
    expect_trace(BYTES("\x12"), "!malformed");
    expect_trace(BYTES("\x12\x80"), "!malformed");
    expect_trace(BYTES("\x33"), "!malformed");
    expect_trace(BYTES("\x18"), "!malformed");
}

static void bad_tags_and_varints_are_malformed(void **state) {
    (void)state;
    expect_trace(BYTES("\x00"), "!malformed");
    expect_trace(BYTES("\x16"), "!malformed");
    expect_trace(BYTES("\x34"), "!malformed");
    expect_trace(BYTES("\x33\x3c"), "!malformed");
    expect_trace(BYTES("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), "!malformed");
    expect_trace(BYTES("\x18\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), "!malformed");
    expect_trace(BYTES("\x33\x33\x33\x33\x33\x33\x33\x33\x33\x33\x33\x33\x33\x33\x33\x33\x33"),
                 "!malformed");
}

static void an_info_over_its_bound_is_refused(void **state) {
    (void)state;
    static char message[3 + UPLOAD_INFO_SIZE_MAX + 1] = "\x0a\x81\x20";
    struct buffer trace = {.size_max = 100};
    read_message(span_of(message, sizeof(message)), 1000, &trace);
    assert_string_equal(buffer_cstr(&trace), "!limit_exceeded");
    buffer_clear(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_and_infos_come_out_the_same_however_split),
        cmocka_unit_test(unknown_fields_of_every_wire_type_are_skipped),
        cmocka_unit_test(data_set_twice_is_malformed),
        cmocka_unit_test(a_field_longer_than_its_message_is_malformed),
        cmocka_unit_test(a_message_that_ends_inside_a_field_is_malformed),
        cmocka_unit_test(bad_tags_and_varints_are_malformed),
        cmocka_unit_test(an_info_over_its_bound_is_refused),
    };
    return cmocka_run_group_tests_name("upload_request", tests, NULL, NULL);
}
