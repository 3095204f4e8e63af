#include "cache/catalog_builds.h"

#include <assert.h>

#include "cache/catalog_internal.h"

static enum err insert_build(struct catalog_txn *txn, const char *tenant, const struct digest *key,
                             int64_t now_ms, bool *ret_inserted, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "INSERT INTO build (tenant_id, key, state, reason,"
                                          " queued_ms, finished_ms, expires_ms, attempts,"
                                          " index_size) VALUES (?1, ?2, ?3, '', ?4, 0, 0, 0, 0)"
                                          " ON CONFLICT DO NOTHING",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_digest(&query, 2, key);
    catalog_query_bind_i64(&query, 3, BUILD_QUEUED);
    catalog_query_bind_i64(&query, 4, now_ms);
    err = catalog_query_run(&query, error);
    if (err == ERR_OK)
        *ret_inserted = sqlite3_changes(query.database) > 0;
    return err;
}

static enum err insert_input(struct catalog_txn *txn, const char *tenant, const struct digest *key,
                             size_t position, const struct build_input *input,
                             struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "INSERT INTO build_input (tenant_id, key, position,"
                                          " object_id, role) VALUES (?1, ?2, ?3, ?4, ?5)",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_digest(&query, 2, key);
    catalog_query_bind_u64(&query, 3, position);
    catalog_query_bind_i64(&query, 4, input->object_id);
    catalog_query_bind_i64(&query, 5, input->role);
    return catalog_query_run(&query, error);
}

enum err catalog_build_ensure(struct catalog_txn *txn, const char *tenant, const struct digest *key,
                              const struct build_input *inputs, size_t input_count, int64_t now_ms,
                              struct build_row *ret_row, struct error *error) {
    assert(input_count > 0 && input_count <= BUILD_INPUT_MAX);
    bool inserted = false;
    enum err err = insert_build(txn, tenant, key, now_ms, &inserted, error);
    for (size_t i = 0; err == ERR_OK && inserted && i < input_count; i++)
        err = insert_input(txn, tenant, key, i, &inputs[i], error);
    if (err != ERR_OK)
        return err;
    return catalog_build_get(txn, tenant, key, ret_row, error);
}

enum err catalog_build_get(struct catalog_txn *txn, const char *tenant, const struct digest *key,
                           struct build_row *ret_row, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT state, reason, queued_ms, finished_ms,"
                                          " expires_ms, attempts, index_size FROM build"
                                          " WHERE tenant_id = ?1 AND key = ?2",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_digest(&query, 2, key);
    bool found = false;
    err = catalog_query_step(&query, &found, error);
    if (err != ERR_OK)
        return err;
    if (!found)
        return error_set(error, ERR_NOT_FOUND, "no such build");
    struct build_row row = {
        .key = *key,
        .state = (enum build_state)catalog_query_i64(&query, 0),
        .queued_ms = catalog_query_i64(&query, 2),
        .finished_ms = catalog_query_i64(&query, 3),
        .expires_ms = catalog_query_i64(&query, 4),
        .attempts = (unsigned)catalog_query_u64(&query, 5),
        .index_size = catalog_query_u64(&query, 6),
    };
    catalog_query_text(&query, 1, row.reason, sizeof(row.reason));
    err = catalog_query_check(&query, error);
    if (err == ERR_OK)
        *ret_row = row;
    return err;
}

enum err catalog_build_inputs(struct catalog_txn *txn, const char *tenant, const struct digest *key,
                              struct build_input ret_inputs[static BUILD_INPUT_MAX],
                              size_t *ret_count, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT i.object_id, o.digest, i.role"
                                          " FROM build_input AS i JOIN object AS o"
                                          " ON o.tenant_id = i.tenant_id"
                                          " AND o.object_id = i.object_id"
                                          " WHERE i.tenant_id = ?1 AND i.key = ?2"
                                          " ORDER BY i.position LIMIT ?3",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_digest(&query, 2, key);
    catalog_query_bind_i64(&query, 3, BUILD_INPUT_MAX);
    size_t count = 0;
    bool row = false;
    while ((err = catalog_query_step(&query, &row, error)) == ERR_OK && row) {
        assert(count < BUILD_INPUT_MAX);
        struct build_input *input = &ret_inputs[count++];
        input->object_id = catalog_query_i64(&query, 0);
        catalog_query_digest(&query, 1, &input->digest);
        input->role = (int)catalog_query_i64(&query, 2);
    }
    if (err == ERR_OK)
        err = catalog_query_check(&query, error);
    if (err == ERR_OK && count == 0)
        err = error_set(error, ERR_NOT_FOUND, "no such build");
    if (err == ERR_OK)
        *ret_count = count;
    return err;
}

enum err catalog_build_update(struct catalog_txn *txn, const char *tenant,
                              const struct build_row *row, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "UPDATE build SET state = ?3, reason = ?4,"
                                          " finished_ms = ?5, expires_ms = ?6, attempts = ?7,"
                                          " index_size = ?8 WHERE tenant_id = ?1 AND key = ?2",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_digest(&query, 2, &row->key);
    catalog_query_bind_i64(&query, 3, row->state);
    catalog_query_bind_text(&query, 4, row->reason);
    catalog_query_bind_i64(&query, 5, row->finished_ms);
    catalog_query_bind_i64(&query, 6, row->expires_ms);
    catalog_query_bind_i64(&query, 7, row->attempts);
    catalog_query_bind_u64(&query, 8, row->index_size);
    err = catalog_query_run(&query, error);
    if (err == ERR_OK && sqlite3_changes(query.database) == 0)
        err = error_set(error, ERR_NOT_FOUND, "no such build");
    return err;
}

/* The states are literals so that the partial indexes serve the two queries at start. */
enum err catalog_builds_requeue_running(struct catalog_txn *txn, uint64_t *ret_count,
                                        struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err =
        catalog_query_open(txn, "UPDATE build SET state = 1 WHERE state = 2", &query, error);
    if (err != ERR_OK)
        return err;
    err = catalog_query_run(&query, error);
    if (err == ERR_OK)
        *ret_count = (uint64_t)sqlite3_changes64(query.database);
    return err;
}

enum err catalog_builds_queued(struct catalog_txn *txn, build_visitor *visitor, void *argument,
                               struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open(txn,
                                      "SELECT t.name, b.key FROM build AS b"
                                      " JOIN tenant AS t ON t.tenant_id = b.tenant_id"
                                      " WHERE b.state = 1 ORDER BY b.queued_ms",
                                      &query, error);
    bool row = false;
    while (err == ERR_OK && (err = catalog_query_step(&query, &row, error)) == ERR_OK && row) {
        char tenant[TENANT_NAME_MAX + 1];
        struct digest key;
        catalog_query_text(&query, 0, tenant, sizeof(tenant));
        catalog_query_digest(&query, 1, &key);
        err = catalog_query_check(&query, error);
        if (err == ERR_OK && !visitor(argument, tenant, &key))
            break;
    }
    return err;
}
