#include "cache/blob_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cursor.h"
#include "base/fd.h"
#include "cache/blob_format.h"

#define NO_FRAME SIZE_MAX

struct blob_frames {
    int fd;
    size_t count;
    uint64_t raw_size;
    uint64_t *offsets; /* of the frames in the file, and of the table: count + 1 */
    ZSTD_DCtx *context;
    char *stored;
    size_t stored_capacity;
    char *raw; /* of the frame `inflated` */
    size_t inflated;
};

static enum err damaged(struct error *error, const char *what) {
    return error_set(error, ERR_DAMAGED, "a compressed blob is damaged: %s", what);
}

static enum err read_at(int fd, uint64_t offset, void *bytes, size_t size, struct error *error) {
    char *next = bytes;
    while (size > 0) {
        ssize_t count = pread(fd, next, size, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return error_set_errno(error, ERR_IO, errno, "cannot read a compressed blob");
        if (count == 0)
            return damaged(error, "it ends early");
        next += count;
        size -= (size_t)count;
        offset += (uint64_t)count;
    }
    return ERR_OK;
}

static enum err read_footer(struct blob_frames *frames, uint64_t file_size, struct error *error) {
    uint8_t bytes[BLOB_TABLE_FOOTER_SIZE];
    if (file_size < BLOB_TABLE_HEADER_SIZE + BLOB_TABLE_FOOTER_SIZE)
        return damaged(error, "it is too short");
    enum err err = read_at(frames->fd, file_size - sizeof(bytes), bytes, sizeof(bytes), error);
    if (err != ERR_OK)
        return err;
    struct cursor cursor = cursor_of(span_of(bytes, sizeof(bytes)), false, "blob table");
    uint32_t count = cursor_u32(&cursor);
    uint8_t descriptor = cursor_u8(&cursor);
    uint32_t magic = cursor_u32(&cursor);
    uint64_t room = file_size - BLOB_TABLE_HEADER_SIZE - BLOB_TABLE_FOOTER_SIZE;
    if (magic != BLOB_TABLE_MAGIC || descriptor != 0)
        return damaged(error, "it has no table");
    if (count > BLOB_FRAME_COUNT_MAX || count > room / BLOB_TABLE_ENTRY_SIZE)
        return damaged(error, "its table has more frames than it has room for");
    frames->count = count;
    return ERR_OK;
}

/* Every frame but the last holds BLOB_FRAME_SIZE raw bytes, so that a frame is found by division;
 * the stored frames must fill the file up to the table exactly. */
static enum err take_table(struct blob_frames *frames, struct cursor *cursor, uint64_t table_offset,
                           struct error *error) {
    uint64_t offset = 0;
    for (size_t i = 0; i < frames->count; i++) {
        uint32_t stored_size = cursor_u32(cursor), raw_size = cursor_u32(cursor);
        bool is_last = i == frames->count - 1;
        if (raw_size == 0 || raw_size > BLOB_FRAME_SIZE ||
            (!is_last && raw_size != BLOB_FRAME_SIZE))
            return damaged(error, "a frame of another size");
        if (stored_size == 0 || stored_size > frames->stored_capacity)
            return damaged(error, "a frame that is too large");
        frames->offsets[i] = offset;
        offset += stored_size;
        frames->raw_size += raw_size;
    }
    frames->offsets[frames->count] = offset;
    if (cursor_failed(cursor) || offset != table_offset)
        return damaged(error, "its table does not fit its frames");
    return ERR_OK;
}

static enum err read_table(struct blob_frames *frames, uint64_t file_size, struct error *error) {
    size_t content = frames->count * BLOB_TABLE_ENTRY_SIZE + BLOB_TABLE_FOOTER_SIZE;
    size_t size = BLOB_TABLE_HEADER_SIZE + content;
    CLEANUP(cleanup_free) uint8_t *bytes = malloc(size);
    frames->offsets = calloc(frames->count + 1, sizeof(*frames->offsets));
    if (!bytes || !frames->offsets)
        return error_set(error, ERR_NO_MEMORY, "no memory for a table of %zu frames",
                         frames->count);
    enum err err = read_at(frames->fd, file_size - size, bytes, size, error);
    if (err != ERR_OK)
        return err;
    struct cursor cursor = cursor_of(span_of(bytes, size), false, "blob table");
    uint32_t magic = cursor_u32(&cursor), content_size = cursor_u32(&cursor);
    if (magic != BLOB_SKIPPABLE_MAGIC || content_size != content)
        return damaged(error, "its table has a wrong header");
    return take_table(frames, &cursor, file_size - size, error);
}

static enum err prepare(struct blob_frames *frames, struct error *error) {
    frames->context = ZSTD_createDCtx();
    frames->stored = malloc(frames->stored_capacity);
    frames->raw = malloc(BLOB_FRAME_SIZE);
    if (!frames->context || !frames->stored || !frames->raw)
        return error_set(error, ERR_NO_MEMORY, "no memory to inflate a blob");
    return ERR_OK;
}

enum err blob_frames_open(int fd, struct blob_frames **ret_frames, struct error *error) {
    struct stat status;
    if (fstat(fd, &status) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot stat a compressed blob");
    CLEANUP(cleanup_blob_frames) struct blob_frames *frames = calloc(1, sizeof(*frames));
    if (!frames)
        return error_set(error, ERR_NO_MEMORY, "no memory to read a blob");
    frames->fd = fd;
    frames->inflated = NO_FRAME;
    frames->stored_capacity = ZSTD_compressBound(BLOB_FRAME_SIZE);
    enum err err = read_footer(frames, (uint64_t)status.st_size, error);
    if (err == ERR_OK)
        err = read_table(frames, (uint64_t)status.st_size, error);
    if (err == ERR_OK)
        err = prepare(frames, error);
    if (err == ERR_OK)
        *ret_frames = TAKE(frames);
    else
        frames->fd = -1; /* still the caller's */
    return err;
}

void blob_frames_free(struct blob_frames *frames) {
    if (!frames)
        return;
    fd_close(frames->fd);
    ZSTD_freeDCtx(frames->context);
    free(frames->offsets);
    free(frames->stored);
    free(frames->raw);
    free(frames);
}

uint64_t blob_frames_raw_size(const struct blob_frames *frames) {
    return frames->raw_size;
}

static enum err inflate(struct blob_frames *frames, size_t position, struct error *error) {
    if (frames->inflated == position)
        return ERR_OK;
    frames->inflated = NO_FRAME;
    uint64_t offset = frames->offsets[position];
    size_t stored_size = (size_t)(frames->offsets[position + 1] - offset);
    enum err err = read_at(frames->fd, offset, frames->stored, stored_size, error);
    if (err != ERR_OK)
        return err;
    uint64_t left = frames->raw_size - (uint64_t)position * BLOB_FRAME_SIZE;
    size_t raw_size = left < BLOB_FRAME_SIZE ? (size_t)left : BLOB_FRAME_SIZE;
    size_t inflated = ZSTD_decompressDCtx(frames->context, frames->raw, BLOB_FRAME_SIZE,
                                          frames->stored, stored_size);
    if (ZSTD_isError(inflated))
        return damaged(error, ZSTD_getErrorName(inflated));
    if (inflated != raw_size)
        return damaged(error, "a frame inflates to another size than its table says");
    frames->inflated = position;
    return ERR_OK;
}

enum err blob_frames_read(struct blob_frames *frames, uint64_t offset, void *bytes, size_t size,
                          struct error *error) {
    if (offset > frames->raw_size || size > frames->raw_size - offset)
        return error_set(error, ERR_INVALID, "a range past the end of a blob of %llu bytes",
                         (unsigned long long)frames->raw_size);
    char *next = bytes;
    while (size > 0) {
        size_t position = (size_t)(offset / BLOB_FRAME_SIZE);
        size_t within = (size_t)(offset % BLOB_FRAME_SIZE);
        size_t piece = size < BLOB_FRAME_SIZE - within ? size : BLOB_FRAME_SIZE - within;
        enum err err = inflate(frames, position, error);
        if (err != ERR_OK)
            return err;
        memcpy(next, frames->raw + within, piece);
        next += piece;
        offset += piece;
        size -= piece;
    }
    return ERR_OK;
}
