#include "debuginfo/xz.h"

#include <inttypes.h>
#include <lzma.h>

#include "base/cleanup.h"

/* Output is taken in steps of this size at first, then of as much as there is already. */
#define STEP_SIZE ((size_t)1 << 20)

static void stream_end(lzma_stream *stream) {
    lzma_end(stream);
}

static enum err describe(lzma_ret result, struct error *error) {
    switch (result) {
    case LZMA_MEM_ERROR:
        return error_set(error, ERR_NO_MEMORY, "no memory for an xz stream");
    case LZMA_MEMLIMIT_ERROR:
        return error_set(error, ERR_LIMIT, "its xz stream needs over %" PRIu64 " bytes to inflate",
                         XZ_MEMORY_MAX);
    case LZMA_OPTIONS_ERROR:
        return error_set(error, ERR_UNSUPPORTED, "its xz stream uses a filter we do not know");
    case LZMA_BUF_ERROR:
        return error_set(error, ERR_MALFORMED, "its xz stream ends early");
    default:
        return error_set(error, ERR_MALFORMED, "its xz stream is damaged");
    }
}

/* Room for the next step, as much as the limit leaves. */
static enum err make_room(struct buffer *output, lzma_stream *stream, struct error *error) {
    size_t step = output->size > STEP_SIZE ? output->size : STEP_SIZE;
    size_t left = output->size_max - output->size;
    if (left == 0)
        return error_set(error, ERR_LIMIT, "its xz stream holds over %zu bytes", output->size_max);
    if (step > left)
        step = left;
    stream->next_out = (uint8_t *)buffer_reserve(output, step);
    if (!stream->next_out)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu inflated bytes",
                         output->size + step);
    stream->avail_out = step;
    return ERR_OK;
}

enum err xz_inflate(struct span input, struct buffer *output, struct error *error) {
    CLEANUP(stream_end) lzma_stream stream = LZMA_STREAM_INIT;
    lzma_ret result = lzma_stream_decoder(&stream, XZ_MEMORY_MAX, LZMA_CONCATENATED);
    if (result != LZMA_OK)
        return describe(result, error);
    stream.next_in = (const uint8_t *)input.data;
    stream.avail_in = input.size;
    /* Each round takes at least one byte of output or ends. */
    while (result == LZMA_OK) {
        enum err err = make_room(output, &stream, error);
        if (err)
            return err;
        size_t room = stream.avail_out;
        result = lzma_code(&stream, LZMA_FINISH);
        output->size += room - stream.avail_out;
    }
    return result == LZMA_STREAM_END ? ERR_OK : describe(result, error);
}
