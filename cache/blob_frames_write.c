#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "cache/blob_format.h"
#include "cache/blob_frames.h"

/* On executables with debug data, frames of 1 MiB: level 1 is 1.3 times as fast and 1.4 times as
 * large; level 6 saves 4 % more in 1.7 times the time. */
#define LEVEL 3

struct frame_writer {
    int out;
    ZSTD_CCtx *context;
    char *raw;
    char *stored;
    size_t stored_capacity;
    struct buffer table;
    uint32_t count;
    struct hash_sha256 hash;
    struct blob_frames_summary summary;
};

static void cleanup_frame_writer(struct frame_writer *writer) {
    ZSTD_freeCCtx(writer->context);
    free(writer->raw);
    free(writer->stored);
    buffer_clear(&writer->table);
}

static enum err prepare(struct frame_writer *writer, struct error *error) {
    writer->stored_capacity = ZSTD_compressBound(BLOB_FRAME_SIZE);
    writer->context = ZSTD_createCCtx();
    writer->raw = malloc(BLOB_FRAME_SIZE);
    writer->stored = malloc(writer->stored_capacity);
    if (!writer->context || !writer->raw || !writer->stored)
        return error_set(error, ERR_NO_MEMORY, "no memory to compress a blob");
    ZSTD_CCtx_setParameter(writer->context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(writer->context, ZSTD_c_checksumFlag, 1);
    hash_sha256_init(&writer->hash);
    return ERR_OK;
}

static void put_u32(struct buffer *buffer, uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8)
        buffer_append_byte(buffer, (char)(value >> shift & 0xff));
}

static enum err put(struct frame_writer *writer, const void *bytes, size_t size,
                    struct error *error) {
    writer->summary.stored_size += size;
    return fd_write_all(writer->out, bytes, size, error);
}

static enum err write_frame(struct frame_writer *writer, size_t raw_size, struct error *error) {
    if (writer->count == BLOB_FRAME_COUNT_MAX)
        return error_set(error, ERR_LIMIT, "a blob of more than %u frames", BLOB_FRAME_COUNT_MAX);
    size_t stored_size = ZSTD_compress2(writer->context, writer->stored, writer->stored_capacity,
                                        writer->raw, raw_size);
    if (ZSTD_isError(stored_size))
        return error_set(error, ERR_INTERNAL, "cannot compress: %s",
                         ZSTD_getErrorName(stored_size));
    hash_sha256_update(&writer->hash, writer->raw, raw_size);
    put_u32(&writer->table, (uint32_t)stored_size);
    put_u32(&writer->table, (uint32_t)raw_size);
    writer->count++;
    writer->summary.raw_size += raw_size;
    return put(writer, writer->stored, stored_size, error);
}

static enum err write_frames(struct frame_writer *writer, int in, const atomic_bool *cancel,
                             struct error *error) {
    for (;;) {
        size_t size = 0;
        if (cancel && atomic_load(cancel))
            return error_set(error, ERR_CANCELLED, "compression was cancelled");
        enum err err = fd_read_full(in, writer->raw, BLOB_FRAME_SIZE, &size, error);
        if (err == ERR_OK && size > 0)
            err = write_frame(writer, size, error);
        if (err != ERR_OK || size < BLOB_FRAME_SIZE)
            return err;
    }
}

static enum err write_table(struct frame_writer *writer, struct error *error) {
    struct buffer header = {0};
    put_u32(&header, BLOB_SKIPPABLE_MAGIC);
    put_u32(&header, writer->count * BLOB_TABLE_ENTRY_SIZE + BLOB_TABLE_FOOTER_SIZE);
    put_u32(&writer->table, writer->count);
    buffer_append_byte(&writer->table, 0);
    put_u32(&writer->table, BLOB_TABLE_MAGIC);
    enum err err = ERR_OK;
    if (buffer_failed(&header) || buffer_failed(&writer->table))
        err = error_set(error, ERR_NO_MEMORY, "no memory for a table of %u frames", writer->count);
    if (err == ERR_OK)
        err = put(writer, header.data, header.size, error);
    if (err == ERR_OK)
        err = put(writer, writer->table.data, writer->table.size, error);
    buffer_clear(&header);
    return err;
}

enum err blob_frames_write(int in, int out, const atomic_bool *cancel,
                           struct blob_frames_summary *ret_summary, struct error *error) {
    CLEANUP(cleanup_frame_writer) struct frame_writer writer = {.out = out};
    enum err err = prepare(&writer, error);
    if (err == ERR_OK)
        err = write_frames(&writer, in, cancel, error);
    if (err == ERR_OK)
        err = write_table(&writer, error);
    if (err != ERR_OK)
        return err;
    writer.summary.digest = hash_sha256_final(&writer.hash);
    *ret_summary = writer.summary;
    return ERR_OK;
}
