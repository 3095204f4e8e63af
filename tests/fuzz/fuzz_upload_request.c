/*
 * Property: an UploadRequest read in pieces of any size gives the same info, the same chunk bytes
 * and the same end as read in one piece, and never more bytes than it has.
 *
 * The first byte of the input chooses the pieces, the rest is the message.
 */
#include <assert.h>
#include <stdint.h>

#include "api/upload_request.h"
#include "base/buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    struct buffer chunk;
    struct buffer info;
    unsigned info_count;
    enum err err;
};

static void take_piece(struct upload_request_reader *reader, struct span piece,
                       struct outcome *outcome) {
    enum upload_request_event event = UPLOAD_REQUEST_INFO;
    const char *end = piece.data + piece.size;
    while (outcome->err == ERR_OK && event != UPLOAD_REQUEST_MORE) {
        struct span bytes = {NULL, 0};
        struct error error;
        outcome->err = upload_request_next(reader, &piece, &event, &bytes, &error);
        assert(piece.data + piece.size == end);
        if (outcome->err != ERR_OK)
            return;
        if (event == UPLOAD_REQUEST_CHUNK)
            buffer_append(&outcome->chunk, bytes.data, bytes.size);
        if (event == UPLOAD_REQUEST_INFO) {
            buffer_append(&outcome->info, bytes.data, bytes.size);
            outcome->info_count++;
        }
    }
    assert(outcome->err != ERR_OK || piece.size == 0);
}

static void read_message(struct span message, unsigned step, struct outcome *outcome) {
    struct upload_request_reader reader;
    struct error error;
    unsigned state = step;
    upload_request_begin(&reader, message.size);
    while (message.size > 0 && outcome->err == ERR_OK) {
        /* Small pieces of changing sizes; step 0 is one piece. */
        state = state * 1103515245u + 12345u;
        size_t size = step == 0 ? message.size : 1 + (state >> 16) % (step % 16 + 1);
        if (size > message.size)
            size = message.size;
        take_piece(&reader, span_of(message.data, size), outcome);
        message = span_of(message.data + size, message.size - size);
    }
    if (outcome->err == ERR_OK)
        outcome->err = upload_request_end(&reader, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    struct span message = span_of(data + 1, size - 1);
    struct outcome whole = {.err = ERR_OK};
    struct outcome pieces = {.err = ERR_OK};
    read_message(message, 0, &whole);
    read_message(message, data[0], &pieces);
    assert(whole.err == ERR_OK || whole.err == ERR_MALFORMED || whole.err == ERR_LIMIT);
    assert(whole.err == pieces.err && whole.info_count == pieces.info_count);
    assert(whole.info_count <= 1 && whole.info.size <= UPLOAD_INFO_SIZE_MAX);
    assert(whole.info_count == 0 || whole.chunk.size == 0);
    assert(whole.chunk.size + whole.info.size <= message.size);
    assert(span_equal(buffer_span(&whole.info), buffer_span(&pieces.info)));
    assert(span_equal(buffer_span(&whole.chunk), buffer_span(&pieces.chunk)));
    buffer_clear(&whole.chunk);
    buffer_clear(&whole.info);
    buffer_clear(&pieces.chunk);
    buffer_clear(&pieces.info);
    return 0;
}
