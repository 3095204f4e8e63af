/*
 * Orphans: stored files that no object of any tenant names, and indexes that no build of any tenant
 * makes. A crash leaves them behind, between the rows of an upload or a deletion and the files.
 *
 * What a catalog does not name may also be what too old a catalog, restored from a backup, has
 * never heard of. Therefore only files that came here some time ago are taken for orphans; stored
 * files are set aside for a week (cache/blob_lost.h) before they are removed; and nothing is done
 * at all when more than a handful, and more than half of all stored files, would go. Indexes can be
 * made again, and are removed.
 *
 * Threads: any; the sweeper has one of its own.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "cache/index_cache.h"
#include "ingest/upload.h"

struct orphan_sweep_config {
    int64_t grace_ms;     /* since a file came here; below 0: none; 0: a day */
    int64_t lost_keep_ms; /* since it was set aside; below 0: none; 0: a week */
};

/* Beyond these an orphan is left for the next sweep. */
#define ORPHANS_PER_SWEEP_MAX 65536
/* So many may always be set aside: a crash leaves few, and small stores have few files. */
#define ORPHANS_PLAUSIBLE 16

struct orphan_sweep_result {
    uint64_t blobs; /* set aside */
    uint64_t blob_bytes;
    uint64_t indexes; /* removed */
    uint64_t lost;    /* removed, having been set aside long ago */
    uint64_t lost_bytes;
    uint64_t refused; /* orphans that were left, since too many of all files are */
    uint64_t files;   /* all stored files */
};

/* One sweep. Blocks for long: all files are looked at. On failure the result says what was done
 * before. ERR_CANCELLED soon after *stopping became true. */
enum err orphan_sweep(struct ingest *ingest, struct index_cache *indexes,
                      const struct orphan_sweep_config *config, const atomic_bool *stopping,
                      struct orphan_sweep_result *ret_result, struct error *error);

struct orphan_sweeper;

/* Called from the sweeper's thread after each sweep; error is NULL unless it failed. */
typedef void orphan_sweep_report(void *argument, const struct orphan_sweep_result *result,
                                 const struct error *error);

/* Sweeps at once and then every hour, or as often as the grace is long. Borrows what it is given.
 */
enum err orphan_sweeper_new(struct ingest *ingest, struct index_cache *indexes,
                            const struct orphan_sweep_config *config, orphan_sweep_report *report,
                            void *argument, struct orphan_sweeper **ret_sweeper,
                            struct error *error);
void orphan_sweeper_free(struct orphan_sweeper *sweeper);
DEFINE_CLEANUP(orphan_sweeper, struct orphan_sweeper, orphan_sweeper_free)

/* Sums over all sweeps; `refused` and `files` are those of the last one. */
void orphan_sweeper_stats_read(struct orphan_sweeper *sweeper,
                               struct orphan_sweep_result *ret_stats);
