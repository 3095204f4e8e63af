#include "cache/blob_compress.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "cache/blob_store_internal.h"

/* Less than this part of the size, or less than a block of the disk, is not worth inflating for. */
#define SAVED_PART 16
#define SAVED_MIN 4096

/* A compression on its way. */
struct work {
    struct blob_store *store;
    const struct digest *digest;
    struct digest_place raw;
    struct digest_place compressed;
    struct temp_file file;
    int out;
    struct blob_frames_summary summary;
};

static void cleanup_work(struct work *work) {
    temp_file_remove(&work->file);
    fd_close(work->out);
}

static bool is_there(struct blob_store *store, const struct digest_place *place) {
    return faccessat(store->blobs, place->path, F_OK, 0) == 0;
}

static bool is_worth_it(const struct blob_frames_summary *summary) {
    if (summary->stored_size >= summary->raw_size)
        return false;
    uint64_t saved = summary->raw_size - summary->stored_size;
    return saved >= SAVED_MIN && saved >= summary->raw_size / SAVED_PART;
}

static enum err write_compressed(struct work *work, int in, const atomic_bool *cancel,
                                 struct error *error) {
    enum err err = temp_file_open(work->store->temp, &work->file, &work->out, error);
    if (err == ERR_OK)
        err = blob_frames_write(in, work->out, cancel, &work->summary, error);
    if (err != ERR_OK)
        return err;
    if (digest_equal(&work->summary.digest, work->digest))
        return ERR_OK;
    /* Marked, so that it is not read again and again; if it is uploaded again, the new file has no
     * mark. */
    fchmod(in, BLOB_MODE_KEPT);
    return error_set(error, ERR_DAMAGED, "blob %s is damaged: its bytes have another digest",
                     work->raw.path);
}

static enum err sync_out(struct work *work, struct error *error) {
    if (fsync(work->out) < 0)
        return error_set_errno(error, err_of_errno(errno), errno, "cannot sync a compressed blob");
    FAULT_POINT("blob.compress_after_write");
    return ERR_OK;
}

/* The mutex is held. */
static enum err replace_locked(struct work *work, struct error *error) {
    struct blob_store *store = work->store;
    if (!is_there(store, &work->raw))
        return error_set(error, ERR_NOT_FOUND, "blob %s was removed meanwhile", work->raw.path);
    enum err err = temp_file_move(&work->file, store->blobs, &work->compressed, error);
    if (err == ERR_OK)
        err = digest_files_sync(store->blobs, &work->compressed, error);
    if (err != ERR_OK)
        return err;
    FAULT_POINT("blob.compress_after_publish");
    if (unlinkat(store->blobs, work->raw.path, 0) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot remove blob %s", work->raw.path);
    return ERR_OK;
}

static enum err replace(struct work *work, struct error *error) {
    pthread_mutex_lock(&work->store->replacing);
    enum err err = replace_locked(work, error);
    pthread_mutex_unlock(&work->store->replacing);
    return err;
}

static enum err mark_kept(int in, struct error *error) {
    if (fchmod(in, BLOB_MODE_KEPT) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot mark a blob");
    return ERR_OK;
}

static enum err compress_file(struct work *work, int in, const atomic_bool *cancel,
                              enum blob_compression *ret_outcome, struct error *error) {
    enum err err = write_compressed(work, in, cancel, error);
    if (err != ERR_OK)
        return err;
    bool worth_it = is_worth_it(&work->summary);
    if (!worth_it)
        err = mark_kept(in, error);
    else
        err = sync_out(work, error);
    if (err == ERR_OK && worth_it)
        err = replace(work, error);
    if (err == ERR_OK)
        *ret_outcome = worth_it ? BLOB_COMPRESSED : BLOB_KEPT;
    return err;
}

enum err blob_store_compress(struct blob_store *store, const struct digest *digest,
                             const atomic_bool *cancel, struct blob_compress_result *ret_result,
                             struct error *error) {
    CLEANUP(cleanup_work)
    struct work work = {
        .store = store,
        .digest = digest,
        .raw = digest_place_of(digest, ""),
        .compressed = digest_place_of(digest, BLOB_COMPRESSED_SUFFIX),
        .out = -1,
    };
    CLEANUP(cleanup_fd) int in = -1;
    struct blob_compress_result result = {.outcome = BLOB_COMPRESSED};
    enum err err = blob_store_open_file(store, &work.raw, &in, error);
    if (err == ERR_OK)
        err = compress_file(&work, in, cancel, &result.outcome, error);
    else if (err == ERR_NOT_FOUND && is_there(store, &work.compressed))
        err = ERR_OK;
    if (err != ERR_OK)
        return err;
    result.raw_size = work.summary.raw_size;
    result.stored_size = work.summary.stored_size;
    *ret_result = result;
    return ERR_OK;
}
