/* How SQLite will find the rows: every statement of the catalog is run, then explained. */
#include <stdio.h>
#include <string.h>

#include "cache/catalog_builds.h"
#include "cache/catalog_objects.h"
#include "cache/catalog_uploads.h"
#include "tests/support/catalog_fixture.h"
#include "tests/support/test.h"

#define TENANT TENANT_DEFAULT

static void run_uploads(struct catalog_txn *txn, struct error *error) {
    struct upload_row row = {.upload_id = "u1", .type = ARTIFACT_DEBUGINFO, .hash = "h"};
    row.id = catalog_fixture_id("aa");
    uint64_t count = 0;
    int64_t invited_ms = 0;
    bool held = false;
    catalog_upload_insert(txn, TENANT, &row, error);
    catalog_upload_get(txn, TENANT, "u1", &row, error);
    catalog_upload_latest(txn, TENANT, &row.id, row.type, &row, error);
    catalog_upload_update(txn, TENANT, &row, error);
    catalog_upload_count_failed(txn, TENANT, &row.id, row.type, "h", 0, &count, error);
    catalog_upload_hash_held(txn, TENANT, &row.id, row.type, "h", &held, error);
    catalog_uploads_fail_unfinished(txn, "restart", 0, &count, error);
    catalog_invitation_get(txn, TENANT, &row.id, row.type, &invited_ms, error);
    catalog_invitation_set(txn, TENANT, &row.id, row.type, 1, error);
}

static int64_t run_objects(struct catalog_txn *txn, struct error *error) {
    struct object_row rows[OBJECTS_PER_ID_MAX] = {{.type = ARTIFACT_DEBUGINFO}};
    struct binary_id ids[ALIASES_PER_OBJECT_MAX];
    struct binary_id id = catalog_fixture_id("aa");
    int64_t object_id = 0;
    size_t count = 0;
    catalog_object_put(txn, TENANT, &rows[0], &object_id, error);
    catalog_alias_put(txn, TENANT, &id, object_id, VERIFICATION_NOTE, error);
    bool changed = false;
    catalog_objects_set_gone(txn, &rows[0].digest, OBJECT_DAMAGED, &changed, error);
    catalog_object_put(txn, TENANT, &rows[0], &object_id, error);
    catalog_objects_by_id(txn, TENANT, &id, rows, &count, error);
    catalog_aliases_of_object(txn, TENANT, object_id, ids, &count, error);
    return object_id;
}

static bool visit(void *argument, const char *tenant, const struct digest *key) {
    (void)argument;
    (void)tenant;
    (void)key;
    return true;
}

static void run_builds(struct catalog_txn *txn, int64_t object_id, struct error *error) {
    struct build_input inputs[BUILD_INPUT_MAX] = {{.object_id = object_id, .role = 1}};
    struct digest key = catalog_fixture_digest("key");
    struct binary_id id = catalog_fixture_id("aa");
    struct build_row row;
    struct generation_row generation;
    uint64_t running = 0;
    size_t count = 0;
    catalog_build_ensure(txn, TENANT, &key, inputs, 1, 0, &row, error);
    catalog_build_inputs(txn, TENANT, &key, inputs, &count, error);
    catalog_builds_requeue_running(txn, &running, error);
    catalog_builds_queued(txn, visit, NULL, error);
    catalog_generation_set_pending(txn, TENANT, &id, &key, error);
    struct binary_id ids[IDS_PER_BUILD_MAX];
    size_t id_count = 0;
    catalog_generation_ids(txn, TENANT, &key, ids, &id_count, error);
    catalog_generation_forget(txn, TENANT, &id, &key, error);
    row.state = BUILD_OK;
    catalog_build_update(txn, TENANT, &row, error);
    catalog_generation_set_pending(txn, TENANT, &id, &key, error);
    catalog_generations_promote(txn, TENANT, &key, error);
    catalog_generation_get(txn, TENANT, &id, &generation, error);
}

/* Partial indexes hold few rows, all of which are wanted; tenants are few; a constant row is no
 * table. */
static bool is_scan(const char *detail) {
    return strncmp(detail, "SCAN", 4) == 0 && !strstr(detail, "build_queued") &&
           !strstr(detail, "build_running") && !strstr(detail, "upload_unfinished") &&
           strcmp(detail, "SCAN tenant") != 0 && !strstr(detail, "CONSTANT ROW");
}

/* The names of one object are few, and sorting them by verification costs nothing. */
static bool is_sort(const char *detail, const char *sql) {
    return strstr(detail, "TEMP B-TREE") && !strstr(sql, "FROM alias WHERE");
}

static void explain(sqlite3 *database, const char *sql) {
    char *explained = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *plan = NULL;
    assert_int_equal(sqlite3_prepare_v2(database, explained, -1, &plan, NULL), SQLITE_OK);
    while (sqlite3_step(plan) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(plan, 3);
        if (is_scan(detail) || is_sort(detail, sql) || strstr(detail, "AUTOMATIC"))
            fail_msg("%s\n    %s", sql, detail);
    }
    sqlite3_finalize(plan);
    sqlite3_free(explained);
}

static void every_statement_finds_its_rows_by_an_index(void **state) {
    struct catalog_fixture *f = *state;
    sqlite3 *database = catalog_connection_database(f->connection);
    run_uploads(&f->txn, &f->error);
    int64_t object_id = run_objects(&f->txn, &f->error);
    run_builds(&f->txn, object_id, &f->error);
    const char *statements[128];
    size_t count = 0;
    for (sqlite3_stmt *statement = sqlite3_next_stmt(database, NULL); statement;
         statement = sqlite3_next_stmt(database, statement))
        statements[count++] = sqlite3_sql(statement);
    assert_true(count >= 27);
    for (size_t i = 0; i < count; i++)
        explain(database, statements[i]);
}

/* Without its index the same check must see the scan; else it proves nothing. */
static void the_check_sees_a_missing_index(void **state) {
    struct catalog_fixture *f = *state;
    sqlite3 *database = catalog_connection_database(f->connection);
    catalog_fixture_sql(f, "DROP INDEX build_queued");
    sqlite3_stmt *plan = NULL;
    assert_int_equal(sqlite3_prepare_v2(database,
                                        "EXPLAIN QUERY PLAN SELECT key FROM build WHERE state = 1",
                                        -1, &plan, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(plan), SQLITE_ROW);
    assert_true(is_scan((const char *)sqlite3_column_text(plan, 3)));
    sqlite3_finalize(plan);
}

/* What deleting a parent row must look up: without these, retention would read whole tables. */
static void every_foreign_key_has_an_index_on_its_side(void **state) {
    struct catalog_fixture *f = *state;
    sqlite3 *database = catalog_connection_database(f->connection);
    const char *const lookups[] = {
        "SELECT 1 FROM alias WHERE tenant_id = 1 AND object_id = 2",
        "SELECT 1 FROM upload WHERE tenant_id = 1 AND object_id = 2",
        "SELECT 1 FROM build_input WHERE tenant_id = 1 AND object_id = 2",
        "SELECT 1 FROM build_input WHERE tenant_id = 1 AND key = x'00'",
        "SELECT 1 FROM generation WHERE tenant_id = 1 AND serving = x'00'",
        "SELECT 1 FROM generation WHERE tenant_id = 1 AND pending = x'00'",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lookups); i++) {
        char sql[256];
        sqlite3_stmt *plan = NULL;
        snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", lookups[i]);
        assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &plan, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(plan), SQLITE_ROW);
        /* Two columns of the key, not the tenant alone. */
        const char *detail = (const char *)sqlite3_column_text(plan, 3);
        if (!strstr(detail, "(tenant_id=? AND "))
            fail_msg("%s\n    %s", lookups[i], detail);
        sqlite3_finalize(plan);
    }
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, catalog_fixture_set_up, catalog_fixture_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_statement_finds_its_rows_by_an_index),
        TEST(the_check_sees_a_missing_index),
        TEST(every_foreign_key_has_an_index_on_its_side),
    };
    return cmocka_run_group_tests_name("catalog_plan", tests, NULL, NULL);
}
