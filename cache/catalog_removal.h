/*
 * Taking things out of the catalog. What is removed leaves only a mark: an upload in state purged,
 * without hash and object, so that whoever offers the same build ID is told that it was purged.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "base/hash.h"
#include "cache/catalog.h"
#include "cache/catalog_objects.h"

/* The row of an upload that is still in state uploading; another one is left as it is. */
enum err catalog_upload_remove_unfinished(struct catalog_txn *txn, const char *tenant,
                                          const char *upload_id, struct error *error);

/* All uploads of an id, of one type or of all (0), are purged. */
enum err catalog_uploads_purge(struct catalog_txn *txn, const char *tenant,
                               const struct binary_id *id, int type, int64_t now_ms,
                               uint64_t *ret_count, struct error *error);

/* Up to OBJECTS_PER_ID_MAX objects with this name, of one type or of all (0), also such that are
 * gone; only what a removal needs is filled in: number, digest and type. */
enum err catalog_removal_objects(struct catalog_txn *txn, const char *tenant,
                                 const struct binary_id *id, int type,
                                 struct object_row ret_rows[static OBJECTS_PER_ID_MAX],
                                 size_t *ret_count, struct error *error);

/* A build that has this object for input; ERR_NOT_FOUND when there is none. */
enum err catalog_removal_build_of(struct catalog_txn *txn, const char *tenant, int64_t object_id,
                                  struct digest *ret_key, struct error *error);

/* The build and its inputs go. No generation may have it. True: another tenant has it too. */
enum err catalog_build_remove(struct catalog_txn *txn, const char *tenant, const struct digest *key,
                              bool *ret_shared, struct error *error);

/* The object and its names go, and its uploads are purged. No build may have it for input. True:
 * its bytes are those of another object, of whatever tenant. */
enum err catalog_object_remove(struct catalog_txn *txn, const char *tenant,
                               const struct object_row *object, int64_t now_ms, bool *ret_shared,
                               struct error *error);

/* True if any tenant has an object with these bytes, also one that is gone. */
enum err catalog_digest_is_known(struct catalog_txn *txn, const struct digest *digest,
                                 bool *ret_known, struct error *error);

/* True if any tenant has a build of this key. */
enum err catalog_build_is_known(struct catalog_txn *txn, const struct digest *key, bool *ret_known,
                                struct error *error);
