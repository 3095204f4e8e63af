#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "ingest/build_plan.h"
#include "ingest/upload_end_internal.h"

/* The argument of the transactions below, and what is learnt on the way. */
struct finish {
    struct ingest *ingest;
    const struct request_context *context;
    const struct binary_id *id;
    enum artifact_type type;
    const char *upload_id;
    struct upload_entry *entry; /* taken from the table; NULL when there was nothing to take */
    struct upload_row row;
    struct upload_identity identity;
    const char *failure; /* why the bytes are refused */
    bool ended;          /* the bytes are of no more use to this upload */
};

/* The row of this upload. A finished one is found also when a newer upload of its id has begun, so
 * that finishing twice is finishing once. */
static enum err read_row(struct catalog_txn *txn, void *argument, struct error *error) {
    struct finish *finish = argument;
    const char *tenant = finish->context->tenant;
    struct upload_row row;
    enum err err = catalog_upload_get(txn, tenant, finish->upload_id, &row, error);
    if (err != ERR_OK && err != ERR_NOT_FOUND)
        return err;
    bool ours = err == ERR_OK && binary_id_equal(&row.id, finish->id) && row.type == finish->type;
    finish->ended = ours && row.state == UPLOAD_ABANDONED;
    if (!ours || finish->ended) {
        err = catalog_upload_latest(txn, tenant, finish->id, finish->type, &row, error);
        if (err == ERR_NOT_FOUND)
            return error_set(error, ERR_NOT_FOUND,
                             "no debuginfo upload metadata found for build id");
        if (err == ERR_OK)
            err = error_set(error, ERR_INVALID, "upload id mismatch");
        return err;
    }
    finish->row = row;
    return ERR_OK;
}

/* What the state of the row alone answers; ERR_OK for one that can be finished or is. */
static enum err check_row(struct finish *finish, struct error *error) {
    finish->ended = finish->row.state != UPLOAD_UPLOADING;
    switch (finish->row.state) {
    case UPLOAD_UPLOADING:
    case UPLOAD_UPLOADED:
        return ERR_OK;
    case UPLOAD_FAILED:
        return error_set(error, ERR_INVALID, "%.500s", finish->row.reason);
    default:
        return error_set(error, ERR_STATE, "this upload has ended, initiate another: %.400s",
                         finish->row.reason);
    }
}

static enum err identify(struct finish *finish, struct error *error) {
    if (!build_plan_is_binary(finish->type)) {
        finish->identity = upload_identity_claimed(finish->id);
        return ERR_OK;
    }
    struct report report;
    enum err err =
        upload_end_identify(finish->ingest, upload_entry_writer(finish->entry), &report, error);
    if (err != ERR_OK)
        return err;
    return upload_verify(finish->id, &report, &finish->identity, error);
}

/* Another upload may have taken over while the worker ran. */
static enum err read_row_to_end(struct catalog_txn *txn, struct finish *finish,
                                struct error *error) {
    enum err err =
        catalog_upload_get(txn, finish->context->tenant, finish->upload_id, &finish->row, error);
    finish->ended = err == ERR_OK && finish->row.state != UPLOAD_UPLOADING;
    if (finish->ended)
        err = error_set(error, ERR_STATE, "another upload of the same build ID took over");
    return err;
}

static enum err commit(struct catalog_txn *txn, void *argument, struct error *error) {
    struct finish *finish = argument;
    const char *tenant = finish->context->tenant;
    enum err err = read_row_to_end(txn, finish, error);
    if (err == ERR_OK)
        err = upload_end_store(txn, finish->ingest, tenant, upload_entry_digest(finish->entry),
                               &finish->identity, &finish->row, error);
    if (err == ERR_OK)
        err = catalog_upload_update(txn, tenant, &finish->row, error);
    if (err == ERR_OK)
        err = upload_end_plan(txn, finish->ingest, tenant, &finish->row, error);
    return err;
}

static enum err commit_failure(struct catalog_txn *txn, void *argument, struct error *error) {
    struct finish *finish = argument;
    enum err err = read_row_to_end(txn, finish, error);
    if (err != ERR_OK)
        return err;
    return upload_end_refuse(txn, finish->ingest, finish->context->tenant, &finish->row,
                             finish->failure, error);
}

/* ERR_INVALID with the same text once the refusal is on record. */
static enum err refuse(struct finish *finish, struct error *error) {
    struct error why = *error;
    finish->failure = why.text;
    enum err err = catalog_write(finish->ingest->catalog, commit_failure, finish, error);
    if (err != ERR_OK)
        return err;
    finish->ended = true;
    finish->ingest->failed++;
    *error = why;
    return why.code;
}

static enum err store(struct finish *finish, struct error *error) {
    enum err err = identify(finish, error);
    if (err == ERR_INVALID)
        return refuse(finish, error);
    if (err != ERR_OK)
        return err;
    FAULT_POINT("upload.after_identify");
    err = upload_end_publish(finish->ingest, upload_entry_writer(finish->entry), commit, finish,
                             error);
    finish->ended |= err == ERR_OK;
    return err;
}

/* Reads the row after taking the bytes: if somebody else took and finished them before, the row
 * says so by now. */
static enum err finish_row(struct finish *finish, const struct error *nothing_taken,
                           struct error *error) {
    enum err err = catalog_read(finish->ingest->catalog, read_row, finish, error);
    if (err == ERR_OK)
        err = check_row(finish, error);
    if (err != ERR_OK || finish->ended)
        return err;
    if (!finish->entry) {
        *error = *nothing_taken;
        return error->code;
    }
    return store(finish, error);
}

enum err ingest_finish(struct ingest *ingest, const struct request_context *context,
                       const struct binary_id *id, enum artifact_type type, const char *upload_id,
                       struct error *error) {
    struct finish finish = {
        .ingest = ingest,
        .context = context,
        .id = id,
        .type = type,
        .upload_id = upload_id,
    };
    struct error nothing_taken;
    upload_table_take(ingest->table, context->tenant, upload_id, &finish.entry, &nothing_taken);
    enum err err = finish_row(&finish, &nothing_taken, error);
    if (finish.entry && finish.ended)
        upload_table_end(ingest->table, finish.entry);
    else if (finish.entry)
        upload_table_give_back(ingest->table, finish.entry);
    return upload_end_outcome(err, error);
}
