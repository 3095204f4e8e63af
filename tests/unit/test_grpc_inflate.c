#include "rpc/grpc_inflate.h"

#include <string.h>
#include <zlib.h>

#include "base/buffer.h"
#include "tests/support/test.h"

#define SIZE_MAX_DEFAULT (1 << 20)

static void gzip(struct span bytes, struct buffer *ret_packed) {
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t room = deflateBound(&stream, bytes.size);
    stream.next_in = (uint8_t *)bytes.data;
    stream.avail_in = (unsigned)bytes.size;
    stream.next_out = (uint8_t *)buffer_reserve(ret_packed, room);
    stream.avail_out = (unsigned)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    ret_packed->size += stream.total_out;
    deflateEnd(&stream);
}

static enum err inflate_pieces(struct grpc_inflate *inflate, struct span packed, size_t piece_size,
                               struct buffer *ret_bytes) {
    struct error error;
    while (packed.size > 0 || grpc_inflate_has_more(inflate)) {
        size_t size = packed.size < piece_size ? packed.size : piece_size;
        struct span input = span_of(packed.data, size);
        struct span piece;
        enum err err = grpc_inflate_next(inflate, &input, &piece, &error);
        if (err != ERR_OK)
            return err;
        buffer_append(ret_bytes, piece.data, piece.size);
        size_t used = size - input.size;
        packed = span_of(packed.data + used, packed.size - used);
    }
    return grpc_inflate_end(inflate, &error);
}

static enum err inflate_all(struct span packed, size_t piece_size, uint64_t size_max,
                            struct buffer *ret_bytes) {
    CLEANUP(cleanup_grpc_inflate) struct grpc_inflate *inflate = NULL;
    struct error error;
    assert_int_equal(grpc_inflate_new(&inflate, &error), ERR_OK);
    grpc_inflate_begin(inflate, size_max);
    return inflate_pieces(inflate, packed, piece_size, ret_bytes);
}

static void fill(struct buffer *bytes, size_t size) {
    uint32_t number = 1;
    for (size_t i = 0; i < size; i++) {
        number = number * 1664525 + 1013904223;
        buffer_append_byte(bytes, (char)(i % 5000 < 2500 ? 'x' : number >> 24));
    }
}

static void messages_come_out_whole_however_they_are_split(void **state) {
    (void)state;
    CLEANUP(buffer_clear) struct buffer bytes = {0};
    CLEANUP(buffer_clear) struct buffer packed = {0};
    fill(&bytes, 200000);
    gzip(buffer_span(&bytes), &packed);
    for (size_t piece_size = 1; piece_size < 2 * packed.size; piece_size = piece_size * 3 + 1) {
        CLEANUP(buffer_clear) struct buffer found = {0};
        assert_int_equal(inflate_all(buffer_span(&packed), piece_size, bytes.size, &found), ERR_OK);
        assert_true(span_equal(buffer_span(&found), buffer_span(&bytes)));
    }
}

static void one_inflater_reads_many_messages(void **state) {
    (void)state;
    CLEANUP(cleanup_grpc_inflate) struct grpc_inflate *inflate = NULL;
    CLEANUP(buffer_clear) struct buffer packed = {0};
    struct error error;
    gzip(span_cstr("hello"), &packed);
    assert_int_equal(grpc_inflate_new(&inflate, &error), ERR_OK);
    for (int i = 0; i < 3; i++) {
        CLEANUP(buffer_clear) struct buffer found = {0};
        grpc_inflate_begin(inflate, 5);
        /* A failed one in between leaves nothing behind. */
        if (i == 1)
            assert_int_equal(inflate_pieces(inflate, span_cstr("nonsense"), 8, &found),
                             ERR_MALFORMED);
        grpc_inflate_begin(inflate, 5);
        assert_int_equal(inflate_pieces(inflate, buffer_span(&packed), 4, &found), ERR_OK);
        assert_true(span_equal_cstr(buffer_span(&found), "hello"));
    }
}

static void a_message_over_the_limit_is_refused_while_it_comes(void **state) {
    (void)state;
    CLEANUP(buffer_clear) struct buffer bytes = {0};
    CLEANUP(buffer_clear) struct buffer packed = {0};
    memset(buffer_reserve(&bytes, 10 << 20), 0, 10 << 20);
    bytes.size = 10 << 20;
    gzip(buffer_span(&bytes), &packed);
    CLEANUP(buffer_clear) struct buffer found = {0};
    assert_int_equal(inflate_all(buffer_span(&packed), packed.size, SIZE_MAX_DEFAULT, &found),
                     ERR_LIMIT);
    assert_true(found.size <= SIZE_MAX_DEFAULT);
    CLEANUP(buffer_clear) struct buffer exact = {0};
    assert_int_equal(inflate_all(buffer_span(&packed), 100, bytes.size - 1, &exact), ERR_LIMIT);
}

static void what_is_cut_short_or_goes_on_is_malformed(void **state) {
    (void)state;
    CLEANUP(buffer_clear) struct buffer packed = {0};
    gzip(span_cstr("hello, hello, hello"), &packed);
    for (size_t size = 0; size < packed.size; size++) {
        CLEANUP(buffer_clear) struct buffer found = {0};
        assert_int_equal(inflate_all(span_of(packed.data, size), 7, 100, &found), ERR_MALFORMED);
    }
    buffer_append_byte(&packed, 'x');
    CLEANUP(buffer_clear) struct buffer found = {0};
    assert_int_equal(inflate_all(buffer_span(&packed), 1000, 100, &found), ERR_MALFORMED);
}

static void a_wrong_checksum_is_malformed(void **state) {
    (void)state;
    CLEANUP(buffer_clear) struct buffer packed = {0};
    CLEANUP(buffer_clear) struct buffer found = {0};
    gzip(span_cstr("hello"), &packed);
    packed.data[packed.size - 8] ^= 1;
    assert_int_equal(inflate_all(buffer_span(&packed), 1000, 100, &found), ERR_MALFORMED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_out_whole_however_they_are_split),
        cmocka_unit_test(one_inflater_reads_many_messages),
        cmocka_unit_test(a_message_over_the_limit_is_refused_while_it_comes),
        cmocka_unit_test(what_is_cut_short_or_goes_on_is_malformed),
        cmocka_unit_test(a_wrong_checksum_is_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
