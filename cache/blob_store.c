#include "cache/blob_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "cache/blob_reader.h"
#include "cache/blob_store_internal.h"

/* How often the disk is told to begin, so that little is left to be written at the end. */
#define START_SYNC_SIZE ((uint64_t)8 << 20)

enum writer_state { WRITER_OPEN, WRITER_SEALED, WRITER_PUBLISHED, WRITER_BROKEN };

struct blob_writer {
    struct blob_store *store;
    enum writer_state state;
    struct temp_file file;
    int fd; /* for writing; -1 once sealed */
    uint64_t size;
    uint64_t size_max;
    struct hash_sha256 hash;
    struct digest digest; /* once sealed */
};

enum err blob_store_open(int data_directory, struct blob_store **ret_store, struct error *error) {
    CLEANUP(cleanup_blob_store) struct blob_store *store = malloc(sizeof(*store));
    if (!store)
        return error_set(error, ERR_NO_MEMORY, "no memory for a blob store");
    *store = (struct blob_store){.blobs = -1, .temp = -1, .lost = -1};
    pthread_mutex_init(&store->replacing, NULL);
    pthread_mutex_init(&store->checking, NULL);
    enum err err = digest_files_open_folder(data_directory, "tmp", &store->temp, error);
    if (err == ERR_OK)
        err = digest_files_open_root(data_directory, "blobs", &store->blobs, error);
    if (err == ERR_OK)
        err = digest_files_open_folder(data_directory, "lost", &store->lost, error);
    if (err == ERR_OK)
        *ret_store = TAKE(store);
    return err;
}

void blob_store_free(struct blob_store *store) {
    if (!store)
        return;
    fd_close(store->blobs);
    fd_close(store->temp);
    fd_close(store->lost);
    pthread_mutex_destroy(&store->replacing);
    pthread_mutex_destroy(&store->checking);
    free(store);
}

enum err blob_store_sweep(struct blob_store *store, uint64_t *ret_removed, struct error *error) {
    return digest_files_sweep(store->temp, ret_removed, error);
}

enum err blob_writer_open(struct blob_store *store, uint64_t size_max,
                          struct blob_writer **ret_writer, struct error *error) {
    CLEANUP(cleanup_blob_writer) struct blob_writer *writer = malloc(sizeof(*writer));
    if (!writer)
        return error_set(error, ERR_NO_MEMORY, "no memory for a blob writer");
    *writer = (struct blob_writer){.store = store, .fd = -1, .size_max = size_max};
    hash_sha256_init(&writer->hash);
    enum err err = temp_file_open(store->temp, &writer->file, &writer->fd, error);
    if (err != ERR_OK)
        return err;
    FAULT_POINT("blob.after_open");
    *ret_writer = TAKE(writer);
    return ERR_OK;
}

/* Gives the space back at once: on a full disk others wait for it. */
static void drop_temp(struct blob_writer *writer) {
    temp_file_remove(&writer->file);
    writer->fd = fd_close(writer->fd);
}

static enum err writer_broken(struct blob_writer *writer, struct error *error) {
    drop_temp(writer);
    writer->state = WRITER_BROKEN;
    return error_prefix(error, "upload after %llu bytes", (unsigned long long)writer->size);
}

/* Begins to write back all whole pieces that this append has completed, and does not wait for it;
 * should it fail, fsync tells. */
static void start_sync(const struct blob_writer *writer, uint64_t size_before) {
    uint64_t from = size_before / START_SYNC_SIZE * START_SYNC_SIZE;
    uint64_t to = writer->size / START_SYNC_SIZE * START_SYNC_SIZE;
    if (to > from)
        sync_file_range(writer->fd, (off_t)from, (off_t)(to - from), SYNC_FILE_RANGE_WRITE);
}

enum err blob_writer_append(struct blob_writer *writer, const void *bytes, size_t size,
                            struct error *error) {
    if (writer->state != WRITER_OPEN)
        return error_set(error, ERR_STATE, "this upload takes no more bytes");
    if (size > writer->size_max - writer->size)
        return error_set(error, ERR_LIMIT, "more than the declared %llu bytes",
                         (unsigned long long)writer->size_max);
    if (fd_write_all(writer->fd, bytes, size, error) != ERR_OK)
        return writer_broken(writer, error);
    hash_sha256_update(&writer->hash, bytes, size);
    writer->size += size;
    start_sync(writer, writer->size - size);
    FAULT_POINT("blob.after_write");
    return ERR_OK;
}

uint64_t blob_writer_size(const struct blob_writer *writer) {
    return writer->size;
}

enum err blob_writer_seal(struct blob_writer *writer, struct digest *ret_digest,
                          struct error *error) {
    if (writer->state != WRITER_OPEN)
        return error_set(error, ERR_STATE, "this upload was sealed or failed before");
    if (fsync(writer->fd) < 0) {
        error_set_errno(error, err_of_errno(errno), errno, "cannot sync");
        return writer_broken(writer, error);
    }
    FAULT_POINT("blob.after_fsync");
    writer->fd = fd_close(writer->fd);
    writer->digest = hash_sha256_final(&writer->hash);
    writer->state = WRITER_SEALED;
    *ret_digest = writer->digest;
    return ERR_OK;
}

enum err blob_writer_open_sealed(struct blob_writer *writer, int *ret_fd, struct error *error) {
    if (writer->state == WRITER_PUBLISHED)
        return blob_store_open_blob(writer->store, &writer->digest, ret_fd, error);
    if (writer->state != WRITER_SEALED)
        return error_set(error, ERR_STATE, "this upload is not sealed");
    int fd = openat(writer->file.directory, writer->file.name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot open the sealed upload");
    *ret_fd = fd;
    return ERR_OK;
}

/* Equal bytes have an equal name, so that replacing what may be there changes nothing, makes it
 * durable whoever came first, and heals a blob that the disk has damaged. */
enum err blob_writer_publish(struct blob_writer *writer, struct error *error) {
    if (writer->state == WRITER_PUBLISHED)
        return ERR_OK;
    if (writer->state != WRITER_SEALED)
        return error_set(error, ERR_STATE, "this upload is not sealed");
    struct digest_place place = digest_place_of(&writer->digest, "");
    enum err err = temp_file_move(&writer->file, writer->store->blobs, &place, error);
    if (err == ERR_OK)
        err = digest_files_sync(writer->store->blobs, &place, error);
    if (err != ERR_OK) {
        writer->state = WRITER_BROKEN;
        return err;
    }
    FAULT_POINT("blob.after_publish");
    writer->state = WRITER_PUBLISHED;
    return ERR_OK;
}

void blob_writer_free(struct blob_writer *writer) {
    if (!writer)
        return;
    drop_temp(writer);
    free(writer);
}

enum err blob_store_open_file(struct blob_store *store, const struct digest_place *place,
                              int *ret_fd, struct error *error) {
    int fd = openat(store->blobs, place->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return error_set(error, ERR_NOT_FOUND, "no blob %s", place->path);
    if (fd < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot open blob %s", place->path);
    *ret_fd = fd;
    return ERR_OK;
}

/* On disk rather than in memory: a blob may be larger than what there is of it. The file has no
 * name any more when the caller gets it. */
static enum err open_inflated(struct blob_store *store, struct blob_reader *reader, int *ret_fd,
                              struct error *error) {
    CLEANUP(temp_file_remove) struct temp_file file = {0};
    CLEANUP(cleanup_fd) int out = -1;
    enum err err = temp_file_open(store->temp, &file, &out, error);
    if (err == ERR_OK)
        err = blob_reader_copy(reader, out, error);
    if (err != ERR_OK)
        return err;
    int fd = openat(store->temp, file.name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot open an inflated blob");
    *ret_fd = fd;
    return ERR_OK;
}

enum err blob_store_open_blob(struct blob_store *store, const struct digest *digest, int *ret_fd,
                              struct error *error) {
    CLEANUP(cleanup_blob_reader) struct blob_reader *reader = NULL;
    enum err err = blob_reader_open(store, digest, &reader, error);
    if (err != ERR_OK)
        return err;
    if (blob_reader_is_compressed(reader))
        return open_inflated(store, reader, ret_fd, error);
    err = blob_reader_copy(reader, -1, error);
    if (err == ERR_OK)
        *ret_fd = blob_reader_take_fd(reader);
    return err;
}

/* True in *ret_removed when there was such a file. */
static enum err remove_file(struct blob_store *store, const struct digest_place *place,
                            bool *ret_removed, struct error *error) {
    if (unlinkat(store->blobs, place->path, 0) == 0)
        *ret_removed = true;
    else if (errno != ENOENT)
        return error_set_errno(error, ERR_IO, errno, "cannot remove blob %s", place->path);
    return ERR_OK;
}

enum err blob_store_remove(struct blob_store *store, const struct digest *digest,
                           struct error *error) {
    struct digest_place raw = digest_place_of(digest, "");
    struct digest_place compressed = digest_place_of(digest, BLOB_COMPRESSED_SUFFIX);
    bool removed = false;
    pthread_mutex_lock(&store->replacing);
    enum err err = remove_file(store, &raw, &removed, error);
    if (err == ERR_OK)
        err = remove_file(store, &compressed, &removed, error);
    pthread_mutex_unlock(&store->replacing);
    if (err != ERR_OK)
        return err;
    if (!removed)
        return error_set(error, ERR_NOT_FOUND, "no blob %s", raw.path);
    return digest_files_sync(store->blobs, &raw, error);
}
