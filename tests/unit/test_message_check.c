#include "rpc/message_check.h"

#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "rpc/proto/debuginfo.pb-c.h"
#include "tests/support/test.h"

/* message Node { Node child = 1; string name = 2; } as protoc-c would describe it. */
static const ProtobufCMessageDescriptor node_descriptor;
static const ProtobufCFieldDescriptor node_fields[] = {
    {.name = "child", .id = 1, .type = PROTOBUF_C_TYPE_MESSAGE, .descriptor = &node_descriptor},
    {.name = "name", .id = 2, .type = PROTOBUF_C_TYPE_STRING},
};
static const ProtobufCIntRange node_ranges[] = {{1, 0}, {0, 2}};
static const ProtobufCMessageDescriptor node_descriptor = {
    .magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
    .name = "Node",
    .n_fields = 2,
    .fields = node_fields,
    .n_field_ranges = 1,
    .field_ranges = node_ranges,
};

static enum err check_node(struct span bytes, struct error *error) {
    return message_check(&node_descriptor, bytes, error);
}

/* `depth` nodes inside each other; sizes are varints. */
static void nest(struct buffer *buffer, unsigned depth) {
    for (unsigned i = 1; i < depth; i++) {
        struct buffer outer = {.size_max = buffer->size_max};
        buffer_append_byte(&outer, 0x0a);
        size_t size = buffer->size;
        for (; size >= 0x80; size >>= 7)
            buffer_append_byte(&outer, (char)(size | 0x80));
        buffer_append_byte(&outer, (char)size);
        buffer_append(&outer, buffer->data, buffer->size);
        buffer_clear(buffer);
        *buffer = outer;
    }
}

static void nesting_is_accepted_up_to_the_limit(void **state) {
    (void)state;
    for (unsigned depth = 1; depth <= MESSAGE_DEPTH_MAX + 2; depth++) {
        struct buffer buffer = {.size_max = 65536};
        nest(&buffer, depth);
        struct error error;
        enum err wanted = depth <= MESSAGE_DEPTH_MAX ? ERR_OK : ERR_LIMIT;
        assert_int_equal(check_node(buffer_span(&buffer), &error), wanted);
        buffer_clear(&buffer);
    }
}

static void deep_nesting_is_refused_at_the_limit_of_depth(void **state) {
    (void)state;
    struct buffer buffer = {.size_max = 65536};
    nest(&buffer, 2000);
    struct error error;
    assert_int_equal(check_node(buffer_span(&buffer), &error), ERR_LIMIT);
    assert_string_equal(error.text, "Node nested deeper than 16 messages");
    buffer_clear(&buffer);
}

static void unknown_fields_are_not_descended_into(void **state) {
    (void)state;
    struct error error;
    assert_int_equal(check_node(span_of("\x1a\x02\xff\xff\x20\x05", 6), &error), ERR_OK);
}

static void a_nul_byte_in_a_known_string_is_refused(void **state) {
    (void)state;
    struct error error;
    assert_int_equal(check_node(span_of("\x12\x03"
                                        "a\0b",
                                        5),
                                &error),
                     ERR_INVALID);
    assert_string_equal(error.text, "name holds a NUL byte");
    assert_int_equal(check_node(span_of("\x12\x00", 2), &error), ERR_OK);
}

static void more_fields_than_the_limit_are_refused(void **state) {
    (void)state;
    struct error error;
    static char bytes[2 * (MESSAGE_FIELD_COUNT_MAX + 1)];
    for (size_t i = 0; i < sizeof(bytes); i += 2)
        bytes[i] = 0x18;
    assert_int_equal(check_node(span_of(bytes, sizeof(bytes)), &error), ERR_LIMIT);
    assert_int_equal(check_node(span_of(bytes, sizeof(bytes) - 2), &error), ERR_OK);
}

static void what_is_no_sequence_of_fields_is_malformed(void **state) {
    (void)state;
    static const struct span messages[] = {{"\x12", 1},
                                           {"\x12\x05"
                                            "ab",
                                            4},
                                           {"\x13", 1},
                                           {"\x00\x01", 2},
                                           {"\x17", 1},
                                           {"\x19\x01", 2},
                                           {"\x0a\x02\x12\x05", 4}};
    for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
        struct error error;
        assert_int_equal(check_node(messages[i], &error), ERR_MALFORMED);
    }
}

static void a_real_message_passes_and_unpacks(void **state) {
    (void)state;
    Parca__Debuginfo__V1alpha1__UploadInfo info = PARCA__DEBUGINFO__V1ALPHA1__UPLOAD_INFO__INIT;
    info.build_id = "abcdef";
    info.upload_id = "x";
    uint8_t bytes[64];
    size_t size = protobuf_c_message_pack(&info.base, bytes);
    struct error error;
    assert_int_equal(message_check(info.base.descriptor, span_of(bytes, size), &error), ERR_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nesting_is_accepted_up_to_the_limit),
        cmocka_unit_test(deep_nesting_is_refused_at_the_limit_of_depth),
        cmocka_unit_test(unknown_fields_are_not_descended_into),
        cmocka_unit_test(a_nul_byte_in_a_known_string_is_refused),
        cmocka_unit_test(more_fields_than_the_limit_are_refused),
        cmocka_unit_test(what_is_no_sequence_of_fields_is_malformed),
        cmocka_unit_test(a_real_message_passes_and_unpacks),
    };
    return cmocka_run_group_tests_name("message_check", tests, NULL, NULL);
}
