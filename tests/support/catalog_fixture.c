#include "tests/support/catalog_fixture.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

void catalog_fixture_sql(struct catalog_fixture *fixture, const char *sql) {
    sqlite3 *database = catalog_connection_database(fixture->connection);
    char *text = NULL;
    if (sqlite3_exec(database, sql, NULL, NULL, &text) != SQLITE_OK)
        fail_msg("%s: %s", sql, text);
}

int catalog_fixture_set_up(void **state) {
    struct catalog_fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    scratch_make(&fixture->scratch);
    const char *path = scratch_path(&fixture->scratch, "catalog.sqlite");
    struct catalog *catalog = NULL;
    assert_int_equal(catalog_open(path, &catalog, &fixture->error), ERR_OK);
    catalog_free(catalog);
    assert_int_equal(catalog_connection_open(path, true, &fixture->connection, &fixture->error),
                     ERR_OK);
    fixture->txn.connection = fixture->connection;
    catalog_fixture_sql(fixture, "INSERT INTO tenant (name) VALUES ('other')");
    *state = fixture;
    return 0;
}

int catalog_fixture_tear_down(void **state) {
    struct catalog_fixture *fixture = *state;
    catalog_connection_free(fixture->connection);
    scratch_remove(&fixture->scratch);
    free(fixture);
    return 0;
}

struct binary_id catalog_fixture_id(const char *prefix) {
    char text[41];
    snprintf(text, sizeof(text), "%s%0*d", prefix, (int)(sizeof(text) - 1 - strlen(prefix)), 0);
    struct binary_id id;
    struct error error;
    assert_int_equal(binary_id_parse(BINARY_ID_GNU, span_cstr(text), &id, &error), ERR_OK);
    return id;
}

struct digest catalog_fixture_digest(const char *text) {
    return hash_sha256_of(span_cstr(text));
}
