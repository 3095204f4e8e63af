#include "cache/blob_lost.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "cache/blob_store_internal.h"

enum err blob_store_visit(struct blob_store *store, digest_file_visitor *visitor, void *argument,
                          struct error *error) {
    return digest_files_visit(store->blobs, visitor, argument, error);
}

/* Its time is then that of the move, from which its stay in lost/ counts. */
static enum err move_file(struct blob_store *store, const struct digest_place *place,
                          uint64_t *ret_size, bool *ret_moved, struct error *error) {
    char name[sizeof(place->path)];
    struct stat status;
    snprintf(name, sizeof(name), "%s%s", place->folder, place->name);
    if (fstatat(store->blobs, place->path, &status, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
        return ERR_OK;
    if (utimensat(store->blobs, place->path, NULL, 0) < 0 ||
        renameat(store->blobs, place->path, store->lost, name) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot set blob %s aside", place->path);
    *ret_size += (uint64_t)status.st_size;
    *ret_moved = true;
    return ERR_OK;
}

enum err blob_store_set_aside(struct blob_store *store, const struct digest *digest,
                              uint64_t *ret_size, struct error *error) {
    struct digest_place raw = digest_place_of(digest, "");
    struct digest_place compressed = digest_place_of(digest, BLOB_COMPRESSED_SUFFIX);
    bool moved = false;
    uint64_t size = 0;
    pthread_mutex_lock(&store->replacing);
    enum err err = move_file(store, &raw, &size, &moved, error);
    if (err == ERR_OK)
        err = move_file(store, &compressed, &size, &moved, error);
    pthread_mutex_unlock(&store->replacing);
    if (err != ERR_OK)
        return err;
    if (!moved)
        return error_set(error, ERR_NOT_FOUND, "no blob %s", raw.path);
    FAULT_POINT("blob.after_set_aside");
    *ret_size = size;
    return ERR_OK;
}

struct emptying {
    int64_t before_ms;
    uint64_t count;
    uint64_t size;
};

static enum err remove_old(void *argument, int directory, const char *name, struct error *error) {
    struct emptying *emptying = argument;
    struct stat status;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot stat lost/%s", name);
    if (!S_ISREG(status.st_mode) || (int64_t)status.st_mtim.tv_sec * 1000 > emptying->before_ms)
        return ERR_OK;
    if (unlinkat(directory, name, 0) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot remove lost/%s", name);
    emptying->count++;
    emptying->size += (uint64_t)status.st_size;
    return ERR_OK;
}

enum err blob_store_empty_lost(struct blob_store *store, int64_t before_ms, uint64_t *ret_count,
                               uint64_t *ret_size, struct error *error) {
    struct emptying emptying = {.before_ms = before_ms};
    enum err err = directory_visit(store->lost, ".", remove_old, &emptying, error);
    *ret_count = emptying.count;
    *ret_size = emptying.size;
    return err;
}
