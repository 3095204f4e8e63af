/*
 * Index files on disk, index/<2 hex>/<62 hex>.<format version> under the data directory, named by
 * build key; and the ones mapped at the moment. Both are bounded in bytes: over the disk bound the
 * least recently used files are removed (they can be built again), over the mapped bound the least
 * recently used maps are dropped. A map in use stays until its last handle is released, whatever is
 * removed meanwhile.
 *
 * Threads: any.
 * Fault points: index.after_open, index.after_fsync, index.after_publish.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "cache/digest_files.h"
#include "symbolizer/index/index.h"

struct index_cache;
struct index_handle;
struct index_output;

struct index_cache_limits {
    uint64_t disk_size_max;   /* 0: 20 GiB */
    uint64_t mapped_size_max; /* 0: 4 GiB */
};

/* Reads what is there, and removes temporary and older-format files. */
enum err index_cache_open(int data_directory, const struct index_cache_limits *limits,
                          struct index_cache **ret_cache, struct error *error);
void index_cache_free(struct index_cache *cache);
DEFINE_CLEANUP(index_cache, struct index_cache, index_cache_free)

/* New bounds; what is over them goes at once. */
void index_cache_limit(struct index_cache *cache, const struct index_cache_limits *limits);

/* ERR_NOT_FOUND: not built, or evicted. A damaged file is removed and is ERR_NOT_FOUND too, so
 * that the caller asks for a rebuild. */
enum err index_cache_acquire(struct index_cache *cache, const struct digest *key,
                             struct index_handle **ret_handle, struct error *error);
const struct index *index_handle_index(const struct index_handle *handle);

/* False once the file was cut short: whoever has read from the index since it was last true must
 * not trust what it has read. The file is then removed, so that the caller asks for a rebuild;
 * index_cache_acquire does the same. */
bool index_handle_is_intact(struct index_handle *handle);
void index_handle_release(struct index_handle *handle);
DEFINE_CLEANUP(index_handle, struct index_handle, index_handle_release)

/* A temporary file for a worker to write into; publish fsyncs and makes it visible and evicts. */
enum err index_output_open(struct index_cache *cache, const struct digest *key,
                           struct index_output **ret_output, struct error *error);
int index_output_fd(const struct index_output *output);
enum err index_output_publish(struct index_output *output, struct error *error);
void index_output_free(struct index_output *output);
DEFINE_CLEANUP(index_output, struct index_output, index_output_free)

/* The file of this key goes, if there is one; who holds its map keeps it until its release. */
void index_cache_remove(struct index_cache *cache, const struct digest *key);

/* All index files of the present format. */
enum err index_cache_visit(struct index_cache *cache, digest_file_visitor *visitor, void *argument,
                           struct error *error);

struct index_cache_stats {
    uint64_t disk_size;
    uint64_t disk_count;
    uint64_t mapped_size;
    uint64_t mapped_count;
    uint64_t hits;  /* acquire found a map */
    uint64_t opens; /* acquire had to map a file */
    uint64_t misses;
    uint64_t evictions; /* files removed for space */
    uint64_t damaged;   /* files removed since they were damaged */
};

void index_cache_stats_read(struct index_cache *cache, struct index_cache_stats *ret_stats);
