/*
 * Content-addressed files: blobs/<2 hex>/<62 hex> under the data directory, named by SHA-256 of the
 * contents. Bytes arrive in a temporary file (tmp/), hashed as they come, and become visible under
 * their digest only by an atomic rename after fsync. A blob is never changed in place; later it may
 * be replaced by <62 hex>.zst with the same contents (cache/blob_compress.h), which is inflated
 * when it is opened. Ranges without inflating the whole: cache/blob_reader.h.
 *
 * Threads: the store may be shared by any number of threads; a writer belongs to one at a time.
 * Fault points: blob.after_open, blob.after_write, blob.after_fsync, blob.after_publish.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"

struct blob_store;
struct blob_writer;

/* Makes the folders when missing. The directory fd stays the caller's. */
enum err blob_store_open(int data_directory, struct blob_store **ret_store, struct error *error);
void blob_store_free(struct blob_store *store);
DEFINE_CLEANUP(blob_store, struct blob_store, blob_store_free)

/* Removes what an earlier process left in tmp/. Call before any writer is opened. */
enum err blob_store_sweep(struct blob_store *store, uint64_t *ret_removed, struct error *error);

/* size_max: the declared size; a byte more is ERR_LIMIT. */
enum err blob_writer_open(struct blob_store *store, uint64_t size_max,
                          struct blob_writer **ret_writer, struct error *error);

/* Straight off the wire: hashed and written at once, no copy kept. */
enum err blob_writer_append(struct blob_writer *writer, const void *bytes, size_t size,
                            struct error *error);
uint64_t blob_writer_size(const struct blob_writer *writer);

/* fsyncs and fixes the digest; append is no longer allowed. May block for long. */
enum err blob_writer_seal(struct blob_writer *writer, struct digest *ret_digest,
                          struct error *error);

/* A read-only fd on the sealed bytes, for the worker; the caller closes it. */
enum err blob_writer_open_sealed(struct blob_writer *writer, int *ret_fd, struct error *error);

/* Makes the sealed bytes visible under their digest. If the blob is there already, that is fine. */
enum err blob_writer_publish(struct blob_writer *writer, struct error *error);

/* Ends a writer; what was not published is removed. */
void blob_writer_free(struct blob_writer *writer);
DEFINE_CLEANUP(blob_writer, struct blob_writer, blob_writer_free)

/* A read-only fd on the raw bytes; the caller closes it. Takes its time: all bytes are read and
 * compared with the digest (ERR_DAMAGED), and a compressed blob is inflated into a file without a
 * name (ERR_NO_SPACE when there is no space for it). ERR_NOT_FOUND. */
enum err blob_store_open_blob(struct blob_store *store, const struct digest *digest, int *ret_fd,
                              struct error *error);
enum err blob_store_remove(struct blob_store *store, const struct digest *digest,
                           struct error *error);
