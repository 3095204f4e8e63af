/*
 * Compresses stored blobs in place: a temporary file, fsync, rename to <62 hex>.zst, fsync of the
 * folder, and only then the raw file goes. At any instant one of the two is whole and durable.
 *
 * Threads: any. Fault points: blob.compress_after_write, blob.compress_after_publish.
 */
#pragma once

#include <stdatomic.h>

#include "cache/blob_store.h"

enum blob_compression {
    BLOB_COMPRESSED = 1, /* now, or before */
    BLOB_KEPT = 2,       /* it would hardly shrink; the raw file is marked, and stays */
};

struct blob_compress_result {
    enum blob_compression outcome;
    uint64_t raw_size;    /* 0 when there was nothing to do */
    uint64_t stored_size; /* of the compressed file, also when it was not kept */
};

/* Takes long. ERR_CANCELLED soon after *cancel became true; cancel may be NULL. ERR_NOT_FOUND, also
 * when the blob is removed meanwhile; ERR_DAMAGED when its bytes have another digest than its name
 * says (it is left alone); ERR_NO_SPACE when the disk is full. */
enum err blob_store_compress(struct blob_store *store, const struct digest *digest,
                             const atomic_bool *cancel, struct blob_compress_result *ret_result,
                             struct error *error);
