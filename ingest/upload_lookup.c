#include "ingest/upload_internal.h"

struct lookup {
    const char *tenant;
    const char *upload_id;
    struct upload_row row;
};

static enum err read_row(struct catalog_txn *txn, void *argument, struct error *error) {
    struct lookup *lookup = argument;
    return catalog_upload_get(txn, lookup->tenant, lookup->upload_id, &lookup->row, error);
}

enum err ingest_upload_get(struct ingest *ingest, const struct request_context *context,
                           const char *upload_id, struct upload_row *ret_row, struct error *error) {
    struct lookup lookup = {.tenant = context->tenant, .upload_id = upload_id};
    enum err err = catalog_read(ingest->catalog, read_row, &lookup, error);
    if (err == ERR_OK)
        *ret_row = lookup.row;
    return err;
}
