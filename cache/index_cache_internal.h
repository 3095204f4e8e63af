/*
 * What the parts of the index cache share. Only cache/index_*.c include this.
 *
 * Functions that take a list of the dead are called with the mutex held; what they put there is
 * freed by index_cache_unlock, since ending a large map takes long.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "cache/index_cache.h"

/* Chains stay short for the tens of thousands of files that fit the disk bound. */
#define INDEX_BUCKET_COUNT 16384

/* ".<format version>" */
#define INDEX_STRING_OF(number) #number
#define INDEX_SUFFIX_OF(version) "." INDEX_STRING_OF(version)
#define INDEX_SUFFIX INDEX_SUFFIX_OF(INDEX_FORMAT_VERSION)

/* One map, shared by all who hold it. It may outlive its file and its entry. */
struct index_handle {
    struct index_cache *cache;
    struct index_entry *entry; /* NULL once the file is gone or replaced */
    struct index *index;
    struct digest key;
    uint64_t size;
    unsigned references;             /* of callers */
    TAILQ_ENTRY(index_handle) links; /* in `idle` while there are none, or among the dead */
};

TAILQ_HEAD(index_handle_list, index_handle);

/* One file. */
struct index_entry {
    struct digest key;
    uint64_t size;
    bool opening;                   /* a thread maps it; it must not go away meanwhile */
    struct index_handle *handle;    /* NULL: not mapped */
    int64_t touched_ms;             /* clock_mono_ms; 0: not by this process */
    TAILQ_ENTRY(index_entry) links; /* in `used` */
    struct index_entry *next;       /* in its bucket */
};

TAILQ_HEAD(index_entry_list, index_entry);

struct index_cache {
    int root;
    int temp;
    struct index_cache_limits limits; /* none is 0 */
    pthread_mutex_t mutex;            /* guards all that follows */
    pthread_cond_t opened;
    struct index_entry_list used;  /* least recently used first */
    struct index_handle_list idle; /* the same, of maps that nobody holds */
    struct index_cache_stats stats;
    struct index_entry *buckets[INDEX_BUCKET_COUNT];
};

enum err index_entry_new(const struct digest *key, uint64_t size, struct index_entry **ret_entry,
                         struct error *error);

/* The mutex is held. `add` makes it the most recently used of all. */
void index_cache_add(struct index_cache *cache, struct index_entry *entry);
/* NULL: none. Waits while a thread is opening it. */
struct index_entry *index_cache_find(struct index_cache *cache, const struct digest *key);
/* The file is gone or about to be; who holds its map keeps it. */
void index_cache_forget(struct index_cache *cache, struct index_entry *entry,
                        struct index_handle_list *dead);
/* Removes files, the least recently used first, while there is too much; never `keep`. */
void index_cache_evict_files(struct index_cache *cache, const struct index_entry *keep,
                             struct index_handle_list *dead);
void index_cache_unlock(struct index_cache *cache, struct index_handle_list *dead);

/* At start: enters the files that are there, in the order of their last use. */
enum err index_cache_scan(struct index_cache *cache, struct error *error);
