/*
 * Ranges of a stored blob, raw or compressed. A compressed one is inflated by the frames that a
 * range touches, each checked by its own checksum; a raw one is read as it is, so that who wants
 * to be sure calls blob_reader_check before.
 *
 * Threads: a reader belongs to one at a time. It stays good when the blob is removed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/blob_store.h"

struct blob_reader;

/* ERR_NOT_FOUND; ERR_DAMAGED. */
enum err blob_reader_open(struct blob_store *store, const struct digest *digest,
                          struct blob_reader **ret_reader, struct error *error);
void blob_reader_free(struct blob_reader *reader);
DEFINE_CLEANUP(blob_reader, struct blob_reader, blob_reader_free)

/* Of the raw bytes. */
uint64_t blob_reader_size(const struct blob_reader *reader);

/* Whether ranges are what was stored: ERR_DAMAGED. Of a compressed blob nothing is read, since its
 * frames are checked as they are; a raw one is read whole and compared with its digest, once while
 * the store is open and the file is not replaced. */
enum err blob_reader_check(struct blob_reader *reader, struct error *error);

/* Reads the whole, compares it with its digest (ERR_DAMAGED), and writes it to `out` unless that is
 * negative. */
enum err blob_reader_copy(struct blob_reader *reader, int out, struct error *error);

bool blob_reader_is_compressed(const struct blob_reader *reader);

/* Of a raw blob: its fd, which is then the caller's; the reader can only be freed. */
int blob_reader_take_fd(struct blob_reader *reader);

/* All `size` bytes at `offset`, or an error; ERR_INVALID past the end, ERR_DAMAGED. */
enum err blob_reader_read(struct blob_reader *reader, uint64_t offset, void *bytes, size_t size,
                          struct error *error);
