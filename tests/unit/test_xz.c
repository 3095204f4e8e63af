#include "debuginfo/xz.h"

#include <endian.h>
#include <lzma.h>

#include "base/cleanup.h"

#include "tests/support/test.h"

#define PLENTY ((size_t)64 << 20)

static void pack(struct span bytes, uint32_t preset, struct buffer *out) {
    size_t bound = lzma_stream_buffer_bound(bytes.size);
    uint8_t *room = (uint8_t *)buffer_reserve(out, bound);
    size_t used = 0;
    assert_non_null(room);
    assert_int_equal(lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC64, NULL,
                                             (const uint8_t *)bytes.data, bytes.size, room, &used,
                                             bound),
                     LZMA_OK);
    out->size += used;
}

static enum err inflate(struct span input, struct buffer *output) {
    struct error error = {0};
    enum err err = xz_inflate(input, output, &error);
    assert_true(!err || (error.code == err && error.text[0]));
    return err;
}

/* Numbers that do not repeat, so that the stream is not tiny. */
static void fill(struct buffer *text, size_t size) {
    uint32_t number = 1;
    while (text->size < size) {
        number = number * 1664525 + 1013904223;
        buffer_append(text, &number, sizeof(number));
    }
}

static void what_was_packed_comes_out_again(void **state) {
    (void)state;
    for (size_t size = 0; size < 5000000; size = size ? 9 * size : 4) {
        CLEANUP(buffer_clear) struct buffer text = {0};
        CLEANUP(buffer_clear) struct buffer packed = {0};
        CLEANUP(buffer_clear) struct buffer out = {.size_max = PLENTY};
        fill(&text, size);
        pack(buffer_span(&text), 0, &packed);
        assert_int_equal(inflate(buffer_span(&packed), &out), ERR_OK);
        assert_true(span_equal(buffer_span(&out), buffer_span(&text)));
    }
}

static void several_streams_are_one_text(void **state) {
    (void)state;
    CLEANUP(buffer_clear) struct buffer packed = {0};
    CLEANUP(buffer_clear) struct buffer out = {.size_max = PLENTY};
    pack(span_cstr("one "), 1, &packed);
    pack(span_cstr("two"), 6, &packed);
    assert_int_equal(inflate(buffer_span(&packed), &out), ERR_OK);
    assert_true(span_equal_cstr(buffer_span(&out), "one two"));
}

static void output_over_the_limit_is_refused(void **state) {
    (void)state;
    CLEANUP(cleanup_free) char *zeros = calloc(1, 8 << 20);
    CLEANUP(buffer_clear) struct buffer packed = {0};
    assert_non_null(zeros);
    pack(span_of(zeros, 8 << 20), 1, &packed);
    assert_true(packed.size < 8192);
    CLEANUP(buffer_clear) struct buffer out = {.size_max = 3 << 20};
    assert_int_equal(inflate(buffer_span(&packed), &out), ERR_LIMIT);
    assert_true(out.size <= 3 << 20);
}

/* A dictionary of 1 GiB would be taken before the first byte came out. */
static void a_dictionary_over_the_limit_is_refused(void **state) {
    (void)state;
    CLEANUP(buffer_clear) struct buffer out = {.size_max = PLENTY};
    lzma_options_lzma options;
    lzma_lzma_preset(&options, 0);
    options.dict_size = 1u << 30;
    lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
    uint8_t room[256];
    size_t used = 0;
    /* The encoder would take that memory too: write the stream for a small one, then claim. */
    options.dict_size = 4096;
    assert_int_equal(lzma_stream_buffer_encode(filters, LZMA_CHECK_NONE, NULL,
                                               (const uint8_t *)"text", 4, room, &used,
                                               sizeof(room)),
                     LZMA_OK);
    /* The block header follows the 12 bytes of the stream's, and ends in its checksum. */
    uint8_t *block = room + 12;
    size_t checked = ((size_t)block[0] + 1) * 4 - sizeof(uint32_t);
    uint8_t *filter = memmem(block, checked, "\x21\x01", 2);
    assert_non_null(filter);
    filter[2] = 36; /* 1 GiB */
    uint32_t crc = htole32(lzma_crc32(block, checked, 0));
    memcpy(block + checked, &crc, sizeof(crc));
    assert_int_equal(inflate(span_of(room, used), &out), ERR_LIMIT);
}

static void damage_and_missing_ends_are_told(void **state) {
    (void)state;
    CLEANUP(buffer_clear) struct buffer text = {0};
    CLEANUP(buffer_clear) struct buffer packed = {0};
    fill(&text, 1000);
    pack(buffer_span(&text), 0, &packed);
    for (size_t size = 0; size < packed.size; size += 7) {
        CLEANUP(buffer_clear) struct buffer out = {.size_max = PLENTY};
        assert_int_equal(inflate(span_of(packed.data, size), &out), ERR_MALFORMED);
    }
    packed.data[packed.size / 2] ^= 1;
    CLEANUP(buffer_clear) struct buffer out = {.size_max = PLENTY};
    assert_int_equal(inflate(buffer_span(&packed), &out), ERR_MALFORMED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_packed_comes_out_again),
        cmocka_unit_test(several_streams_are_one_text),
        cmocka_unit_test(output_over_the_limit_is_refused),
        cmocka_unit_test(a_dictionary_over_the_limit_is_refused),
        cmocka_unit_test(damage_and_missing_ends_are_told),
    };
    return cmocka_run_group_tests_name("xz", tests, NULL, NULL);
}
