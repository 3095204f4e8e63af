#include "base/fd.h"
#include "cache/catalog_objects.h"
#include "ingest/upload_internal.h"

struct marking {
    const struct digest *digest;
    enum object_loss loss;
    bool changed;
};

static enum err mark(struct catalog_txn *txn, void *argument, struct error *error) {
    struct marking *marking = argument;
    return catalog_objects_set_gone(txn, marking->digest, marking->loss, &marking->changed, error);
}

enum err ingest_check_file(struct ingest *ingest, const struct digest *digest,
                           struct error *error) {
    CLEANUP(cleanup_fd) int fd = -1;
    enum err err = blob_store_open_blob(ingest->blobs, digest, &fd, error);
    if (err != ERR_NOT_FOUND && err != ERR_DAMAGED)
        return err;
    struct marking marking = {
        .digest = digest,
        .loss = err == ERR_DAMAGED ? OBJECT_DAMAGED : OBJECT_MISSING,
    };
    err = catalog_write(ingest->catalog, mark, &marking, error);
    if (err != ERR_OK || !marking.changed)
        return err;
    if (marking.loss == OBJECT_DAMAGED)
        ingest->files_damaged++;
    else
        ingest->files_missing++;
    return ERR_OK;
}
