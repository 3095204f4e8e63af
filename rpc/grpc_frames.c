#include "rpc/grpc_frames.h"

#include <assert.h>
#include <string.h>

enum grpc_frames_place { AT_PREFIX, AT_BYTES };

struct grpc_frames grpc_frames_of(uint64_t message_size_max) {
    return (struct grpc_frames){.message_size_max = message_size_max, .at = AT_PREFIX};
}

static enum err begin(struct grpc_frames *frames, struct error *error) {
    const uint8_t *prefix = frames->prefix;
    if (prefix[0] == 1 && !frames->accept_compressed)
        return error_set(error, ERR_UNIMPLEMENTED, "compressed messages are not supported");
    if (prefix[0] > 1)
        return error_set(error, ERR_MALFORMED, "message flags of 0x%02x: want 0 or 1", prefix[0]);
    frames->left = (uint64_t)prefix[1] << 24 | (uint64_t)prefix[2] << 16 |
                   (uint64_t)prefix[3] << 8 | prefix[4];
    if (frames->left > frames->message_size_max)
        return error_set(error, ERR_LIMIT, "message of %llu bytes: at most %llu are accepted",
                         (unsigned long long)frames->left,
                         (unsigned long long)frames->message_size_max);
    frames->compressed = prefix[0] == 1;
    frames->prefix_used = 0;
    frames->at = AT_BYTES;
    return ERR_OK;
}

static void skip(struct span *input, size_t size) {
    input->data += size;
    input->size -= size;
}

static enum err next_in_prefix(struct grpc_frames *frames, struct span *input,
                               enum grpc_frames_event *ret_event, struct error *error) {
    size_t want = (size_t)(GRPC_PREFIX_SIZE - frames->prefix_used);
    size_t size = input->size < want ? input->size : want;
    if (size > 0) {
        memcpy(frames->prefix + frames->prefix_used, input->data, size);
        frames->prefix_used += (uint8_t)size;
        skip(input, size);
    }
    *ret_event = GRPC_FRAMES_MORE;
    if (size < want)
        return ERR_OK;
    enum err err = begin(frames, error);
    if (err == ERR_OK)
        *ret_event = GRPC_FRAMES_BEGIN;
    return err;
}

enum err grpc_frames_next(struct grpc_frames *frames, struct span *input,
                          enum grpc_frames_event *ret_event, struct span *ret_bytes,
                          struct error *error) {
    if (frames->at == AT_PREFIX)
        return next_in_prefix(frames, input, ret_event, error);
    if (frames->left == 0) {
        frames->at = AT_PREFIX;
        *ret_event = GRPC_FRAMES_END;
        return ERR_OK;
    }
    if (input->size == 0) {
        *ret_event = GRPC_FRAMES_MORE;
        return ERR_OK;
    }
    size_t size = input->size < frames->left ? input->size : (size_t)frames->left;
    *ret_bytes = span_of(input->data, size);
    frames->left -= size;
    skip(input, size);
    *ret_event = GRPC_FRAMES_BYTES;
    return ERR_OK;
}

void grpc_frames_unread(struct grpc_frames *frames, struct span *input, size_t size) {
    assert(frames->at == AT_BYTES);
    *input = span_of(input->data - size, input->size + size);
    frames->left += size;
}

enum err grpc_frames_check_end(const struct grpc_frames *frames, struct error *error) {
    if (frames->at == AT_PREFIX && frames->prefix_used == 0)
        return ERR_OK;
    if (frames->at == AT_PREFIX)
        return error_set(error, ERR_MALFORMED, "the request ends inside a message prefix");
    return error_set(error, ERR_MALFORMED, "the request ends %llu bytes before its message does",
                     (unsigned long long)frames->left);
}

void grpc_prefix_write(uint32_t size, uint8_t ret_prefix[static GRPC_PREFIX_SIZE]) {
    ret_prefix[0] = 0;
    ret_prefix[1] = (uint8_t)(size >> 24);
    ret_prefix[2] = (uint8_t)(size >> 16);
    ret_prefix[3] = (uint8_t)(size >> 8);
    ret_prefix[4] = (uint8_t)size;
}
