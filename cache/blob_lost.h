/*
 * Stored files that nobody names any more. They are not removed at once but moved to lost/ under
 * the data directory, as <64 hex> or <64 hex>.zst, and removed from there later: whoever restored
 * too old a catalog, and sees it in time, has lost nothing.
 *
 * Threads: any. Fault point: blob.after_set_aside.
 */
#pragma once

#include "cache/blob_store.h"
#include "cache/digest_files.h"

/* All stored files; a blob may have two, raw and compressed. */
enum err blob_store_visit(struct blob_store *store, digest_file_visitor *visitor, void *argument,
                          struct error *error);

/* Whoever has it open goes on reading. ERR_NOT_FOUND. */
enum err blob_store_set_aside(struct blob_store *store, const struct digest *digest,
                              uint64_t *ret_size, struct error *error);

/* Removes the files that were set aside before this time of the wall clock. */
enum err blob_store_empty_lost(struct blob_store *store, int64_t before_ms, uint64_t *ret_count,
                               uint64_t *ret_size, struct error *error);
