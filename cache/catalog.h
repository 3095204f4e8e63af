/*
 * The catalog: what is stored, under which names, for whom, and how far each upload and build is.
 * SQLite in WAL mode with foreign keys, numbered migrations, prepared statements; all SQL of the
 * project lives in cache/. Every row has its tenant, and every operation takes it.
 *
 * A unit of work is a function that gets a transaction and calls the typed operations of
 * catalog_uploads.h, catalog_objects.h and catalog_builds.h. Writes run on one writer thread, which
 * commits what has gathered as a group: catalog_write returns after its work is on disk. A function
 * that fails is undone alone (savepoint); when the commit itself fails, all of the group get
 * ERR_IO or ERR_NO_SPACE. Reads run on the calling thread, on a connection of its own, and see the
 * last committed state. A function is short and calls neither catalog_write nor catalog_read:
 * others wait for it.
 *
 * Errors: ERR_NOT_FOUND also for an unknown tenant; ERR_NO_SPACE when the disk is full; ERR_IO
 * when the file is damaged or the system refused; ERR_LIMIT for a number that the catalog cannot
 * hold.
 *
 * Threads: a catalog may be shared; a transaction belongs to the function it was given to.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct catalog;
struct catalog_txn;

typedef enum err catalog_function(struct catalog_txn *txn, void *argument, struct error *error);

/* Opens or creates the file and brings its schema up to date.
 * ERR_UNSUPPORTED when the file is of a newer schema than this build knows. */
enum err catalog_open(const char *path, struct catalog **ret_catalog, struct error *error);
void catalog_free(struct catalog *catalog);
DEFINE_CLEANUP(catalog, struct catalog, catalog_free)

enum err catalog_write(struct catalog *catalog, catalog_function *function, void *argument,
                       struct error *error);
enum err catalog_read(struct catalog *catalog, catalog_function *function, void *argument,
                      struct error *error);

struct catalog_stats {
    uint64_t writes;    /* units of work that were tried */
    uint64_t commits;   /* groups that were committed; at most one fsync each */
    uint64_t waiting;   /* units of work that wait for the writer now */
    uint64_t wal_pages; /* length of the write-ahead log after the last commit */
};

struct catalog_health {
    bool readable;
    bool writable;
};

/* Looks for itself: reads, and when the last group of writes could not be committed, writes. error
 * says why one of them is false. Blocks. */
void catalog_check(struct catalog *catalog, struct catalog_health *ret_health, struct error *error);

void catalog_stats_read(struct catalog *catalog, struct catalog_stats *ret_stats);
