#include "cache/blob_reader.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "cache/blob_store_internal.h"

#define PIECE_SIZE BLOB_FRAME_SIZE

struct blob_reader {
    struct blob_store *store;
    struct digest digest;
    struct blob_file file; /* of a raw one */
    int fd;                /* of a raw blob; else -1 */
    uint64_t size;
    struct blob_frames *frames; /* of a compressed one; else NULL */
};

static enum err open_raw(struct blob_reader *reader, int fd, struct error *error) {
    struct stat status;
    reader->fd = fd;
    if (fstat(fd, &status) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot stat a blob");
    reader->size = (uint64_t)status.st_size;
    reader->file = (struct blob_file){status.st_ino, status.st_ctim, reader->size};
    return ERR_OK;
}

static enum err open_compressed(struct blob_reader *reader, struct blob_store *store,
                                const struct digest *digest, struct error *error) {
    CLEANUP(cleanup_fd) int fd = -1;
    struct digest_place place = digest_place_of(digest, BLOB_COMPRESSED_SUFFIX);
    enum err err = blob_store_open_file(store, &place, &fd, error);
    if (err == ERR_OK)
        err = blob_frames_open(fd, &reader->frames, error);
    if (err != ERR_OK)
        return err;
    (void)TAKE_FD(fd);
    reader->size = blob_frames_raw_size(reader->frames);
    return ERR_OK;
}

/* The raw file is looked for first: it goes away only after the compressed one has appeared. */
enum err blob_reader_open(struct blob_store *store, const struct digest *digest,
                          struct blob_reader **ret_reader, struct error *error) {
    CLEANUP(cleanup_blob_reader) struct blob_reader *reader = malloc(sizeof(*reader));
    if (!reader)
        return error_set(error, ERR_NO_MEMORY, "no memory for a blob reader");
    *reader = (struct blob_reader){.store = store, .digest = *digest, .fd = -1};
    struct digest_place place = digest_place_of(digest, "");
    int fd = -1;
    enum err err = blob_store_open_file(store, &place, &fd, error);
    if (err == ERR_OK)
        err = open_raw(reader, fd, error);
    else if (err == ERR_NOT_FOUND)
        err = open_compressed(reader, store, digest, error);
    if (err == ERR_OK)
        *ret_reader = TAKE(reader);
    return err;
}

void blob_reader_free(struct blob_reader *reader) {
    if (!reader)
        return;
    fd_close(reader->fd);
    blob_frames_free(reader->frames);
    free(reader);
}

uint64_t blob_reader_size(const struct blob_reader *reader) {
    return reader->size;
}

static enum err read_raw(struct blob_reader *reader, uint64_t offset, void *bytes, size_t size,
                         struct error *error) {
    if (offset > reader->size || size > reader->size - offset)
        return error_set(error, ERR_INVALID, "a range past the end of a blob of %llu bytes",
                         (unsigned long long)reader->size);
    char *next = bytes;
    while (size > 0) {
        ssize_t count = pread(reader->fd, next, size, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return error_set_errno(error, ERR_IO, errno, "cannot read a blob");
        if (count == 0)
            return error_set(error, ERR_DAMAGED, "a stored blob is damaged: it ends early");
        next += count;
        offset += (uint64_t)count;
        size -= (size_t)count;
    }
    return ERR_OK;
}

enum err blob_reader_read(struct blob_reader *reader, uint64_t offset, void *bytes, size_t size,
                          struct error *error) {
    if (reader->frames)
        return blob_frames_read(reader->frames, offset, bytes, size, error);
    return read_raw(reader, offset, bytes, size, error);
}

enum err blob_reader_copy(struct blob_reader *reader, int out, struct error *error) {
    CLEANUP(cleanup_free) char *piece = malloc(PIECE_SIZE);
    if (!piece)
        return error_set(error, ERR_NO_MEMORY, "no memory to read a blob");
    struct hash_sha256 hash;
    hash_sha256_init(&hash);
    uint64_t left = reader->size;
    uint64_t offset = 0;
    while (left > 0) {
        size_t size = left < PIECE_SIZE ? (size_t)left : PIECE_SIZE;
        enum err err = blob_reader_read(reader, offset, piece, size, error);
        if (err == ERR_OK && out >= 0)
            err = fd_write_all(out, piece, size, error);
        if (err != ERR_OK)
            return err;
        hash_sha256_update(&hash, piece, size);
        offset += size;
        left -= size;
    }
    struct digest actual = hash_sha256_final(&hash);
    if (!digest_equal(&actual, &reader->digest))
        return error_set(error, ERR_DAMAGED,
                         "a stored blob is damaged: its bytes have another digest");
    return ERR_OK;
}

static bool same_file(const struct blob_file *a, const struct blob_file *b) {
    return a->inode == b->inode && a->size == b->size && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

static bool was_checked(struct blob_store *store, const struct blob_file *file) {
    bool found = false;
    pthread_mutex_lock(&store->checking);
    for (size_t i = 0; i < ARRAY_SIZE(store->checked); i++)
        found |= same_file(&store->checked[i], file);
    pthread_mutex_unlock(&store->checking);
    return found;
}

static void remember(struct blob_store *store, const struct blob_file *file) {
    pthread_mutex_lock(&store->checking);
    store->checked[store->checked_next++ % ARRAY_SIZE(store->checked)] = *file;
    pthread_mutex_unlock(&store->checking);
}

enum err blob_reader_check(struct blob_reader *reader, struct error *error) {
    if (reader->frames || was_checked(reader->store, &reader->file))
        return ERR_OK;
    enum err err = blob_reader_copy(reader, -1, error);
    if (err == ERR_OK)
        remember(reader->store, &reader->file);
    return err;
}

bool blob_reader_is_compressed(const struct blob_reader *reader) {
    return reader->frames != NULL;
}

int blob_reader_take_fd(struct blob_reader *reader) {
    return TAKE_FD(reader->fd);
}
