/*
 * Builds and generations in the catalog. A build makes the index of one set of inputs; its key is
 * the digest of the set (contents and roles) and the index format's version, so that equal sets
 * share a build. A generation says which build answers for an id now, and which one will.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "base/hash.h"
#include "cache/artifact.h"
#include "cache/catalog.h"

/* Stored: values are never reused. */
enum build_state {
    BUILD_QUEUED = 1,
    BUILD_RUNNING = 2,
    BUILD_OK = 3,
    BUILD_MALFORMED = 4,
    BUILD_UNSUPPORTED = 5,
    BUILD_KILLED = 6, /* the parser died: parser_killed */
    BUILD_FAILED = 7, /* our trouble, to be tried again: disk, memory, spawn */
};

struct build_row {
    struct digest key;
    enum build_state state;
    char reason[512];
    int64_t queued_ms;
    int64_t finished_ms; /* 0: not yet */
    int64_t expires_ms;  /* a failure is tried again after this; 0: kept */
    unsigned attempts;
    uint64_t index_size;
};

struct build_input {
    int64_t object_id;
    struct digest digest; /* filled on reading */
    int role;             /* enum job_role of symbolizer/protocol/job.h */
};

#define BUILD_INPUT_MAX 16

/* Adds the build in state QUEUED with its inputs, or leaves the one of that key as it is. */
enum err catalog_build_ensure(struct catalog_txn *txn, const char *tenant, const struct digest *key,
                              const struct build_input *inputs, size_t input_count, int64_t now_ms,
                              struct build_row *ret_row, struct error *error);

/* ERR_NOT_FOUND. */
enum err catalog_build_get(struct catalog_txn *txn, const char *tenant, const struct digest *key,
                           struct build_row *ret_row, struct error *error);
enum err catalog_build_inputs(struct catalog_txn *txn, const char *tenant, const struct digest *key,
                              struct build_input ret_inputs[static BUILD_INPUT_MAX],
                              size_t *ret_count, struct error *error);

/* Writes all columns but key and queued_ms. */
enum err catalog_build_update(struct catalog_txn *txn, const char *tenant,
                              const struct build_row *row, struct error *error);

/* At start: builds that were running are queued again. Then lists what is queued, oldest first,
 * over all tenants: calls the visitor for each until it returns false. */
enum err catalog_builds_requeue_running(struct catalog_txn *txn, uint64_t *ret_count,
                                        struct error *error);
typedef bool build_visitor(void *argument, const char *tenant, const struct digest *key);
enum err catalog_builds_queued(struct catalog_txn *txn, build_visitor *visitor, void *argument,
                               struct error *error);

struct generation_row {
    uint64_t number; /* 0: nothing has answered for this id yet; grows by one per change */
    bool has_serving;
    bool has_pending;
    struct digest serving; /* build keys */
    struct digest pending;
};

/* No row: ERR_OK with a zeroed row. */
enum err catalog_generation_get(struct catalog_txn *txn, const char *tenant,
                                const struct binary_id *id, struct generation_row *ret_row,
                                struct error *error);

/* The build that shall answer for id next. If that build is OK already, it answers at once. */
enum err catalog_generation_set_pending(struct catalog_txn *txn, const char *tenant,
                                        const struct binary_id *id, const struct digest *key,
                                        struct error *error);

/* The ids that a build answers for, or shall. Those past the bound are left out. */
#define IDS_PER_BUILD_MAX 128
enum err catalog_generation_ids(struct catalog_txn *txn, const char *tenant,
                                const struct digest *key,
                                struct binary_id ret_ids[static IDS_PER_BUILD_MAX],
                                size_t *ret_count, struct error *error);

/* This build can neither answer for id nor will: another may be set pending. That it no longer
 * answers is a change and gives a new number. */
enum err catalog_generation_forget(struct catalog_txn *txn, const char *tenant,
                                   const struct binary_id *id, const struct digest *key,
                                   struct error *error);

/* After a build came out OK: every id that waits for it is served by it, with a new number. */
enum err catalog_generations_promote(struct catalog_txn *txn, const char *tenant,
                                     const struct digest *key, struct error *error);
