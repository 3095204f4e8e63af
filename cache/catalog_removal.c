#include "cache/catalog_removal.h"

#include <assert.h>

#include "cache/catalog_internal.h"
#include "cache/catalog_uploads.h"

_Static_assert(UPLOAD_UPLOADING == 1, "the literal below, which the partial index has");

enum err catalog_upload_remove_unfinished(struct catalog_txn *txn, const char *tenant,
                                          const char *upload_id, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "DELETE FROM upload WHERE tenant_id = ?1"
                                          " AND upload_id = ?2 AND state = 1",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_text(&query, 2, upload_id);
    return catalog_query_run(&query, error);
}

enum err catalog_uploads_purge(struct catalog_txn *txn, const char *tenant,
                               const struct binary_id *id, int type, int64_t now_ms,
                               uint64_t *ret_count, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "UPDATE upload SET state = ?5, reason = '', hash = '',"
                                          " finished_ms = ?6, object_id = NULL"
                                          " WHERE tenant_id = ?1 AND kind = ?2 AND value = ?3"
                                          " AND (?4 = 0 OR type = ?4)"
                                          " AND state NOT IN (?5, ?7)",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    catalog_query_bind_i64(&query, 4, type);
    catalog_query_bind_i64(&query, 5, UPLOAD_PURGED);
    catalog_query_bind_i64(&query, 6, now_ms);
    catalog_query_bind_i64(&query, 7, UPLOAD_ABANDONED);
    err = catalog_query_run(&query, error);
    if (err == ERR_OK)
        *ret_count = (uint64_t)sqlite3_changes64(query.database);
    return err;
}

enum err catalog_removal_objects(struct catalog_txn *txn, const char *tenant,
                                 const struct binary_id *id, int type,
                                 struct object_row ret_rows[static OBJECTS_PER_ID_MAX],
                                 size_t *ret_count, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT o.object_id, o.digest, o.type FROM alias AS a"
                                          " JOIN object AS o ON o.tenant_id = a.tenant_id"
                                          " AND o.object_id = a.object_id"
                                          " WHERE a.tenant_id = ?1 AND a.kind = ?2"
                                          " AND a.value = ?3 AND (?4 = 0 OR o.type = ?4) LIMIT ?5",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    catalog_query_bind_i64(&query, 4, type);
    catalog_query_bind_i64(&query, 5, OBJECTS_PER_ID_MAX);
    size_t count = 0;
    bool row = false;
    while ((err = catalog_query_step(&query, &row, error)) == ERR_OK && row) {
        assert(count < OBJECTS_PER_ID_MAX);
        struct object_row *object = &ret_rows[count++];
        *object = (struct object_row){.object_id = catalog_query_i64(&query, 0)};
        catalog_query_digest(&query, 1, &object->digest);
        object->type = (enum artifact_type)catalog_query_i64(&query, 2);
    }
    if (err == ERR_OK)
        err = catalog_query_check(&query, error);
    if (err == ERR_OK)
        *ret_count = count;
    return err;
}

enum err catalog_removal_build_of(struct catalog_txn *txn, const char *tenant, int64_t object_id,
                                  struct digest *ret_key, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT key FROM build_input WHERE tenant_id = ?1"
                                          " AND object_id = ?2 LIMIT 1",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_i64(&query, 2, object_id);
    bool row = false;
    err = catalog_query_step(&query, &row, error);
    if (err == ERR_OK && !row)
        err = error_set(error, ERR_NOT_FOUND, "no build has this object");
    if (err != ERR_OK)
        return err;
    struct digest key;
    catalog_query_digest(&query, 0, &key);
    err = catalog_query_check(&query, error);
    if (err == ERR_OK)
        *ret_key = key;
    return err;
}

enum err catalog_build_is_known(struct catalog_txn *txn, const struct digest *key, bool *ret_known,
                                struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open(txn,
                                      "SELECT EXISTS (SELECT 1 FROM tenant AS t JOIN build AS b"
                                      " ON b.tenant_id = t.tenant_id AND b.key = ?1)",
                                      &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_digest(&query, 1, key);
    return catalog_query_flag(&query, ret_known, error);
}

enum err catalog_build_remove(struct catalog_txn *txn, const char *tenant, const struct digest *key,
                              bool *ret_shared, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(
        txn, tenant, "DELETE FROM build WHERE tenant_id = ?1 AND key = ?2", &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_digest(&query, 2, key);
    err = catalog_query_run(&query, error);
    return err == ERR_OK ? catalog_build_is_known(txn, key, ret_shared, error) : err;
}

static enum err purge_uploads_of_object(struct catalog_txn *txn, const char *tenant,
                                        int64_t object_id, int64_t now_ms, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "UPDATE upload SET state = ?3, reason = '', hash = '',"
                                          " finished_ms = ?4, object_id = NULL"
                                          " WHERE tenant_id = ?1 AND object_id = ?2",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_i64(&query, 2, object_id);
    catalog_query_bind_i64(&query, 3, UPLOAD_PURGED);
    catalog_query_bind_i64(&query, 4, now_ms);
    return catalog_query_run(&query, error);
}

static enum err delete_object(struct catalog_txn *txn, const char *tenant, int64_t object_id,
                              struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(
        txn, tenant, "DELETE FROM object WHERE tenant_id = ?1 AND object_id = ?2", &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_i64(&query, 2, object_id);
    return catalog_query_run(&query, error);
}

enum err catalog_digest_is_known(struct catalog_txn *txn, const struct digest *digest,
                                 bool *ret_known, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open(txn,
                                      "SELECT EXISTS (SELECT 1 FROM tenant AS t JOIN object AS o"
                                      " ON o.tenant_id = t.tenant_id AND o.digest = ?1)",
                                      &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_digest(&query, 1, digest);
    return catalog_query_flag(&query, ret_known, error);
}

enum err catalog_object_remove(struct catalog_txn *txn, const char *tenant,
                               const struct object_row *object, int64_t now_ms, bool *ret_shared,
                               struct error *error) {
    enum err err = purge_uploads_of_object(txn, tenant, object->object_id, now_ms, error);
    if (err == ERR_OK)
        err = delete_object(txn, tenant, object->object_id, error);
    return err == ERR_OK ? catalog_digest_is_known(txn, &object->digest, ret_shared, error) : err;
}
