#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "cache/index_cache_internal.h"

struct index_output {
    struct index_cache *cache;
    struct digest key;
    struct temp_file file;
    int fd;
};

enum err index_output_open(struct index_cache *cache, const struct digest *key,
                           struct index_output **ret_output, struct error *error) {
    CLEANUP(cleanup_index_output) struct index_output *output = malloc(sizeof(*output));
    if (!output)
        return error_set(error, ERR_NO_MEMORY, "no memory for an index output");
    *output = (struct index_output){.cache = cache, .key = *key, .fd = -1};
    enum err err = temp_file_open(cache->temp, &output->file, &output->fd, error);
    if (err != ERR_OK)
        return err;
    FAULT_POINT("index.after_open");
    *ret_output = TAKE(output);
    return ERR_OK;
}

int index_output_fd(const struct index_output *output) {
    return output->fd;
}

static enum err sync_output(struct index_output *output, uint64_t *ret_size, struct error *error) {
    struct stat status;
    if (fsync(output->fd) < 0 || fstat(output->fd, &status) < 0)
        return error_set_errno(error, err_of_errno(errno), errno, "cannot sync an index");
    FAULT_POINT("index.after_fsync");
    *ret_size = (uint64_t)status.st_size;
    return ERR_OK;
}

/* File and entry change under one lock, so that nobody maps the one for the other. */
static enum err enter_output(struct index_output *output, struct index_entry *entry,
                             const struct digest_place *place, struct error *error) {
    struct index_cache *cache = output->cache;
    struct index_handle_list dead = TAILQ_HEAD_INITIALIZER(dead);
    pthread_mutex_lock(&cache->mutex);
    struct index_entry *old = index_cache_find(cache, &entry->key);
    enum err err = temp_file_move(&output->file, cache->root, place, error);
    if (err == ERR_OK) {
        if (old)
            index_cache_forget(cache, old, &dead);
        index_cache_add(cache, entry);
        index_cache_evict_files(cache, entry, &dead);
    }
    index_cache_unlock(cache, &dead);
    return err;
}

enum err index_output_publish(struct index_output *output, struct error *error) {
    uint64_t size = 0;
    struct index_entry *entry = NULL;
    struct digest_place place = digest_place_of(&output->key, INDEX_SUFFIX);
    enum err err = sync_output(output, &size, error);
    if (err == ERR_OK)
        err = index_entry_new(&output->key, size, &entry, error);
    if (err != ERR_OK)
        return err;
    err = enter_output(output, entry, &place, error);
    if (err != ERR_OK) {
        free(entry);
        return err;
    }
    err = digest_files_sync(output->cache->root, &place, error);
    FAULT_POINT("index.after_publish");
    return err;
}

void index_output_free(struct index_output *output) {
    if (!output)
        return;
    temp_file_remove(&output->file);
    fd_close(output->fd);
    free(output);
}
