#include "cache/index_cache.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cache/index_cache_internal.h"

#define DISK_SIZE_MAX_DEFAULT ((uint64_t)20 << 30)
#define MAPPED_SIZE_MAX_DEFAULT ((uint64_t)4 << 30)

/* The modification time says when a file was last used; it is written at most this often. */
#define TOUCH_INTERVAL_MS 60000

/* Keys are SHA-256 digests of ours, so that any of their bits are as good as a hash. */
static struct index_entry **bucket_of(struct index_cache *cache, const struct digest *key) {
    uint32_t bits = 0;
    memcpy(&bits, key->bytes, sizeof(bits));
    return &cache->buckets[bits % INDEX_BUCKET_COUNT];
}

static struct index_entry *look_up(struct index_cache *cache, const struct digest *key) {
    struct index_entry *entry = *bucket_of(cache, key);
    while (entry && !digest_equal(&entry->key, key))
        entry = entry->next;
    return entry;
}

struct index_entry *index_cache_find(struct index_cache *cache, const struct digest *key) {
    struct index_entry *entry = look_up(cache, key);
    while (entry && entry->opening) {
        pthread_cond_wait(&cache->opened, &cache->mutex);
        entry = look_up(cache, key);
    }
    return entry;
}

enum err index_entry_new(const struct digest *key, uint64_t size, struct index_entry **ret_entry,
                         struct error *error) {
    struct index_entry *entry = calloc(1, sizeof(*entry));
    if (!entry)
        return error_set(error, ERR_NO_MEMORY, "no memory for an index's entry");
    entry->key = *key;
    entry->size = size;
    *ret_entry = entry;
    return ERR_OK;
}

void index_cache_add(struct index_cache *cache, struct index_entry *entry) {
    struct index_entry **bucket = bucket_of(cache, &entry->key);
    entry->next = *bucket;
    *bucket = entry;
    TAILQ_INSERT_TAIL(&cache->used, entry, links);
    cache->stats.disk_size += entry->size;
    cache->stats.disk_count++;
}

static void bury(struct index_cache *cache, struct index_handle *handle,
                 struct index_handle_list *dead) {
    cache->stats.mapped_size -= handle->size;
    cache->stats.mapped_count--;
    TAILQ_INSERT_TAIL(dead, handle, links);
}

static void forget_handle(struct index_cache *cache, struct index_handle *handle,
                          struct index_handle_list *dead) {
    assert(handle->entry);
    handle->entry->handle = NULL;
    handle->entry = NULL;
    if (handle->references == 0) {
        TAILQ_REMOVE(&cache->idle, handle, links);
        bury(cache, handle, dead);
    }
}

void index_cache_forget(struct index_cache *cache, struct index_entry *entry,
                        struct index_handle_list *dead) {
    assert(!entry->opening);
    struct index_entry **link = bucket_of(cache, &entry->key);
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    TAILQ_REMOVE(&cache->used, entry, links);
    cache->stats.disk_size -= entry->size;
    cache->stats.disk_count--;
    if (entry->handle)
        forget_handle(cache, entry->handle, dead);
    free(entry);
}

/* A file that cannot be removed is forgotten nevertheless, and counted again at the next start. */
static void remove_entry(struct index_cache *cache, struct index_entry *entry,
                         struct index_handle_list *dead) {
    struct digest_place place = digest_place_of(&entry->key, INDEX_SUFFIX);
    unlinkat(cache->root, place.path, 0);
    index_cache_forget(cache, entry, dead);
}

void index_cache_evict_files(struct index_cache *cache, const struct index_entry *keep,
                             struct index_handle_list *dead) {
    struct index_entry *entry = TAILQ_FIRST(&cache->used);
    while (entry && cache->stats.disk_size > cache->limits.disk_size_max) {
        struct index_entry *next = TAILQ_NEXT(entry, links);
        if (entry != keep && !entry->opening) {
            remove_entry(cache, entry, dead);
            cache->stats.evictions++;
        }
        entry = next;
    }
}

void index_cache_remove(struct index_cache *cache, const struct digest *key) {
    struct index_handle_list dead = TAILQ_HEAD_INITIALIZER(dead);
    pthread_mutex_lock(&cache->mutex);
    struct index_entry *entry = index_cache_find(cache, key);
    if (entry)
        remove_entry(cache, entry, &dead);
    index_cache_unlock(cache, &dead);
}

static void evict_maps(struct index_cache *cache, struct index_handle_list *dead) {
    struct index_handle *handle;
    while (cache->stats.mapped_size > cache->limits.mapped_size_max &&
           (handle = TAILQ_FIRST(&cache->idle)))
        forget_handle(cache, handle, dead);
}

void index_cache_unlock(struct index_cache *cache, struct index_handle_list *dead) {
    pthread_mutex_unlock(&cache->mutex);
    struct index_handle *handle;
    while ((handle = TAILQ_FIRST(dead))) {
        TAILQ_REMOVE(dead, handle, links);
        index_free(handle->index);
        free(handle);
    }
}

static enum err map_file(struct index_cache *cache, const struct digest *key,
                         struct index **ret_index, struct error *error) {
    struct digest_place place = digest_place_of(key, INDEX_SUFFIX);
    CLEANUP(cleanup_fd) int fd = openat(cache->root, place.path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(error, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno,
                               "cannot open index %s", place.path);
    return index_open_fd(fd, ret_index, error);
}

static enum err make_handle(struct index_cache *cache, const struct digest *key,
                            struct index_handle **ret_handle, struct error *error) {
    struct index_handle *handle = calloc(1, sizeof(*handle));
    if (!handle)
        return error_set(error, ERR_NO_MEMORY, "no memory for an index handle");
    enum err err = map_file(cache, key, &handle->index, error);
    if (err != ERR_OK) {
        free(handle);
        return err;
    }
    handle->cache = cache;
    handle->key = *key;
    handle->size = index_size(handle->index);
    *ret_handle = handle;
    return ERR_OK;
}

static void touch(struct index_cache *cache, const struct digest *key) {
    struct digest_place place = digest_place_of(key, INDEX_SUFFIX);
    utimensat(cache->root, place.path, NULL, 0);
}

static bool is_damage(enum err err) {
    return err == ERR_MALFORMED || err == ERR_UNSUPPORTED || err == ERR_NOT_FOUND;
}

static enum err remove_damaged(struct index_cache *cache, struct index_entry *entry,
                               struct index_handle_list *dead, struct error *error) {
    remove_entry(cache, entry, dead);
    cache->stats.damaged++;
    return error_set(error, ERR_NOT_FOUND, "a damaged index was removed");
}

/* Maps the entry's file with the mutex free meanwhile. */
static enum err open_entry(struct index_cache *cache, struct index_entry *entry,
                           struct index_handle_list *dead, struct error *error) {
    struct index_handle *handle = NULL;
    entry->opening = true;
    pthread_mutex_unlock(&cache->mutex);
    enum err err = make_handle(cache, &entry->key, &handle, error);
    pthread_mutex_lock(&cache->mutex);
    entry->opening = false;
    pthread_cond_broadcast(&cache->opened);
    if (is_damage(err)) {
        return remove_damaged(cache, entry, dead, error);
    }
    if (err != ERR_OK)
        return err;
    assert(handle);
    handle->entry = entry;
    entry->handle = handle;
    TAILQ_INSERT_TAIL(&cache->idle, handle, links);
    cache->stats.opens++;
    cache->stats.mapped_size += handle->size;
    cache->stats.mapped_count++;
    return ERR_OK;
}

/* No signal comes of the last page of a file that now ends within it, so the size is looked at as
 * well. A file that was removed keeps what its maps have. */
static bool is_intact(struct index_cache *cache, const struct index_handle *handle) {
    struct digest_place place = digest_place_of(&handle->key, INDEX_SUFFIX);
    struct stat status;
    if (!index_is_intact(handle->index))
        return false;
    return !handle->entry || fstatat(cache->root, place.path, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
           (uint64_t)status.st_size == handle->size;
}

/* The entry's map, opened when it is not yet; of several threads that want it one opens it. */
static enum err find_map(struct index_cache *cache, const struct digest *key,
                         struct index_entry **ret_entry, struct index_handle_list *dead,
                         struct error *error) {
    struct index_entry *entry = index_cache_find(cache, key);
    if (!entry)
        return error_set(error, ERR_NOT_FOUND, "no such index");
    if (entry->handle && !is_intact(cache, entry->handle))
        return remove_damaged(cache, entry, dead, error);
    if (entry->handle) {
        cache->stats.hits++;
    } else {
        enum err err = open_entry(cache, entry, dead, error);
        if (err != ERR_OK)
            return err;
    }
    *ret_entry = entry;
    return ERR_OK;
}

/* Takes the entry's map for a caller; true when the file should be touched. */
static bool use_entry(struct index_cache *cache, struct index_entry *entry) {
    struct index_handle *handle = entry->handle;
    if (handle->references++ == 0)
        TAILQ_REMOVE(&cache->idle, handle, links);
    TAILQ_REMOVE(&cache->used, entry, links);
    TAILQ_INSERT_TAIL(&cache->used, entry, links);
    int64_t now_ms = clock_mono_ms();
    if (entry->touched_ms != 0 && now_ms - entry->touched_ms < TOUCH_INTERVAL_MS)
        return false;
    entry->touched_ms = now_ms;
    return true;
}

enum err index_cache_acquire(struct index_cache *cache, const struct digest *key,
                             struct index_handle **ret_handle, struct error *error) {
    struct index_handle_list dead = TAILQ_HEAD_INITIALIZER(dead);
    struct index_entry *entry = NULL;
    bool is_due = false;
    pthread_mutex_lock(&cache->mutex);
    enum err err = find_map(cache, key, &entry, &dead, error);
    if (err == ERR_OK) {
        assert(entry && entry->handle);
        is_due = use_entry(cache, entry);
        *ret_handle = entry->handle;
        evict_maps(cache, &dead);
    } else if (err == ERR_NOT_FOUND) {
        cache->stats.misses++;
    }
    index_cache_unlock(cache, &dead);
    if (is_due)
        touch(cache, key);
    return err;
}

const struct index *index_handle_index(const struct index_handle *handle) {
    return handle->index;
}

bool index_handle_is_intact(struct index_handle *handle) {
    struct index_cache *cache = handle->cache;
    struct index_handle_list dead = TAILQ_HEAD_INITIALIZER(dead);
    struct error removed;
    pthread_mutex_lock(&cache->mutex);
    bool intact = is_intact(cache, handle);
    if (!intact && handle->entry)
        remove_damaged(cache, handle->entry, &dead, &removed);
    index_cache_unlock(cache, &dead);
    return intact;
}

void index_handle_release(struct index_handle *handle) {
    if (!handle)
        return;
    struct index_cache *cache = handle->cache;
    struct index_handle_list dead = TAILQ_HEAD_INITIALIZER(dead);
    pthread_mutex_lock(&cache->mutex);
    assert(handle->references > 0);
    if (--handle->references == 0) {
        if (handle->entry)
            TAILQ_INSERT_TAIL(&cache->idle, handle, links);
        else
            bury(cache, handle, &dead);
        evict_maps(cache, &dead);
    }
    index_cache_unlock(cache, &dead);
}

static enum err open_files(struct index_cache *cache, int data_directory, struct error *error) {
    uint64_t removed = 0;
    enum err err = digest_files_open_root(data_directory, "index", &cache->root, error);
    if (err == ERR_OK)
        err = digest_files_open_folder(cache->root, "tmp", &cache->temp, error);
    if (err == ERR_OK)
        err = digest_files_sweep(cache->temp, &removed, error);
    return err == ERR_OK ? index_cache_scan(cache, error) : err;
}

static struct index_cache_limits complete(const struct index_cache_limits *limits) {
    struct index_cache_limits full = *limits;
    if (full.disk_size_max == 0)
        full.disk_size_max = DISK_SIZE_MAX_DEFAULT;
    if (full.mapped_size_max == 0)
        full.mapped_size_max = MAPPED_SIZE_MAX_DEFAULT;
    return full;
}

void index_cache_limit(struct index_cache *cache, const struct index_cache_limits *limits) {
    struct index_handle_list dead = TAILQ_HEAD_INITIALIZER(dead);
    pthread_mutex_lock(&cache->mutex);
    cache->limits = complete(limits);
    index_cache_evict_files(cache, NULL, &dead);
    evict_maps(cache, &dead);
    index_cache_unlock(cache, &dead);
}

enum err index_cache_open(int data_directory, const struct index_cache_limits *limits,
                          struct index_cache **ret_cache, struct error *error) {
    CLEANUP(cleanup_index_cache) struct index_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return error_set(error, ERR_NO_MEMORY, "no memory for the index cache");
    cache->root = cache->temp = -1;
    cache->limits = complete(limits);
    pthread_mutex_init(&cache->mutex, NULL);
    pthread_cond_init(&cache->opened, NULL);
    TAILQ_INIT(&cache->used);
    TAILQ_INIT(&cache->idle);
    enum err err = open_files(cache, data_directory, error);
    if (err == ERR_OK)
        *ret_cache = TAKE(cache);
    return err;
}

void index_cache_free(struct index_cache *cache) {
    if (!cache)
        return;
    struct index_handle_list dead = TAILQ_HEAD_INITIALIZER(dead);
    pthread_mutex_lock(&cache->mutex);
    struct index_entry *entry;
    while ((entry = TAILQ_FIRST(&cache->used)))
        index_cache_forget(cache, entry, &dead);
    index_cache_unlock(cache, &dead);
    assert(cache->stats.mapped_count == 0); /* a handle points into the cache */
    pthread_cond_destroy(&cache->opened);
    pthread_mutex_destroy(&cache->mutex);
    fd_close(cache->root);
    fd_close(cache->temp);
    free(cache);
}

void index_cache_stats_read(struct index_cache *cache, struct index_cache_stats *ret_stats) {
    pthread_mutex_lock(&cache->mutex);
    *ret_stats = cache->stats;
    pthread_mutex_unlock(&cache->mutex);
}
