#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cache/catalog_internal.h"

#define STATEMENT_MAX 64

struct prepared {
    const char *sql;
    sqlite3_stmt *statement;
};

struct catalog_connection {
    sqlite3 *database;
    struct prepared prepared[STATEMENT_MAX];
    size_t prepared_count;
};

enum err catalog_error(sqlite3 *database, int result, const char *what, struct error *error) {
    const char *text = database ? sqlite3_errmsg(database) : sqlite3_errstr(result);
    enum err code = ERR_INTERNAL;
    switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return error_set(error, ERR_IO, "%s: the catalog file is damaged (%s)", what, text);
    case SQLITE_FULL:
        return error_set(error, ERR_NO_SPACE, "%s: the disk of the catalog is full", what);
    case SQLITE_NOMEM:
        code = ERR_NO_MEMORY;
        break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        code = ERR_UNAVAILABLE;
        break;
    case SQLITE_CONSTRAINT:
        code = result == SQLITE_CONSTRAINT_FOREIGNKEY ? ERR_NOT_FOUND : ERR_EXISTS;
        break;
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
        return error_set(error, ERR_LIMIT, "%s: a value is too large for the catalog", what);
    case SQLITE_IOERR:
        code = database ? err_of_errno(sqlite3_system_errno(database)) : ERR_IO;
        break;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        code = ERR_IO;
        break;
    default:
        break;
    }
    return error_set(error, code, "%s: %s", what, text);
}

/* WAL and FULL: a commit is one fsync of the WAL, and what it returned from survives a power cut.
 */
static enum err configure(sqlite3 *database, bool writable, struct error *error) {
    sqlite3_extended_result_codes(database, 1);
    sqlite3_busy_timeout(database, CATALOG_BUSY_TIMEOUT_MS);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    const char *sql = writable ? "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;"
                               : "PRAGMA foreign_keys = ON; PRAGMA query_only = ON;";
    int result = sqlite3_exec(database, sql, NULL, NULL, NULL);
    if (result != SQLITE_OK)
        return catalog_error(database, result, "cannot set up the catalog connection", error);
    return ERR_OK;
}

enum err catalog_connection_open(const char *path, bool writable,
                                 struct catalog_connection **ret_connection, struct error *error) {
    CLEANUP(cleanup_catalog_connection)
    struct catalog_connection *connection = calloc(1, sizeof(*connection));
    if (!connection)
        return error_set(error, ERR_NO_MEMORY, "no memory for a catalog connection");
    int result = sqlite3_open_v2(path, &connection->database,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result != SQLITE_OK)
        return catalog_error(connection->database, result, "cannot open the catalog", error);
    enum err err = configure(connection->database, writable, error);
    if (err != ERR_OK)
        return err;
    *ret_connection = TAKE(connection);
    return ERR_OK;
}

void catalog_connection_free(struct catalog_connection *connection) {
    if (!connection)
        return;
    for (size_t i = 0; i < connection->prepared_count; i++)
        sqlite3_finalize(connection->prepared[i].statement);
    sqlite3_close(connection->database);
    free(connection);
}

sqlite3 *catalog_connection_database(const struct catalog_connection *connection) {
    return connection->database;
}

static enum err prepare(struct catalog_connection *connection, const char *sql,
                        sqlite3_stmt **ret_statement, struct error *error) {
    for (size_t i = 0; i < connection->prepared_count; i++) {
        if (connection->prepared[i].sql == sql) {
            *ret_statement = connection->prepared[i].statement;
            assert(!sqlite3_stmt_busy(*ret_statement));
            return ERR_OK;
        }
    }
    assert(connection->prepared_count < STATEMENT_MAX);
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v3(connection->database, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                    &statement, NULL);
    if (result != SQLITE_OK)
        return catalog_error(connection->database, result, "cannot prepare a statement", error);
    connection->prepared[connection->prepared_count++] = (struct prepared){sql, statement};
    *ret_statement = statement;
    return ERR_OK;
}

enum err catalog_connection_run(struct catalog_connection *connection, const char *sql,
                                struct error *error) {
    sqlite3_stmt *statement = NULL;
    enum err err = prepare(connection, sql, &statement, error);
    if (err != ERR_OK)
        return err;
    int result = sqlite3_step(statement);
    if (result != SQLITE_DONE && result != SQLITE_ROW)
        err = catalog_error(connection->database, result, sql, error);
    sqlite3_reset(statement);
    return err;
}

enum err catalog_query_open(struct catalog_txn *txn, const char *sql,
                            struct catalog_query *ret_query, struct error *error) {
    struct catalog_query query = {.database = txn->connection->database};
    enum err err = prepare(txn->connection, sql, &query.statement, error);
    if (err == ERR_OK)
        *ret_query = query;
    return err;
}

void catalog_query_close(struct catalog_query *query) {
    if (!query->statement)
        return;
    sqlite3_reset(query->statement);
    sqlite3_clear_bindings(query->statement);
    query->statement = NULL;
}

/* The last tenant is remembered for the rest of the transaction: a unit of work has one. */
static enum err find_tenant(struct catalog_txn *txn, const char *tenant, struct error *error) {
    if (txn->tenant_id && strcmp(txn->tenant, tenant) == 0)
        return ERR_OK;
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err =
        catalog_query_open(txn, "SELECT tenant_id FROM tenant WHERE name = ?1", &query, error);
    if (err != ERR_OK)
        return err;
    catalog_query_bind_text(&query, 1, tenant);
    bool row = false;
    err = catalog_query_step(&query, &row, error);
    if (err != ERR_OK)
        return err;
    if (!row || strlen(tenant) >= sizeof(txn->tenant))
        return error_set(error, ERR_NOT_FOUND, "no tenant \"%.*s\"", TENANT_NAME_MAX, tenant);
    txn->tenant_id = catalog_query_i64(&query, 0);
    memcpy(txn->tenant, tenant, strlen(tenant) + 1);
    return ERR_OK;
}

enum err catalog_query_open_for(struct catalog_txn *txn, const char *tenant, const char *sql,
                                struct catalog_query *ret_query, struct error *error) {
    enum err err = find_tenant(txn, tenant, error);
    if (err == ERR_OK)
        err = catalog_query_open(txn, sql, ret_query, error);
    if (err == ERR_OK)
        catalog_query_bind_i64(ret_query, 1, txn->tenant_id);
    return err;
}

static void note_binding(struct catalog_query *query, int result) {
    if (query->bind_result == SQLITE_OK)
        query->bind_result = result;
}

void catalog_query_bind_i64(struct catalog_query *query, int position, int64_t value) {
    note_binding(query, sqlite3_bind_int64(query->statement, position, value));
}

void catalog_query_bind_u64(struct catalog_query *query, int position, uint64_t value) {
    if (value > INT64_MAX)
        note_binding(query, SQLITE_TOOBIG);
    else
        catalog_query_bind_i64(query, position, (int64_t)value);
}

void catalog_query_bind_text(struct catalog_query *query, int position, const char *text) {
    note_binding(query, sqlite3_bind_text(query->statement, position, text, -1, SQLITE_STATIC));
}

void catalog_query_bind_digest(struct catalog_query *query, int position,
                               const struct digest *digest) {
    note_binding(query, sqlite3_bind_blob(query->statement, position, digest->bytes, DIGEST_SIZE,
                                          SQLITE_STATIC));
}

void catalog_query_bind_id(struct catalog_query *query, int position, const struct binary_id *id) {
    catalog_query_bind_i64(query, position, id->kind);
    catalog_query_bind_text(query, position + 1, id->text);
}

enum err catalog_query_step(struct catalog_query *query, bool *ret_row, struct error *error) {
    int result = query->bind_result;
    if (result == SQLITE_OK)
        result = sqlite3_step(query->statement);
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        return catalog_error(query->database, result, "catalog statement failed", error);
    *ret_row = result == SQLITE_ROW;
    return ERR_OK;
}

enum err catalog_query_run(struct catalog_query *query, struct error *error) {
    bool row = false;
    enum err err = catalog_query_step(query, &row, error);
    assert(!row);
    return err;
}

int64_t catalog_query_i64(struct catalog_query *query, int column) {
    return sqlite3_column_int64(query->statement, column);
}

uint64_t catalog_query_u64(struct catalog_query *query, int column) {
    int64_t value = catalog_query_i64(query, column);
    if (value < 0)
        query->damaged = true;
    return value < 0 ? 0 : (uint64_t)value;
}

bool catalog_query_is_null(struct catalog_query *query, int column) {
    return sqlite3_column_type(query->statement, column) == SQLITE_NULL;
}

void catalog_query_text(struct catalog_query *query, int column, char *ret_text, size_t size) {
    const unsigned char *text = sqlite3_column_text(query->statement, column);
    size_t length = (size_t)sqlite3_column_bytes(query->statement, column);
    ret_text[0] = '\0';
    if (!text || length >= size) {
        query->damaged = true;
        return;
    }
    memcpy(ret_text, text, length);
    ret_text[length] = '\0';
}

void catalog_query_digest(struct catalog_query *query, int column, struct digest *ret_digest) {
    const void *bytes = sqlite3_column_blob(query->statement, column);
    *ret_digest = (struct digest){0};
    if (!bytes || sqlite3_column_bytes(query->statement, column) != DIGEST_SIZE)
        query->damaged = true;
    else
        memcpy(ret_digest->bytes, bytes, DIGEST_SIZE);
}

void catalog_query_id(struct catalog_query *query, int column, struct binary_id *ret_id) {
    ret_id->kind = (enum binary_id_kind)catalog_query_i64(query, column);
    catalog_query_text(query, column + 1, ret_id->text, sizeof(ret_id->text));
    if (!binary_id_kind_name(ret_id->kind))
        query->damaged = true;
}

enum err catalog_query_check(const struct catalog_query *query, struct error *error) {
    if (query->damaged)
        return error_set(error, ERR_IO, "the catalog holds a damaged row (%.200s)",
                         sqlite3_sql(query->statement));
    return ERR_OK;
}

enum err catalog_query_number(struct catalog_query *query, int64_t *ret_number,
                              struct error *error) {
    bool row = false;
    enum err err = catalog_query_step(query, &row, error);
    if (err == ERR_OK)
        *ret_number = row ? catalog_query_i64(query, 0) : 0;
    return err;
}

enum err catalog_query_flag(struct catalog_query *query, bool *ret_flag, struct error *error) {
    int64_t number = 0;
    enum err err = catalog_query_number(query, &number, error);
    if (err == ERR_OK)
        *ret_flag = number != 0;
    return err;
}

enum err catalog_query_ids(struct catalog_query *query, struct binary_id *ret_ids, size_t count_max,
                           size_t *ret_count, struct error *error) {
    size_t count = 0;
    bool row = false;
    enum err err;
    while ((err = catalog_query_step(query, &row, error)) == ERR_OK && row) {
        assert(count < count_max);
        catalog_query_id(query, 0, &ret_ids[count++]);
    }
    if (err == ERR_OK)
        err = catalog_query_check(query, error);
    if (err == ERR_OK)
        *ret_count = count;
    return err;
}

enum err catalog_count_up(struct catalog_txn *txn, const char *tenant, const char *sql,
                          int64_t *ret_number, struct error *error) {
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open_for(txn, tenant, sql, &query, error);
    return err == ERR_OK ? catalog_query_number(&query, ret_number, error) : err;
}
