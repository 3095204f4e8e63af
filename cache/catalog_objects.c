#include "cache/catalog_objects.h"

#include <assert.h>

#include "cache/catalog_builds.h"
#include "cache/catalog_internal.h"

static enum err find_object(struct catalog_txn *txn, const char *tenant,
                            const struct object_row *row, int64_t *ret_object_id,
                            struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT object_id FROM object"
                                          " WHERE tenant_id = ?1 AND digest = ?2 AND type = ?3",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_digest(&query, 2, &row->digest);
    catalog_query_bind_i64(&query, 3, row->type);
    return catalog_query_number(&query, ret_object_id, error);
}

static enum err insert_object(struct catalog_txn *txn, const char *tenant,
                              const struct object_row *row, int64_t object_id,
                              struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "INSERT INTO object (tenant_id, object_id, digest, size,"
                                          " type, uploader, trust_rank, contents, created_ms)"
                                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_i64(&query, 2, object_id);
    catalog_query_bind_digest(&query, 3, &row->digest);
    catalog_query_bind_u64(&query, 4, row->size);
    catalog_query_bind_i64(&query, 5, row->type);
    catalog_query_bind_text(&query, 6, row->uploader);
    catalog_query_bind_i64(&query, 7, row->trust_rank);
    catalog_query_bind_i64(&query, 8, row->contents);
    catalog_query_bind_i64(&query, 9, row->created_ms);
    return catalog_query_run(&query, error);
}

static enum err set_there(struct catalog_txn *txn, const char *tenant, int64_t object_id,
                          struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "UPDATE object SET gone = 0 WHERE tenant_id = ?1"
                                          " AND object_id = ?2 AND gone <> 0",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_i64(&query, 2, object_id);
    return catalog_query_run(&query, error);
}

enum err catalog_objects_set_gone(struct catalog_txn *txn, const struct digest *digest,
                                  enum object_loss loss, bool *ret_changed, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open(txn,
                                      "UPDATE object SET gone = ?2"
                                      " WHERE tenant_id IN (SELECT tenant_id FROM tenant)"
                                      " AND digest = ?1 AND gone = 0",
                                      &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_digest(&query, 1, digest);
    catalog_query_bind_i64(&query, 2, loss);
    err = catalog_query_run(&query, error);
    if (err == ERR_OK)
        *ret_changed = sqlite3_changes64(query.database) > 0;
    return err;
}

enum err catalog_object_put(struct catalog_txn *txn, const char *tenant,
                            const struct object_row *row, int64_t *ret_object_id,
                            struct error *error) {
    int64_t object_id = 0;
    enum err err = find_object(txn, tenant, row, &object_id, error);
    if (err == ERR_OK && object_id == 0) {
        err = catalog_count_up(txn, tenant,
                               "UPDATE tenant SET object_count = object_count + 1"
                               " WHERE tenant_id = ?1 RETURNING object_count",
                               &object_id, error);
        if (err == ERR_OK)
            err = insert_object(txn, tenant, row, object_id, error);
    } else if (err == ERR_OK) {
        err = set_there(txn, tenant, object_id, error);
    }
    if (err == ERR_OK)
        *ret_object_id = object_id;
    return err;
}

enum err catalog_alias_put(struct catalog_txn *txn, const char *tenant, const struct binary_id *id,
                           int64_t object_id, enum verification verification, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "INSERT INTO alias (tenant_id, kind, value, object_id,"
                                          " verification) VALUES (?1, ?2, ?3, ?4, ?5)"
                                          " ON CONFLICT DO UPDATE SET verification ="
                                          " max(verification, excluded.verification)",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    catalog_query_bind_i64(&query, 4, object_id);
    catalog_query_bind_i64(&query, 5, verification);
    return catalog_query_run(&query, error);
}

static void read_object(struct catalog_query *query, struct object_row *ret_row) {
    *ret_row = (struct object_row){
        .object_id = catalog_query_i64(query, 0),
        .size = catalog_query_u64(query, 2),
        .type = (enum artifact_type)catalog_query_i64(query, 3),
        .trust_rank = (int)catalog_query_i64(query, 5),
        .contents = (unsigned)catalog_query_i64(query, 6),
        .created_ms = catalog_query_i64(query, 7),
        .verification = (enum verification)catalog_query_i64(query, 8),
        .soundness = (enum object_soundness)catalog_query_i64(query, 9),
    };
    catalog_query_digest(query, 1, &ret_row->digest);
    catalog_query_text(query, 4, ret_row->uploader, sizeof(ret_row->uploader));
}

_Static_assert(BUILD_MALFORMED == 4 && BUILD_UNSUPPORTED == 5 && BUILD_KILLED == 6, "soundness");
_Static_assert(OBJECT_SOUND == 0 && OBJECT_UNSUPPORTED == 1 && OBJECT_BROKEN == 2, "soundness");

/* Object numbers grow, so that their order is that of arrival, and the alias's key has it. The last
 * column is an object_soundness; an object that no build has for input has no minimum. */
enum err catalog_objects_by_id(struct catalog_txn *txn, const char *tenant,
                               const struct binary_id *id,
                               struct object_row ret_rows[static OBJECTS_PER_ID_MAX],
                               size_t *ret_count, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT o.object_id, o.digest, o.size, o.type,"
                                          " o.uploader, o.trust_rank, o.contents, o.created_ms,"
                                          " a.verification,"
                                          " (SELECT ifnull(min(b.state IN (4, 5, 6))"
                                          " * (1 + max(b.state IN (4, 6))), 0)"
                                          " FROM build_input AS i JOIN build AS b"
                                          " ON b.tenant_id = i.tenant_id AND b.key = i.key"
                                          " WHERE i.tenant_id = o.tenant_id"
                                          " AND i.object_id = o.object_id)"
                                          " FROM alias AS a JOIN object AS o"
                                          " ON o.tenant_id = a.tenant_id"
                                          " AND o.object_id = a.object_id"
                                          " WHERE a.tenant_id = ?1 AND a.kind = ?2"
                                          " AND a.value = ?3 AND o.gone = 0"
                                          " ORDER BY a.object_id DESC LIMIT ?4",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    catalog_query_bind_i64(&query, 4, OBJECTS_PER_ID_MAX);
    size_t count = 0;
    bool row = false;
    while ((err = catalog_query_step(&query, &row, error)) == ERR_OK && row) {
        assert(count < OBJECTS_PER_ID_MAX);
        read_object(&query, &ret_rows[count++]);
    }
    if (err == ERR_OK)
        err = catalog_query_check(&query, error);
    if (err == ERR_OK)
        *ret_count = count;
    return err;
}

enum err catalog_aliases_of_object(struct catalog_txn *txn, const char *tenant, int64_t object_id,
                                   struct binary_id ret_ids[static ALIASES_PER_OBJECT_MAX],
                                   size_t *ret_count, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT kind, value FROM alias WHERE tenant_id = ?1"
                                          " AND object_id = ?2 ORDER BY verification DESC, kind,"
                                          " value LIMIT ?3",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_i64(&query, 2, object_id);
    catalog_query_bind_i64(&query, 3, ALIASES_PER_OBJECT_MAX);
    return catalog_query_ids(&query, ret_ids, ALIASES_PER_OBJECT_MAX, ret_count, error);
}
