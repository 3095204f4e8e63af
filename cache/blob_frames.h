/*
 * Writes and reads compressed blobs (cache/blob_format.h). The reader takes nothing for granted:
 * the disk can have damaged the file.
 *
 * Threads: a reader belongs to one at a time.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"

struct blob_frames_summary {
    struct digest digest; /* of the raw bytes, as they were read */
    uint64_t raw_size;
    uint64_t stored_size;
};

/* Reads `in` from its position to its end and appends to `out`. ERR_CANCELLED soon after *cancel
 * became true; cancel may be NULL. ERR_NO_SPACE when the disk is full. */
enum err blob_frames_write(int in, int out, const atomic_bool *cancel,
                           struct blob_frames_summary *ret_summary, struct error *error);

struct blob_frames;

/* Takes the fd over when it succeeds. ERR_DAMAGED for a file that is none. */
enum err blob_frames_open(int fd, struct blob_frames **ret_frames, struct error *error);
void blob_frames_free(struct blob_frames *frames);
DEFINE_CLEANUP(blob_frames, struct blob_frames, blob_frames_free)

uint64_t blob_frames_raw_size(const struct blob_frames *frames);

/* All `size` bytes at `offset`, or an error: ERR_INVALID past the end, ERR_DAMAGED. Only
 * the frames that the range touches are read; the last one is kept for the next call. */
enum err blob_frames_read(struct blob_frames *frames, uint64_t offset, void *bytes, size_t size,
                          struct error *error);
