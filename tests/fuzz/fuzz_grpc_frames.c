/*
 * Property: a stream of gRPC messages read in pieces of any size gives the same messages and the
 * same end as read in one piece, also when the reader takes less than it is given and has the rest
 * given again; no message over the limit is ever begun, and no compressed one unless those are
 * accepted.
 *
 * The first byte of the input chooses the pieces and whether compressed messages are accepted, the
 * rest is the stream.
 */
#include <assert.h>
#include <stdint.h>

#include "base/buffer.h"
#include "rpc/grpc_frames.h"

#define MESSAGE_SIZE_MAX 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One letter per event, with the bytes in between: the same text is the same stream. */
static enum err read_stream(struct span stream, size_t piece_size, bool accept_compressed,
                            bool takes_half, struct buffer *trace) {
    struct grpc_frames frames = grpc_frames_of(MESSAGE_SIZE_MAX);
    frames.accept_compressed = accept_compressed;
    struct error error;
    while (stream.size > 0) {
        size_t size = stream.size < piece_size ? stream.size : piece_size;
        struct span piece = span_of(stream.data, size);
        stream = span_of(stream.data + size, stream.size - size);
        enum grpc_frames_event event = GRPC_FRAMES_BEGIN;
        while (event != GRPC_FRAMES_MORE) {
            struct span bytes = {NULL, 0};
            enum err err = grpc_frames_next(&frames, &piece, &event, &bytes, &error);
            if (err != ERR_OK)
                return err;
            if (event == GRPC_FRAMES_BEGIN) {
                assert(frames.left <= MESSAGE_SIZE_MAX);
                assert(accept_compressed || !frames.compressed);
                buffer_printf(trace, "<%d%c", (int)frames.left, frames.compressed ? '*' : ':');
            }
            if (event == GRPC_FRAMES_BYTES) {
                size_t left = takes_half ? bytes.size / 2 : 0;
                grpc_frames_unread(&frames, &piece, left);
                buffer_append(trace, bytes.data, bytes.size - left);
            }
            if (event == GRPC_FRAMES_END)
                buffer_append_cstr(trace, ">");
        }
        assert(piece.size == 0);
    }
    return grpc_frames_check_end(&frames, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    struct span stream = span_of(data + 1, size - 1);
    struct buffer whole = {.size_max = 0};
    struct buffer pieces = {.size_max = 0};
    bool accept_compressed = data[0] & 0x80;
    enum err err = read_stream(stream, size, accept_compressed, false, &whole);
    assert(err == ERR_OK || err == ERR_MALFORMED || err == ERR_LIMIT || err == ERR_UNIMPLEMENTED);
    assert(err != ERR_UNIMPLEMENTED || !accept_compressed);
    assert(read_stream(stream, data[0] % 32 + 1, accept_compressed, data[0] & 0x40, &pieces) ==
           err);
    assert(span_equal(buffer_span(&whole), buffer_span(&pieces)));
    buffer_clear(&whole);
    buffer_clear(&pieces);
    return 0;
}
