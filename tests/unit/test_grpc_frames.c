#include "rpc/grpc_frames.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "tests/support/test.h"

/* What was read, as text: "<size:bytes>" per message, then "!code" after a failure. */
static void read_pieces(struct grpc_frames *frames, struct span input, size_t piece_size,
                        struct buffer *trace) {
    struct error error;
    while (input.size > 0) {
        size_t size = input.size < piece_size ? input.size : piece_size;
        struct span piece = span_of(input.data, size);
        input = span_of(input.data + size, input.size - size);
        enum grpc_frames_event event = GRPC_FRAMES_BEGIN;
        while (event != GRPC_FRAMES_MORE) {
            struct span bytes;
            enum err err = grpc_frames_next(frames, &piece, &event, &bytes, &error);
            if (err != ERR_OK) {
                buffer_printf(trace, "!%s", err_name(err));
                return;
            }
            if (event == GRPC_FRAMES_BEGIN)
                buffer_printf(trace, "<%d:", (int)frames->left);
            else if (event == GRPC_FRAMES_BYTES)
                buffer_append(trace, bytes.data, bytes.size);
            else if (event == GRPC_FRAMES_END)
                buffer_append_cstr(trace, ">");
        }
        assert_int_equal(piece.size, 0);
    }
}

static void expect_trace(const char *bytes, size_t size, uint64_t size_max, const char *expected) {
    for (size_t piece_size = 1; piece_size <= size; piece_size++) {
        struct grpc_frames frames = grpc_frames_of(size_max);
        struct buffer trace = {.size_max = 4096};
        read_pieces(&frames, span_of(bytes, size), piece_size, &trace);
        assert_string_equal(buffer_cstr(&trace), expected);
        buffer_clear(&trace);
    }
}

static void messages_come_out_the_same_however_they_are_split(void **state) {
    (void)state;
    static const char bytes[] = "\0\0\0\0\3abc\0\0\0\0\0\0\0\0\0\2de";
    expect_trace(bytes, sizeof(bytes) - 1, 100, "<3:abc><0:><2:de>");
}

static void a_message_over_the_limit_is_refused_at_its_prefix(void **state) {
    (void)state;
    expect_trace("\0\0\0\0\4abcd\0\0\0\0\5", 14, 4, "<4:abcd>!limit_exceeded");
    expect_trace("\0\xff\xff\xff\xff", 5, 64 << 20, "!limit_exceeded");
}

static void compressed_messages_are_refused(void **state) {
    (void)state;
    expect_trace("\1\0\0\0\1x", 6, 100, "!unimplemented");
}

static void compressed_messages_are_told_where_they_are_accepted(void **state) {
    (void)state;
    struct grpc_frames frames = grpc_frames_of(100);
    struct span input = span_of("\1\0\0\0\3abc\0\0\0\0\0", 13);
    struct span bytes = {NULL, 0};
    enum grpc_frames_event event;
    struct error error;
    frames.accept_compressed = true;
    assert_int_equal(grpc_frames_next(&frames, &input, &event, &bytes, &error), ERR_OK);
    assert_int_equal(event, GRPC_FRAMES_BEGIN);
    assert_true(frames.compressed);
    assert_int_equal(grpc_frames_next(&frames, &input, &event, &bytes, &error), ERR_OK);
    assert_true(span_equal_cstr(bytes, "abc"));
    grpc_frames_unread(&frames, &input, 2);
    assert_int_equal(grpc_frames_next(&frames, &input, &event, &bytes, &error), ERR_OK);
    assert_true(span_equal_cstr(bytes, "bc"));
    assert_int_equal(grpc_frames_next(&frames, &input, &event, &bytes, &error), ERR_OK);
    assert_int_equal(event, GRPC_FRAMES_END);
    assert_int_equal(grpc_frames_next(&frames, &input, &event, &bytes, &error), ERR_OK);
    assert_int_equal(event, GRPC_FRAMES_BEGIN);
    assert_false(frames.compressed);
}

static void unknown_flags_are_malformed(void **state) {
    (void)state;
    expect_trace("\2\0\0\0\1x", 6, 100, "!malformed");
}

static void an_end_inside_a_message_is_told_from_an_end_between_messages(void **state) {
    (void)state;
    static const char bytes[] = "\0\0\0\0\3abc";
    for (size_t size = 0; size < sizeof(bytes); size++) {
        struct grpc_frames frames = grpc_frames_of(100);
        struct buffer trace = {.size_max = 4096};
        read_pieces(&frames, span_of(bytes, size), size + 1, &trace);
        struct error error;
        bool between = size == 0 || size == sizeof(bytes) - 1;
        assert_int_equal(grpc_frames_check_end(&frames, &error), between ? ERR_OK : ERR_MALFORMED);
        buffer_clear(&trace);
    }
}

static void a_written_prefix_is_read_back(void **state) {
    (void)state;
    uint8_t prefix[GRPC_PREFIX_SIZE];
    grpc_prefix_write(0x01020304, prefix);
    struct grpc_frames frames = grpc_frames_of(UINT32_MAX);
    struct span input = span_of(prefix, sizeof(prefix));
    enum grpc_frames_event event;
    struct error error;
    assert_int_equal(grpc_frames_next(&frames, &input, &event, &input, &error), ERR_OK);
    assert_int_equal(event, GRPC_FRAMES_BEGIN);
    assert_int_equal(frames.left, 0x01020304);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_out_the_same_however_they_are_split),
        cmocka_unit_test(a_message_over_the_limit_is_refused_at_its_prefix),
        cmocka_unit_test(compressed_messages_are_refused),
        cmocka_unit_test(compressed_messages_are_told_where_they_are_accepted),
        cmocka_unit_test(unknown_flags_are_malformed),
        cmocka_unit_test(an_end_inside_a_message_is_told_from_an_end_between_messages),
        cmocka_unit_test(a_written_prefix_is_read_back),
    };
    return cmocka_run_group_tests_name("grpc_frames", tests, NULL, NULL);
}
