#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/index_cache_internal.h"

/* What the scan at start has found. */
struct found {
    struct index_entry *entry;
    struct timespec used;
};

struct scan {
    struct found *found;
    size_t count;
    size_t capacity;
};

static void cleanup_scan(struct scan *scan) {
    for (size_t i = 0; i < scan->count; i++)
        free(scan->found[i].entry);
    free(scan->found);
}

static enum err add_found(struct scan *scan, const struct digest *key, const struct stat *status,
                          struct error *error) {
    if (scan->count == scan->capacity) {
        size_t capacity = scan->capacity ? 2 * scan->capacity : 1024;
        struct found *grown = reallocarray(scan->found, capacity, sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu indexes", capacity);
        scan->found = grown;
        scan->capacity = capacity;
    }
    struct found *found = &scan->found[scan->count];
    found->used = status->st_mtim;
    enum err err = index_entry_new(key, (uint64_t)status->st_size, &found->entry, error);
    scan->count += err == ERR_OK;
    return err;
}

/* Files of another format version are removed: they can be built again. What is not ours stays. */
static enum err visit_file(void *argument, const struct digest_file *file, struct error *error) {
    if (strcmp(file->suffix, INDEX_SUFFIX) == 0)
        return add_found(argument, &file->digest, &file->status, error);
    if (file->suffix[0] == '.')
        unlinkat(file->directory, file->name, 0);
    return ERR_OK;
}

struct present {
    digest_file_visitor *visitor;
    void *argument;
};

static enum err visit_present(void *argument, const struct digest_file *file, struct error *error) {
    const struct present *present = argument;
    bool is_ours = strcmp(file->suffix, INDEX_SUFFIX) == 0;
    return is_ours ? present->visitor(present->argument, file, error) : ERR_OK;
}

enum err index_cache_visit(struct index_cache *cache, digest_file_visitor *visitor, void *argument,
                           struct error *error) {
    struct present present = {visitor, argument};
    return digest_files_visit(cache->root, visit_present, &present, error);
}

static int compare_use(const void *a, const void *b) {
    const struct timespec *left = &((const struct found *)a)->used;
    const struct timespec *right = &((const struct found *)b)->used;
    if (left->tv_sec != right->tv_sec)
        return left->tv_sec < right->tv_sec ? -1 : 1;
    return (left->tv_nsec > right->tv_nsec) - (left->tv_nsec < right->tv_nsec);
}

enum err index_cache_scan(struct index_cache *cache, struct error *error) {
    CLEANUP(cleanup_scan) struct scan scan = {0};
    enum err err = digest_files_visit(cache->root, visit_file, &scan, error);
    if (err != ERR_OK)
        return err;
    if (scan.count > 0)
        qsort(scan.found, scan.count, sizeof(*scan.found), compare_use);
    for (size_t i = 0; i < scan.count; i++)
        index_cache_add(cache, scan.found[i].entry);
    scan.count = 0;
    struct index_handle_list dead = TAILQ_HEAD_INITIALIZER(dead);
    index_cache_evict_files(cache, NULL, &dead);
    return ERR_OK;
}
