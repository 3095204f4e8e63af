/*
 * Ranges of a stored blob, raw or compressed. A compressed one is inflated by the frames that a
 * range touches, each checked by its own checksum; a raw one is read as it is.
 *
 * Threads: a reader belongs to one at a time. It stays good when the blob is removed.
 */
#pragma once

#include <stdint.h>

#include "cache/blob_store.h"

struct blob_reader;

/* ERR_NOT_FOUND; ERR_IO when it is damaged. */
enum err blob_reader_open(struct blob_store *store, const struct digest *digest,
                          struct blob_reader **ret_reader, struct error *error);
void blob_reader_free(struct blob_reader *reader);
DEFINE_CLEANUP(blob_reader, struct blob_reader, blob_reader_free)

/* Of the raw bytes. */
uint64_t blob_reader_size(const struct blob_reader *reader);

/* All `size` bytes at `offset`, or an error; ERR_INVALID past the end. */
enum err blob_reader_read(struct blob_reader *reader, uint64_t offset, void *bytes, size_t size,
                          struct error *error);
