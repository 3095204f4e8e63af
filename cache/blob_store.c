#include "cache/blob_store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"

#define TEMP_NAME_SIZE 33 /* 32 hex digits and NUL */
#define FOLDER_COUNT 256
#define FOLDER_NAME_SIZE 3

struct blob_store {
    int blobs;
    int temp;
};

enum writer_state { WRITER_OPEN, WRITER_SEALED, WRITER_PUBLISHED, WRITER_BROKEN };

struct blob_writer {
    struct blob_store *store;
    enum writer_state state;
    int fd; /* for writing; -1 once sealed */
    uint64_t size;
    uint64_t size_max;
    struct hash_sha256 hash;
    struct digest digest; /* once sealed */
    char name[TEMP_NAME_SIZE];
};

/* Where a digest lives: folder/name. */
struct place {
    char folder[FOLDER_NAME_SIZE];
    char name[DIGEST_HEX_SIZE];
};

static struct place place_of(const struct digest *digest) {
    char hex[DIGEST_HEX_SIZE];
    digest_to_hex(digest, hex);
    struct place place = {0};
    memcpy(place.folder, hex, FOLDER_NAME_SIZE - 1);
    strcpy(place.name, hex + FOLDER_NAME_SIZE - 1);
    return place;
}

static enum err open_folder(int parent, const char *name, int *ret_fd, struct error *error) {
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot open directory %s", name);
    *ret_fd = fd;
    return ERR_OK;
}

static enum err make_folder(int parent, const char *name, int *ret_fd, struct error *error) {
    enum err err = fd_make_directory(parent, name, error);
    return err == ERR_OK ? open_folder(parent, name, ret_fd, error) : err;
}

static enum err sync_folder(int fd, const char *name, struct error *error) {
    if (fsync(fd) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot sync directory %s", name);
    return ERR_OK;
}

/* All folders exist and are on disk before the first blob, so that publishing has one directory
 * entry to make durable and no race about who makes the folder. */
static enum err make_folders(struct blob_store *store, int data_directory, struct error *error) {
    enum err err = make_folder(data_directory, "blobs", &store->blobs, error);
    if (err == ERR_OK)
        err = make_folder(data_directory, "tmp", &store->temp, error);
    for (unsigned i = 0; err == ERR_OK && i < FOLDER_COUNT; i++) {
        char name[FOLDER_NAME_SIZE];
        snprintf(name, sizeof(name), "%02x", i & 0xffu);
        err = fd_make_directory(store->blobs, name, error);
    }
    if (err == ERR_OK)
        err = sync_folder(store->blobs, "blobs", error);
    if (err == ERR_OK)
        err = sync_folder(data_directory, "of the data", error);
    return err;
}

enum err blob_store_open(int data_directory, struct blob_store **ret_store, struct error *error) {
    CLEANUP(cleanup_blob_store) struct blob_store *store = malloc(sizeof(*store));
    if (!store)
        return error_set(error, ERR_NO_MEMORY, "no memory for a blob store");
    *store = (struct blob_store){.blobs = -1, .temp = -1};
    enum err err = make_folders(store, data_directory, error);
    if (err == ERR_OK)
        *ret_store = TAKE(store);
    return err;
}

void blob_store_free(struct blob_store *store) {
    if (!store)
        return;
    fd_close(store->blobs);
    fd_close(store->temp);
    free(store);
}

static void close_directory(DIR **directory) {
    if (*directory)
        closedir(*directory);
}

enum err blob_store_sweep(struct blob_store *store, uint64_t *ret_removed, struct error *error) {
    CLEANUP(cleanup_fd) int fd = -1;
    enum err err = open_folder(store->temp, ".", &fd, error);
    if (err != ERR_OK)
        return err;
    CLEANUP(close_directory) DIR *directory = fdopendir(fd);
    if (!directory)
        return error_set_errno(error, ERR_IO, errno, "cannot list tmp");
    (void)TAKE_FD(fd);
    uint64_t removed = 0;
    struct dirent *entry;
    while ((errno = 0, entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(store->temp, entry->d_name, 0) < 0)
            return error_set_errno(error, ERR_IO, errno, "cannot remove tmp/%s", entry->d_name);
        removed++;
    }
    if (errno != 0)
        return error_set_errno(error, ERR_IO, errno, "cannot list tmp");
    *ret_removed = removed;
    return ERR_OK;
}

static enum err open_temp(struct blob_writer *writer, struct error *error) {
    uint8_t random[(TEMP_NAME_SIZE - 1) / 2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return error_set_errno(error, ERR_IO, errno, "no random bytes for a name");
    char name[TEMP_NAME_SIZE];
    hex_encode(span_of(random, sizeof(random)), name);
    int fd = openat(writer->store->temp, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(error, errno == ENOSPC ? ERR_EXHAUSTED : ERR_IO, errno,
                               "cannot make a temporary file");
    writer->fd = fd;
    memcpy(writer->name, name, sizeof(name));
    return ERR_OK;
}

enum err blob_writer_open(struct blob_store *store, uint64_t size_max,
                          struct blob_writer **ret_writer, struct error *error) {
    CLEANUP(cleanup_blob_writer) struct blob_writer *writer = malloc(sizeof(*writer));
    if (!writer)
        return error_set(error, ERR_NO_MEMORY, "no memory for a blob writer");
    *writer = (struct blob_writer){.store = store, .fd = -1, .size_max = size_max};
    hash_sha256_init(&writer->hash);
    enum err err = open_temp(writer, error);
    if (err != ERR_OK)
        return err;
    FAULT_POINT("blob.after_open");
    *ret_writer = TAKE(writer);
    return ERR_OK;
}

/* Gives the space back at once: on a full disk others wait for it. */
static void drop_temp(struct blob_writer *writer) {
    if (writer->name[0] != '\0')
        unlinkat(writer->store->temp, writer->name, 0);
    writer->name[0] = '\0';
    writer->fd = fd_close(writer->fd);
}

static enum err writer_broken(struct blob_writer *writer, struct error *error) {
    drop_temp(writer);
    writer->state = WRITER_BROKEN;
    int number = error->sys_errno;
    if (number == ENOSPC || number == EDQUOT)
        return error_set_errno(error, ERR_EXHAUSTED, number,
                               "no space for an upload after %llu bytes",
                               (unsigned long long)writer->size);
    return error_prefix(error, "upload after %llu bytes", (unsigned long long)writer->size);
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
        error_set_errno(error, ERR_IO, errno, "cannot sync");
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
    int fd = openat(writer->store->temp, writer->name, O_RDONLY | O_CLOEXEC);
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
    struct place place = place_of(&writer->digest);
    CLEANUP(cleanup_fd) int folder = -1;
    enum err err = open_folder(writer->store->blobs, place.folder, &folder, error);
    if (err == ERR_OK)
        err = fd_publish(writer->store->temp, writer->name, folder, place.name, error);
    if (err != ERR_OK)
        return err;
    FAULT_POINT("blob.after_publish");
    writer->state = WRITER_PUBLISHED;
    writer->name[0] = '\0';
    return ERR_OK;
}

void blob_writer_free(struct blob_writer *writer) {
    if (!writer)
        return;
    drop_temp(writer);
    free(writer);
}

enum err blob_store_open_blob(struct blob_store *store, const struct digest *digest, int *ret_fd,
                              struct error *error) {
    struct place place = place_of(digest);
    char path[FOLDER_NAME_SIZE + DIGEST_HEX_SIZE];
    snprintf(path, sizeof(path), "%s/%s", place.folder, place.name);
    int fd = openat(store->blobs, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return error_set(error, ERR_NOT_FOUND, "no blob %s", path);
    if (fd < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot open blob %s", path);
    *ret_fd = fd;
    return ERR_OK;
}

enum err blob_store_remove(struct blob_store *store, const struct digest *digest,
                           struct error *error) {
    struct place place = place_of(digest);
    CLEANUP(cleanup_fd) int folder = -1;
    enum err err = open_folder(store->blobs, place.folder, &folder, error);
    if (err != ERR_OK)
        return err;
    if (unlinkat(folder, place.name, 0) < 0) {
        if (errno == ENOENT)
            return error_set(error, ERR_NOT_FOUND, "no blob %s%s", place.folder, place.name);
        return error_set_errno(error, ERR_IO, errno, "cannot remove blob %s%s", place.folder,
                               place.name);
    }
    return sync_folder(folder, place.folder, error);
}
