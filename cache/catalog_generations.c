#include <assert.h>

#include "cache/catalog_builds.h"
#include "cache/catalog_internal.h"

enum err catalog_generation_get(struct catalog_txn *txn, const char *tenant,
                                const struct binary_id *id, struct generation_row *ret_row,
                                struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT number, serving, pending FROM generation"
                                          " WHERE tenant_id = ?1 AND kind = ?2 AND value = ?3",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    bool found = false;
    err = catalog_query_step(&query, &found, error);
    if (err != ERR_OK)
        return err;
    struct generation_row row = {0};
    if (found) {
        row.number = catalog_query_u64(&query, 0);
        row.has_serving = !catalog_query_is_null(&query, 1);
        row.has_pending = !catalog_query_is_null(&query, 2);
        if (row.has_serving)
            catalog_query_digest(&query, 1, &row.serving);
        if (row.has_pending)
            catalog_query_digest(&query, 2, &row.pending);
        err = catalog_query_check(&query, error);
    }
    if (err == ERR_OK)
        *ret_row = row;
    return err;
}

/* Serving what it serves already is no change, and keeps the number. */
static enum err serve(struct catalog_txn *txn, const char *tenant, const struct binary_id *id,
                      const struct digest *key, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "INSERT INTO generation (tenant_id, kind, value, number,"
                                          " serving, pending) VALUES (?1, ?2, ?3, 1, ?4, NULL)"
                                          " ON CONFLICT DO UPDATE SET pending = NULL,"
                                          " number = number + (serving IS NOT excluded.serving),"
                                          " serving = excluded.serving",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    catalog_query_bind_digest(&query, 4, key);
    return catalog_query_run(&query, error);
}

static enum err await(struct catalog_txn *txn, const char *tenant, const struct binary_id *id,
                      const struct digest *key, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "INSERT INTO generation (tenant_id, kind, value, number,"
                                          " serving, pending) VALUES (?1, ?2, ?3, 0, NULL, ?4)"
                                          " ON CONFLICT DO UPDATE SET pending = excluded.pending",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    catalog_query_bind_digest(&query, 4, key);
    return catalog_query_run(&query, error);
}

enum err catalog_generation_set_pending(struct catalog_txn *txn, const char *tenant,
                                        const struct binary_id *id, const struct digest *key,
                                        struct error *error) {
    struct build_row build = {0};
    enum err err = catalog_build_get(txn, tenant, key, &build, error);
    if (err != ERR_OK)
        return err;
    if (build.state == BUILD_OK)
        return serve(txn, tenant, id, key, error);
    return await(txn, tenant, id, key, error);
}

enum err catalog_generation_ids(struct catalog_txn *txn, const char *tenant,
                                const struct digest *key,
                                struct binary_id ret_ids[static IDS_PER_BUILD_MAX],
                                size_t *ret_count, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "SELECT kind, value FROM generation"
                                          " WHERE (tenant_id = ?1 AND pending = ?2)"
                                          " OR (tenant_id = ?1 AND serving = ?2) LIMIT ?3",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_digest(&query, 2, key);
    catalog_query_bind_i64(&query, 3, IDS_PER_BUILD_MAX);
    return catalog_query_ids(&query, ret_ids, IDS_PER_BUILD_MAX, ret_count, error);
}

enum err catalog_generation_forget(struct catalog_txn *txn, const char *tenant,
                                   const struct binary_id *id, const struct digest *key,
                                   struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "UPDATE generation SET pending = nullif(pending, ?4),"
                                          " number = number + (serving IS ?4),"
                                          " serving = nullif(serving, ?4)"
                                          " WHERE tenant_id = ?1 AND kind = ?2 AND value = ?3",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_id(&query, 2, id);
    catalog_query_bind_digest(&query, 4, key);
    return catalog_query_run(&query, error);
}

enum err catalog_generations_promote(struct catalog_txn *txn, const char *tenant,
                                     const struct digest *key, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant,
                                          "UPDATE generation SET serving = pending, pending = NULL,"
                                          " number = number + 1"
                                          " WHERE tenant_id = ?1 AND pending = ?2",
                                          &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_digest(&query, 2, key);
    return catalog_query_run(&query, error);
}
