#include "cache/catalog_uploads.h"

#include "cache/catalog_internal.h"

#define UPLOAD_COLUMNS                                                                             \
    "upload_id, kind, value, type, hash, declared_size, state, reason, uploader, started_ms, "     \
    "finished_ms, coalesce(object_id, 0)"

/* The number gives uploads their order, which a clock that is set back cannot. */
enum err catalog_upload_insert(struct catalog_txn *txn, const char *tenant,
                               const struct upload_row *row, struct error *error) {
    int64_t number = 0;
    enum err err = catalog_count_up(txn, tenant,
                                    "UPDATE tenant SET upload_count = upload_count + 1"
                                    " WHERE tenant_id = ?1 RETURNING upload_count",
                                    &number, error);
    if (err != ERR_OK)
        return err;
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    err = catalog_query_open_for(txn, tenant,
                                 "INSERT INTO upload (tenant_id, upload_id, number, kind, value,"
                                 " type, hash, declared_size, state, reason, uploader, started_ms,"
                                 " finished_ms, object_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
                                 " ?9, ?10, ?11, ?12, ?13, nullif(?14, 0))",
                                 &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_text(&query, 2, row->upload_id);
    catalog_query_bind_i64(&query, 3, number);
    catalog_query_bind_id(&query, 4, &row->id);
    catalog_query_bind_i64(&query, 6, row->type);
    catalog_query_bind_text(&query, 7, row->hash);
    catalog_query_bind_u64(&query, 8, row->declared_size);
    catalog_query_bind_i64(&query, 9, row->state);
    catalog_query_bind_text(&query, 10, row->reason);
    catalog_query_bind_text(&query, 11, row->uploader);
    catalog_query_bind_i64(&query, 12, row->started_ms);
    catalog_query_bind_i64(&query, 13, row->finished_ms);
    catalog_query_bind_i64(&query, 14, row->object_id);
    return catalog_query_run(&query, error);
}

static enum err read_upload(struct catalog_query *query, struct upload_row *ret_row,
                            struct error *error) {
    struct upload_row row = {0};
    bool found = false;
    enum err err = catalog_query_step(query, &found, error);
    if (err != ERR_OK)
        return err;
    if (!found)
        return error_set(error, ERR_NOT_FOUND, "no such upload");
    catalog_query_text(query, 0, row.upload_id, sizeof(row.upload_id));
    catalog_query_id(query, 1, &row.id);
    row.type = (enum artifact_type)catalog_query_i64(query, 3);
    catalog_query_text(query, 4, row.hash, sizeof(row.hash));
    row.declared_size = catalog_query_u64(query, 5);
    row.state = (enum upload_state)catalog_query_i64(query, 6);
    catalog_query_text(query, 7, row.reason, sizeof(row.reason));
    catalog_query_text(query, 8, row.uploader, sizeof(row.uploader));
    row.started_ms = catalog_query_i64(query, 9);
    row.finished_ms = catalog_query_i64(query, 10);
    row.object_id = catalog_query_i64(query, 11);
    err = catalog_query_check(query, error);
    if (err == ERR_OK)
        *ret_row = row;
    return err;
}

enum err catalog_upload_get(struct catalog_txn *txn, const char *tenant, const char *upload_id,
                            struct upload_row *ret_row, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT " UPLOAD_COLUMNS " FROM upload"
                                          " WHERE tenant_id = ?1 AND upload_id = ?2",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_text(&query, 2, upload_id);
    return read_upload(&query, ret_row, error);
}

enum err catalog_upload_latest(struct catalog_txn *txn, const char *tenant,
                               const struct binary_id *id, enum artifact_type type,
                               struct upload_row *ret_row, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT " UPLOAD_COLUMNS " FROM upload"
                                          " WHERE tenant_id = ?1 AND kind = ?2 AND value = ?3"
                                          " AND type = ?4 AND state <> ?5"
                                          " ORDER BY number DESC LIMIT 1",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    catalog_query_bind_i64(&query, 4, type);
    catalog_query_bind_i64(&query, 5, UPLOAD_ABANDONED);
    return read_upload(&query, ret_row, error);
}

enum err catalog_upload_update(struct catalog_txn *txn, const char *tenant,
                               const struct upload_row *row, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "UPDATE upload SET state = ?3, reason = ?4,"
                                          " finished_ms = ?5, object_id = nullif(?6, 0)"
                                          " WHERE tenant_id = ?1 AND upload_id = ?2",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_text(&query, 2, row->upload_id);
    catalog_query_bind_i64(&query, 3, row->state);
    catalog_query_bind_text(&query, 4, row->reason);
    catalog_query_bind_i64(&query, 5, row->finished_ms);
    catalog_query_bind_i64(&query, 6, row->object_id);
    err = catalog_query_run(&query, error);
    if (err == ERR_OK && sqlite3_changes(query.database) == 0)
        err = error_set(error, ERR_NOT_FOUND, "no such upload");
    return err;
}

enum err catalog_upload_count_failed(struct catalog_txn *txn, const char *tenant,
                                     const struct binary_id *id, enum artifact_type type,
                                     const char *hash, int64_t since_ms, uint64_t *ret_count,
                                     struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT count(*) FROM upload"
                                          " WHERE tenant_id = ?1 AND kind = ?2 AND value = ?3"
                                          " AND type = ?4 AND hash = ?5 AND state = ?6"
                                          " AND finished_ms >= ?7",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    catalog_query_bind_i64(&query, 4, type);
    catalog_query_bind_text(&query, 5, hash);
    catalog_query_bind_i64(&query, 6, UPLOAD_FAILED);
    catalog_query_bind_i64(&query, 7, since_ms);
    int64_t count = 0;
    err = catalog_query_number(&query, &count, error);
    if (err == ERR_OK)
        *ret_count = (uint64_t)count;
    return err;
}

enum err catalog_upload_hash_held(struct catalog_txn *txn, const char *tenant,
                                  const struct binary_id *id, enum artifact_type type,
                                  const char *hash, bool *ret_held, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT EXISTS (SELECT 1 FROM upload AS u"
                                          " WHERE u.tenant_id = ?1 AND u.kind = ?2"
                                          " AND u.value = ?3 AND u.type = ?4 AND u.hash = ?5"
                                          " AND u.state = ?6 AND NOT EXISTS"
                                          " (SELECT 1 FROM object AS o"
                                          " WHERE o.tenant_id = u.tenant_id"
                                          " AND o.object_id = u.object_id AND o.gone <> 0))",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    catalog_query_bind_i64(&query, 4, type);
    catalog_query_bind_text(&query, 5, hash);
    catalog_query_bind_i64(&query, 6, UPLOAD_UPLOADED);
    return catalog_query_flag(&query, ret_held, error);
}

/* The state is a literal so that the partial index of unfinished uploads serves it. */
enum err catalog_uploads_fail_unfinished(struct catalog_txn *txn, const char *reason,
                                         int64_t now_ms, uint64_t *ret_count, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open(txn,
                                      "UPDATE upload SET state = ?1, reason = ?2, finished_ms = ?3"
                                      " WHERE state = 1",
                                      &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_i64(&query, 1, UPLOAD_INTERRUPTED);
    catalog_query_bind_text(&query, 2, reason);
    catalog_query_bind_i64(&query, 3, now_ms);
    err = catalog_query_run(&query, error);
    if (err == ERR_OK)
        *ret_count = (uint64_t)sqlite3_changes64(query.database);
    return err;
}

enum err catalog_invitation_get(struct catalog_txn *txn, const char *tenant,
                                const struct binary_id *id, enum artifact_type type,
                                int64_t *ret_invited_ms, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT invited_ms FROM invitation WHERE tenant_id = ?1"
                                          " AND kind = ?2 AND value = ?3 AND type = ?4",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    catalog_query_bind_i64(&query, 4, type);
    return catalog_query_number(&query, ret_invited_ms, error);
}

enum err catalog_invitation_set(struct catalog_txn *txn, const char *tenant,
                                const struct binary_id *id, enum artifact_type type,
                                int64_t invited_ms, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "INSERT INTO invitation (tenant_id, kind, value, type,"
                                          " invited_ms) VALUES (?1, ?2, ?3, ?4, ?5)"
                                          " ON CONFLICT DO UPDATE SET"
                                          " invited_ms = excluded.invited_ms",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    catalog_query_bind_i64(&query, 4, type);
    catalog_query_bind_i64(&query, 5, invited_ms);
    return catalog_query_run(&query, error);
}
