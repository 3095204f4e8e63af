/*
 * Length-Prefixed-Message, the framing of gRPC messages inside an HTTP/2 stream: a flag byte, a
 * 32-bit big-endian size, and that many bytes. Read from pieces of any size, without assembling.
 * The bytes are hostile: a size over the limit is refused before anything is taken for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

#define GRPC_PREFIX_SIZE 5

struct grpc_frames {
    uint64_t message_size_max;
    uint64_t left; /* of the current message's bytes */
    uint8_t prefix[GRPC_PREFIX_SIZE];
    uint8_t prefix_used;
    uint8_t at;             /* enum grpc_frames_place */
    bool accept_compressed; /* set by who can inflate; else they are refused */
    bool compressed;        /* the current message is */
};

enum grpc_frames_event {
    GRPC_FRAMES_MORE,  /* the input is used up */
    GRPC_FRAMES_BEGIN, /* a message of frames->left bytes starts */
    GRPC_FRAMES_BYTES, /* *ret_bytes, within the input */
    GRPC_FRAMES_END,
};

struct grpc_frames grpc_frames_of(uint64_t message_size_max);

/*
 * The next event in *input, which moves past what was used. An empty message is BEGIN and END
 * without BYTES. ERR_LIMIT: a message over the maximum; ERR_UNIMPLEMENTED: a compressed one
 * where none is accepted; ERR_MALFORMED: a flag byte that is neither. After a failure the stream
 * cannot be read further.
 */
enum err grpc_frames_next(struct grpc_frames *frames, struct span *input,
                          enum grpc_frames_event *ret_event, struct span *ret_bytes,
                          struct error *error);

/* Undoes the taking of the last `size` of the bytes just read: the next event gives them again. */
void grpc_frames_unread(struct grpc_frames *frames, struct span *input, size_t size);

/* ERR_MALFORMED when the stream ended inside a message. */
enum err grpc_frames_check_end(const struct grpc_frames *frames, struct error *error);

/* Writes the prefix of an uncompressed message. */
void grpc_prefix_write(uint32_t size, uint8_t ret_prefix[static GRPC_PREFIX_SIZE]);
