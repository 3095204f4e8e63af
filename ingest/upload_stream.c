#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "ingest/upload_decision.h"
#include "ingest/upload_internal.h"

struct upload_stream {
    struct ingest *ingest;
    struct upload_entry *entry; /* NULL once it waits in the table, or was never there */
    struct blob_writer *writer; /* NULL once the table has it */
    uint64_t declared_size;
};

struct lookup {
    const char *tenant;
    const struct binary_id *id;
    enum artifact_type type;
    struct upload_row row;
};

static enum err read_latest(struct catalog_txn *txn, void *argument, struct error *error) {
    struct lookup *lookup = argument;
    return catalog_upload_latest(txn, lookup->tenant, lookup->id, lookup->type, &lookup->row,
                                 error);
}

static enum err check_row(const struct ingest *ingest, const struct upload_row *row,
                          struct error *error) {
    if (row->state == UPLOAD_UPLOADED)
        return error_set(error, ERR_STATE, "this upload is finished already");
    if (row->state == UPLOAD_FAILED || row->state == UPLOAD_INTERRUPTED)
        return error_set(error, ERR_STATE, "this upload has failed, initiate another: %.300s",
                         row->reason);
    if (row->state != UPLOAD_UPLOADING)
        return error_set(error, ERR_STATE, "this upload takes no bytes any more");
    if (upload_is_stale(row->started_ms, ingest->stale_after_ms, ingest->wall_ms()))
        return error_set(error, ERR_STATE, "this upload is stale, initiate another");
    return ERR_OK;
}

/* The row's own size bounds the stream, whatever the sender does. */
static enum err stream_new(struct ingest *ingest, const struct upload_place *place,
                           const struct upload_row *row, struct upload_stream **ret_stream,
                           struct error *error) {
    CLEANUP(cleanup_upload_stream) struct upload_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return error_set(error, ERR_NO_MEMORY, "no memory for an upload stream");
    stream->ingest = ingest;
    stream->declared_size = row->declared_size;
    enum err err =
        upload_table_begin(ingest->table, place, ingest->wall_ms(), &stream->entry, error);
    if (err == ERR_OK)
        err = blob_writer_open(ingest->blobs, row->declared_size, &stream->writer, error);
    if (err == ERR_OK)
        *ret_stream = TAKE(stream);
    return err;
}

static enum err open_row(struct ingest *ingest, const char *tenant, const struct upload_row *row,
                         bool once, struct upload_stream **ret_stream, struct error *error) {
    struct upload_place place = {
        .tenant = tenant,
        .upload_id = row->upload_id,
        .stale_ms = ingest_stale_ms(ingest, row),
        .once = once,
    };
    enum err err = check_row(ingest, row, error);
    if (err == ERR_OK)
        err = stream_new(ingest, &place, row, ret_stream, error);
    if (err == ERR_OK)
        FAULT_POINT("upload.after_stream_open");
    return err;
}

enum err upload_stream_open_once(struct ingest *ingest, const struct request_context *context,
                                 const struct upload_row *row, struct upload_stream **ret_stream,
                                 struct error *error) {
    return open_row(ingest, context->tenant, row, true, ret_stream, error);
}

enum err upload_stream_open(struct ingest *ingest, const struct request_context *context,
                            const struct binary_id *id, enum artifact_type type,
                            const char *upload_id, struct upload_stream **ret_stream,
                            struct error *error) {
    struct lookup lookup = {.tenant = context->tenant, .id = id, .type = type};
    enum err err = catalog_read(ingest->catalog, read_latest, &lookup, error);
    if (err == ERR_NOT_FOUND)
        return error_set(error, ERR_STATE,
                         "no upload was initiated for this build ID: call InitiateUpload first");
    if (err == ERR_OK && strcmp(lookup.row.upload_id, upload_id) != 0)
        err = error_set(error, ERR_INVALID,
                        "the upload ID does not match the one returned by the InitiateUpload "
                        "call");
    if (err != ERR_OK)
        return err;
    return open_row(ingest, context->tenant, &lookup.row, false, ret_stream, error);
}

void upload_stream_watch(struct upload_stream *stream, upload_lost_function *lost, void *argument) {
    if (stream->entry)
        upload_table_watch(stream->ingest->table, stream->entry, lost, argument);
}

enum err upload_stream_append(struct upload_stream *stream, const void *bytes, size_t size,
                              struct error *error) {
    struct ingest *ingest = stream->ingest;
    if (!stream->entry)
        return error_set(error, ERR_STATE, "this upload is complete or given up already");
    enum err err = upload_table_check(ingest->table, stream->entry, ingest->wall_ms(), error);
    if (err != ERR_OK)
        return err;
    err = blob_writer_append(stream->writer, bytes, size, error);
    if (err == ERR_LIMIT)
        return error_set(error, ERR_INVALID, "more bytes came than the declared %llu",
                         (unsigned long long)stream->declared_size);
    if (err != ERR_OK)
        return err;
    ingest->bytes_received += size;
    if (size > 0)
        FAULT_POINT("upload.after_first_bytes");
    return ERR_OK;
}

enum err upload_stream_complete(struct upload_stream *stream, uint64_t *ret_size,
                                struct error *error) {
    if (!stream->entry)
        return error_set(error, ERR_STATE, "this upload is complete or given up already");
    uint64_t size = blob_writer_size(stream->writer);
    if (size != stream->declared_size)
        return error_set(error, ERR_INVALID,
                         "the upload ended after %llu bytes, its declared size is %llu",
                         (unsigned long long)size, (unsigned long long)stream->declared_size);
    struct digest digest;
    enum err err = blob_writer_seal(stream->writer, &digest, error);
    if (err == ERR_OK)
        err = upload_table_complete(stream->ingest->table, stream->entry, stream->writer, &digest,
                                    error);
    if (err != ERR_OK)
        return err;
    /* Both belong to the table now. */
    stream->entry = NULL;
    stream->writer = NULL;
    FAULT_POINT("upload.after_complete");
    *ret_size = size;
    return ERR_OK;
}

void upload_stream_abandon(struct upload_stream *stream) {
    if (stream->entry)
        upload_table_end(stream->ingest->table, stream->entry);
    stream->entry = NULL;
}

void upload_stream_free(struct upload_stream *stream) {
    if (!stream)
        return;
    upload_stream_abandon(stream);
    blob_writer_free(stream->writer);
    free(stream);
}
