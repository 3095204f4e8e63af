#include "rpc/grpc_inflate.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#define PIECE_SIZE 16384
#define WINDOW_BITS_GZIP (15 + 16)

struct grpc_inflate {
    z_stream stream;
    uint64_t room; /* what the message may still give */
    bool has_more;
    bool ended;
    uint8_t piece[PIECE_SIZE];
};

enum err grpc_inflate_new(struct grpc_inflate **ret_inflate, struct error *error) {
    struct grpc_inflate *self = calloc(1, sizeof(*self));
    if (!self || inflateInit2(&self->stream, WINDOW_BITS_GZIP) != Z_OK) {
        free(self);
        return error_set(error, ERR_NO_MEMORY, "no memory to inflate a message");
    }
    *ret_inflate = self;
    return ERR_OK;
}

void grpc_inflate_free(struct grpc_inflate *self) {
    if (!self)
        return;
    inflateEnd(&self->stream);
    free(self);
}

void grpc_inflate_begin(struct grpc_inflate *self, uint64_t size_max) {
    inflateReset(&self->stream);
    self->room = size_max;
    self->has_more = false;
    self->ended = false;
}

/* One step of zlib. *ret_size: the bytes that are now in the piece. */
static int step(struct grpc_inflate *self, struct span *input, size_t *ret_size) {
    z_stream *stream = &self->stream;
    stream->next_in = (uint8_t *)input->data;
    stream->avail_in = input->size < UINT_MAX ? (unsigned)input->size : UINT_MAX;
    stream->next_out = self->piece;
    stream->avail_out = PIECE_SIZE;
    unsigned before = stream->avail_in;
    int result = inflate(stream, Z_NO_FLUSH);
    size_t used = before - stream->avail_in;
    *input = span_of(input->data + used, input->size - used);
    *ret_size = PIECE_SIZE - stream->avail_out;
    return result;
}

enum err grpc_inflate_next(struct grpc_inflate *self, struct span *input, struct span *ret_piece,
                           struct error *error) {
    size_t size = 0;
    *ret_piece = span_of(self->piece, 0);
    if (input->size == 0 && !self->has_more)
        return ERR_OK;
    if (self->ended)
        return error_set(error, ERR_MALFORMED, "bytes behind the end of a gzip message");
    int result = step(self, input, &size);
    if (result == Z_MEM_ERROR)
        return error_set(error, ERR_NO_MEMORY, "no memory to inflate a message");
    /* Z_BUF_ERROR: there was neither input nor pending output, which is no failure. */
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return error_set(error, ERR_MALFORMED, "not a gzip message: %s",
                         self->stream.msg ? self->stream.msg : "it needs a dictionary");
    if (size > self->room)
        return error_set(error, ERR_LIMIT, "a compressed message holds more than is accepted");
    self->room -= size;
    self->ended = result == Z_STREAM_END;
    self->has_more = !self->ended && size == PIECE_SIZE;
    *ret_piece = span_of(self->piece, size);
    return ERR_OK;
}

bool grpc_inflate_has_more(const struct grpc_inflate *self) {
    return self->has_more;
}

enum err grpc_inflate_end(const struct grpc_inflate *self, struct error *error) {
    if (!self->ended)
        return error_set(error, ERR_MALFORMED, "a gzip message that is cut short");
    return ERR_OK;
}
