#include "ingest/upload_end_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/fd.h"
#include "cache/catalog_objects.h"
#include "ingest/build_plan.h"

enum err upload_end_identify(struct ingest *ingest, struct blob_writer *writer,
                             struct report *ret_report, struct error *error) {
    CLEANUP(cleanup_fd) int fd = -1;
    enum err err = blob_writer_open_sealed(writer, &fd, error);
    if (err != ERR_OK)
        return err;
    struct job job = {
        .operation = JOB_IDENTIFY,
        .inputs = {{JOB_ROLE_MAIN, fd}},
        .input_count = 1,
        .out_fd = -1,
        .report_fd = -1,
    };
    return workers_run(ingest->workers, &job, -1, ret_report, error);
}

enum err upload_end_publish(struct ingest *ingest, struct blob_writer *writer,
                            catalog_function *commit, void *argument, struct error *error) {
    ingest_publishing_begin(ingest);
    enum err err = blob_writer_publish(writer, error);
    if (err == ERR_OK)
        FAULT_POINT("upload.after_publish");
    if (err == ERR_OK)
        err = catalog_write(ingest->catalog, commit, argument, error);
    ingest_publishing_end(ingest);
    if (err != ERR_OK)
        return err;
    FAULT_POINT("upload.after_commit");
    ingest->finished++;
    build_queue_wake(ingest->queue);
    return ERR_OK;
}

enum err upload_end_store(struct catalog_txn *txn, const struct ingest *ingest, const char *tenant,
                          const struct digest *digest, const struct upload_identity *identity,
                          struct upload_row *row, struct error *error) {
    row->state = UPLOAD_UPLOADED;
    row->finished_ms = ingest->wall_ms();
    struct object_row object = {
        .digest = *digest,
        .size = row->declared_size,
        .type = row->type,
        .contents = identity->contents,
        .created_ms = row->finished_ms,
    };
    memcpy(object.uploader, row->uploader, sizeof(object.uploader));
    enum err err = catalog_object_put(txn, tenant, &object, &row->object_id, error);
    for (size_t i = 0; err == ERR_OK && i < identity->name_count; i++)
        err = catalog_alias_put(txn, tenant, &identity->names[i].id, row->object_id,
                                identity->names[i].verification, error);
    return err;
}

enum err upload_end_plan(struct catalog_txn *txn, const struct ingest *ingest, const char *tenant,
                         const struct upload_row *row, struct error *error) {
    if (!build_plan_is_binary(row->type))
        return ERR_OK;
    return build_queue_plan_object(ingest->queue, txn, tenant, row->object_id, error);
}

enum err upload_end_refuse(struct catalog_txn *txn, const struct ingest *ingest, const char *tenant,
                           struct upload_row *row, const char *reason, struct error *error) {
    row->state = UPLOAD_FAILED;
    row->finished_ms = ingest->wall_ms();
    snprintf(row->reason, sizeof(row->reason), "%s", reason);
    return catalog_upload_update(txn, tenant, row, error);
}

enum err upload_end_outcome(enum err err, struct error *error) {
    if (err == ERR_IO || err == ERR_NO_MEMORY || err == ERR_DAMAGED)
        error->code = ERR_UNAVAILABLE;
    return err == ERR_OK ? ERR_OK : error->code;
}
