/*
 * What the parts of the catalog share: SQLite connections, prepared statements, the schema and the
 * pool of readers. Only cache/catalog*.c and their tests include this.
 *
 * Threads: a connection, and every transaction and query on it, belongs to one thread at a time.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/binary_id.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/request_context.h"
#include "cache/catalog.h"

/* How long a connection waits for a lock of another process, such as a person's sqlite3. */
#define CATALOG_BUSY_TIMEOUT_MS 10000

struct catalog_connection;

/* The file must exist. A reader's connection refuses to write. */
enum err catalog_connection_open(const char *path, bool writable,
                                 struct catalog_connection **ret_connection, struct error *error);
void catalog_connection_free(struct catalog_connection *connection);
DEFINE_CLEANUP(catalog_connection, struct catalog_connection, catalog_connection_free)

sqlite3 *catalog_connection_database(const struct catalog_connection *connection);

/* One statement without parameters whose rows, if any, do not matter. `sql` must be a literal: its
 * address is the key under which the prepared statement is kept. */
enum err catalog_connection_run(struct catalog_connection *connection, const char *sql,
                                struct error *error);

/* The error for a result of an SQLite call on this database; `what` was being done. */
enum err catalog_error(sqlite3 *database, int result, const char *what, struct error *error);

/* Brings an open database to the schema of this build; makes it when it is empty. */
enum err catalog_schema_migrate(sqlite3 *database, const char *path, struct error *error);

struct catalog_txn {
    struct catalog_connection *connection;
    int64_t tenant_id; /* 0: none was looked up yet */
    char tenant[TENANT_NAME_MAX + 1];
};

/*
 * A prepared statement in use. Bind, then step. A binding that fails is reported by the first step;
 * a stored value that cannot be (a digest of another length, a text longer than its field, a
 * negative size) is latched and reported by catalog_query_check. Zero-initialise; bound texts and
 * digests must live until the query ends.
 */
struct catalog_query {
    sqlite3 *database;
    sqlite3_stmt *statement;
    int bind_result;
    bool damaged;
};

/* `sql` must be a literal. `_open_for` looks the tenant up (ERR_NOT_FOUND) and binds it to ?1. */
enum err catalog_query_open(struct catalog_txn *txn, const char *sql,
                            struct catalog_query *ret_query, struct error *error);
enum err catalog_query_open_for(struct catalog_txn *txn, const char *tenant, const char *sql,
                                struct catalog_query *ret_query, struct error *error);
void catalog_query_close(struct catalog_query *query);

void catalog_query_bind_i64(struct catalog_query *query, int position, int64_t value);
void catalog_query_bind_u64(struct catalog_query *query, int position, uint64_t value);
void catalog_query_bind_text(struct catalog_query *query, int position, const char *text);
void catalog_query_bind_digest(struct catalog_query *query, int position,
                               const struct digest *digest);
/* Kind at `position`, text at the next one. */
void catalog_query_bind_id(struct catalog_query *query, int position, const struct binary_id *id);

/* True in ret_row: a row can be read. */
enum err catalog_query_step(struct catalog_query *query, bool *ret_row, struct error *error);
/* For statements that return nothing. */
enum err catalog_query_run(struct catalog_query *query, struct error *error);

int64_t catalog_query_i64(struct catalog_query *query, int column);
uint64_t catalog_query_u64(struct catalog_query *query, int column);
bool catalog_query_is_null(struct catalog_query *query, int column);
void catalog_query_text(struct catalog_query *query, int column, char *ret_text, size_t size);
void catalog_query_digest(struct catalog_query *query, int column, struct digest *ret_digest);
void catalog_query_id(struct catalog_query *query, int column, struct binary_id *ret_id);
/* For statements whose one row is one number; 0 when there is no row. */
enum err catalog_query_number(struct catalog_query *query, int64_t *ret_number,
                              struct error *error);
/* The same, of a truth value. */
enum err catalog_query_flag(struct catalog_query *query, bool *ret_flag, struct error *error);
/* For statements whose rows are ids, of which there are no more than that. */
enum err catalog_query_ids(struct catalog_query *query, struct binary_id *ret_ids, size_t count_max,
                           size_t *ret_count, struct error *error);

/* The next number of one of the tenant's counters, by an UPDATE that returns it: never used again,
 * not even after what it was used for is gone. `sql` must be a literal. */
enum err catalog_count_up(struct catalog_txn *txn, const char *tenant, const char *sql,
                          int64_t *ret_number, struct error *error);

/* ERR_IO when a value of the rows read so far was damaged. */
enum err catalog_query_check(const struct catalog_query *query, struct error *error);

/*
 * Connections for readers, and a gate before them. A checkpoint can start the WAL over only at a
 * moment at which nobody reads from it; under steady load such a moment never comes by itself, so
 * the writer closes the gate for one.
 */
struct catalog_readers;

enum err catalog_readers_new(const char *path, struct catalog_readers **ret_readers,
                             struct error *error);
void catalog_readers_free(struct catalog_readers *readers);
DEFINE_CLEANUP(catalog_readers, struct catalog_readers, catalog_readers_free)

enum err catalog_readers_take(struct catalog_readers *readers,
                              struct catalog_connection **ret_connection, struct error *error);
void catalog_readers_give(struct catalog_readers *readers, struct catalog_connection *connection);

/* Holds new readers back and waits for the present ones; false when they took longer than the
 * timeout. The gate is closed either way until catalog_readers_open_gate. */
bool catalog_readers_close_gate(struct catalog_readers *readers, int64_t timeout_ms);
void catalog_readers_open_gate(struct catalog_readers *readers);

/* The WAL is copied into the database each time it has grown by the first number of pages, and
 * started over, with the gate closed, when it is longer than the second. */
#define CATALOG_CHECKPOINT_PAGES 1000
#define CATALOG_WAL_PAGES_MAX 4096
