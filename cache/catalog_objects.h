/* Objects in the catalog (one per tenant, digest and type) and the names that find them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "base/hash.h"
#include "cache/artifact.h"
#include "cache/catalog.h"

/* What the builds that an object went into say of it. */
enum object_soundness {
    OBJECT_SOUND,       /* one succeeded or is to come, or none was asked for */
    OBJECT_UNSUPPORTED, /* all ended with nothing that we read */
    OBJECT_BROKEN,      /* all failed for good, and not only for that */
};

struct object_row {
    int64_t object_id; /* 0 before it is stored */
    struct digest digest;
    uint64_t size;
    int64_t created_ms;
    enum artifact_type type;
    char uploader[128];
    int trust_rank;                  /* higher wins before quality; 0 until trust exists */
    unsigned contents;               /* of enum contents_flags */
    enum verification verification;  /* of the alias by which it was asked for, in lists by id */
    enum object_soundness soundness; /* in lists by id */
};

#define OBJECTS_PER_ID_MAX 64

/* Stores the object, or finds the one with the same tenant, digest and type, which is then no
 * longer gone. */
enum err catalog_object_put(struct catalog_txn *txn, const char *tenant,
                            const struct object_row *row, int64_t *ret_object_id,
                            struct error *error);

/* Why the bytes of an object are no more. Stored: values are never reused. */
enum object_loss { OBJECT_MISSING = 1, OBJECT_DAMAGED = 2 };

/* These bytes were found to be lost: the objects that are made of them, of all tenants, answer no
 * more and are in no list by id, until the same bytes are put again. True: some were not marked
 * before. */
enum err catalog_objects_set_gone(struct catalog_txn *txn, const struct digest *digest,
                                  enum object_loss loss, bool *ret_changed, struct error *error);

/* Adds a name; naming the same object again keeps the stronger verification. */
enum err catalog_alias_put(struct catalog_txn *txn, const char *tenant, const struct binary_id *id,
                           int64_t object_id, enum verification verification, struct error *error);

/* Newest first, at most OBJECTS_PER_ID_MAX. None is ERR_OK with count 0. */
enum err catalog_objects_by_id(struct catalog_txn *txn, const char *tenant,
                               const struct binary_id *id,
                               struct object_row ret_rows[static OBJECTS_PER_ID_MAX],
                               size_t *ret_count, struct error *error);

/* The names of one object, strongest verification first. */
#define ALIASES_PER_OBJECT_MAX 16
enum err catalog_aliases_of_object(struct catalog_txn *txn, const char *tenant, int64_t object_id,
                                   struct binary_id ret_ids[static ALIASES_PER_OBJECT_MAX],
                                   size_t *ret_count, struct error *error);
