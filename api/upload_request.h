/*
 * parca.debuginfo.v1alpha1.UploadRequest, read on the wire from pieces of any size: the bytes of
 * chunk_data come out where they lie in the input, and only UploadInfo, which is small, is
 * assembled. Unknown fields are skipped (protobuf encoding specification, "Message Structure").
 *
 * The bytes are hostile. More strictly than protobuf, a message that sets its oneof twice is
 * refused: the chunk that the second one would replace has already been handed on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

#define UPLOAD_INFO_SIZE_MAX 4096
#define UPLOAD_GROUP_DEPTH_MAX 16

struct upload_request_reader {
    uint64_t left; /* bytes of the message that were not read yet */
    uint8_t at;    /* enum place */
    uint64_t varint;
    unsigned varint_shift;
    uint64_t tag;
    uint64_t field_left;
    bool has_data;
    uint64_t groups[UPLOAD_GROUP_DEPTH_MAX]; /* field numbers of the open ones */
    unsigned group_depth;
    uint8_t info[UPLOAD_INFO_SIZE_MAX];
    size_t info_size;
};

enum upload_request_event {
    UPLOAD_REQUEST_MORE,  /* the input is used up */
    UPLOAD_REQUEST_INFO,  /* *ret_bytes: a whole UploadInfo, valid until the next call */
    UPLOAD_REQUEST_CHUNK, /* *ret_bytes: some bytes of chunk_data, within the input */
};

/* A message of this size, or of at most this size, starts. */
void upload_request_begin(struct upload_request_reader *reader, uint64_t size);

/* The next event in *input, which moves past what was used. ERR_MALFORMED, or ERR_LIMIT for an
 * info over its maximum; the reader cannot be used further then. */
enum err upload_request_next(struct upload_request_reader *reader, struct span *input,
                             enum upload_request_event *ret_event, struct span *ret_bytes,
                             struct error *error);

/* All bytes of the message were given. ERR_MALFORMED when it ends inside a field. */
enum err upload_request_end(const struct upload_request_reader *reader, struct error *error);
