/*
 * Property: a gzip message that comes in pieces of any size inflates to what it does in one piece
 * and to what zlib makes of it at once, or is refused each time; and no more than its limit is ever
 * given.
 *
 * The first byte of the input chooses the pieces, the second the limit, the rest is the message.
 */
#include <assert.h>
#include <stdint.h>
#include <zlib.h>

#include "base/buffer.h"
#include "rpc/grpc_inflate.h"

#define WINDOW_BITS_GZIP (15 + 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As a call does: until the input is used up and nothing is pending. */
static enum err inflate_piece(struct grpc_inflate *inflate, struct span input, struct buffer *out) {
    struct error error;
    while (input.size > 0 || grpc_inflate_has_more(inflate)) {
        struct span piece = {NULL, 0};
        enum err err = grpc_inflate_next(inflate, &input, &piece, &error);
        if (err != ERR_OK)
            return err;
        buffer_append(out, piece.data, piece.size);
    }
    return ERR_OK;
}

static enum err inflate_all(struct grpc_inflate *inflate, struct span message, size_t piece_size,
                            size_t size_max, struct buffer *out) {
    struct error error;
    grpc_inflate_begin(inflate, size_max);
    while (message.size > 0) {
        size_t size = message.size < piece_size ? message.size : piece_size;
        enum err err = inflate_piece(inflate, span_of(message.data, size), out);
        assert(out->size <= size_max);
        if (err != ERR_OK)
            return err;
        message = span_of(message.data + size, message.size - size);
    }
    return grpc_inflate_end(inflate, &error);
}

/* zlib's own verdict, with room for one byte over the limit. */
static bool inflate_at_once(struct span message, size_t size_max, struct buffer *out) {
    z_stream stream = {.next_in = (uint8_t *)message.data, .avail_in = (unsigned)message.size};
    assert(inflateInit2(&stream, WINDOW_BITS_GZIP) == Z_OK);
    char *room = buffer_reserve(out, size_max + 1);
    assert(room);
    stream.next_out = (uint8_t *)room;
    stream.avail_out = (unsigned)size_max + 1;
    int result = inflate(&stream, Z_FINISH);
    out->size = size_max + 1 - stream.avail_out;
    bool good = result == Z_STREAM_END && stream.avail_in == 0 && out->size <= size_max;
    inflateEnd(&stream);
    return good;
}

static bool is_beginning(const struct buffer *a, const struct buffer *b) {
    return a->size <= b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    CLEANUP(cleanup_grpc_inflate) struct grpc_inflate *inflate = NULL;
    CLEANUP(buffer_clear) struct buffer whole = {.size_max = 0};
    CLEANUP(buffer_clear) struct buffer pieces = {.size_max = 0};
    CLEANUP(buffer_clear) struct buffer expected = {.size_max = 0};
    struct span message = span_of(data + 2, size - 2);
    size_t size_max = (size_t)1 << data[1] % 18;
    struct error error;
    assert(grpc_inflate_new(&inflate, &error) == ERR_OK);
    enum err err = inflate_all(inflate, message, size, size_max, &whole);
    enum err again = inflate_all(inflate, message, data[0] % 32 + 1, size_max, &pieces);
    bool good = inflate_at_once(message, size_max, &expected);
    assert(err == ERR_OK || err == ERR_MALFORMED || err == ERR_LIMIT);
    assert((err == ERR_OK) == good && (again == ERR_OK) == good);
    assert(is_beginning(&whole, &expected) && is_beginning(&pieces, &expected));
    assert(!good || (whole.size == expected.size && pieces.size == expected.size));
    return 0;
}
