/* An upload that another one of the same build ID and type takes the place of. */
#include <stdio.h>
#include <string.h>

#include "ingest/upload_decision.h"
#include "ingest/upload_internal.h"

enum err upload_replace(struct catalog_txn *txn, const struct ingest *ingest, const char *tenant,
                        struct upload_row *row, struct upload_replacement *ret_replacement,
                        struct error *error) {
    int64_t now_ms = ingest->wall_ms();
    ret_replacement->was_stale = upload_is_stale(row->started_ms, ingest->stale_after_ms, now_ms);
    memcpy(ret_replacement->upload_id, row->upload_id, sizeof(row->upload_id));
    row->state = UPLOAD_ABANDONED;
    row->finished_ms = now_ms;
    snprintf(row->reason, sizeof(row->reason), "another upload took over");
    return catalog_upload_update(txn, tenant, row, error);
}

void upload_replaced(struct ingest *ingest, const char *tenant,
                     const struct upload_replacement *replacement) {
    if (replacement->upload_id[0] == '\0')
        return;
    upload_table_drop(ingest->table, tenant, replacement->upload_id);
    if (replacement->was_stale)
        ingest->stale++;
    else
        ingest->replaced++;
}
