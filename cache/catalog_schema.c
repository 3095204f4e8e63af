/*
 * The schema, as numbered migrations. PRAGMA user_version is the number of migrations a file has
 * seen; PRAGMA application_id tells our files from other SQLite databases. A migration that was
 * released is never edited: a change is a new one at the end.
 *
 * Every table has its tenant, and every key begins with it, so that no query can find a row of
 * another tenant by accident. Object and upload numbers count per tenant for the same reason. The
 * indexes that do not begin with the tenant serve the start of the process, which looks at all.
 *
 *   tenant      who data belongs to, by name; also the counters of its objects and uploads
 *   object      stored bytes: one per digest and type; `gone` (an object_loss) once they are lost
 *   alias       the names that find an object
 *   upload      one row per accepted InitiateUpload, in the order of `number`
 *   invitation  when an id was last asked for again because what we have is poor
 *   build       an index that is to be made, or was, from build_input
 *   generation  which build answers for an id, and which one will
 */
#include <string.h>

#include "base/cleanup.h"
#include "cache/catalog_builds.h"
#include "cache/catalog_internal.h"
#include "cache/catalog_uploads.h"

#define APPLICATION_ID 0x53796d62 /* "Symb" */

/* The numbers that partial indexes below have inside. */
_Static_assert(UPLOAD_UPLOADING == 1, "index upload_unfinished");
_Static_assert(BUILD_QUEUED == 1, "index build_queued");
_Static_assert(BUILD_RUNNING == 2, "index build_running");

static const char *const migrations[] = {
    "CREATE TABLE tenant ("
    "  tenant_id INTEGER PRIMARY KEY,"
    "  name TEXT NOT NULL UNIQUE,"
    "  object_count INTEGER NOT NULL DEFAULT 0,"
    "  upload_count INTEGER NOT NULL DEFAULT 0"
    ") STRICT;"
    "INSERT INTO tenant (tenant_id, name) VALUES (1, '" TENANT_DEFAULT "');"

    "CREATE TABLE object ("
    "  tenant_id INTEGER NOT NULL REFERENCES tenant,"
    "  object_id INTEGER NOT NULL,"
    "  digest BLOB NOT NULL CHECK (length(digest) = 32),"
    "  size INTEGER NOT NULL,"
    "  type INTEGER NOT NULL,"
    "  uploader TEXT NOT NULL,"
    "  trust_rank INTEGER NOT NULL,"
    "  contents INTEGER NOT NULL,"
    "  created_ms INTEGER NOT NULL,"
    "  PRIMARY KEY (tenant_id, object_id),"
    "  UNIQUE (tenant_id, digest, type)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE alias ("
    "  tenant_id INTEGER NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  value TEXT NOT NULL,"
    "  object_id INTEGER NOT NULL,"
    "  verification INTEGER NOT NULL,"
    "  PRIMARY KEY (tenant_id, kind, value, object_id),"
    "  FOREIGN KEY (tenant_id, object_id) REFERENCES object ON DELETE CASCADE"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX alias_of_object ON alias (tenant_id, object_id);"

    "CREATE TABLE upload ("
    "  tenant_id INTEGER NOT NULL REFERENCES tenant,"
    "  upload_id TEXT NOT NULL,"
    "  number INTEGER NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  value TEXT NOT NULL,"
    "  type INTEGER NOT NULL,"
    "  hash TEXT NOT NULL,"
    "  declared_size INTEGER NOT NULL,"
    "  state INTEGER NOT NULL,"
    "  reason TEXT NOT NULL,"
    "  uploader TEXT NOT NULL,"
    "  started_ms INTEGER NOT NULL,"
    "  finished_ms INTEGER NOT NULL,"
    "  object_id INTEGER,"
    "  PRIMARY KEY (tenant_id, upload_id),"
    "  FOREIGN KEY (tenant_id, object_id) REFERENCES object"
    ") STRICT, WITHOUT ROWID;"
    "CREATE UNIQUE INDEX upload_of_id ON upload (tenant_id, kind, value, type, number);"
    "CREATE INDEX upload_of_object ON upload (tenant_id, object_id) WHERE object_id IS NOT NULL;"
    "CREATE INDEX upload_unfinished ON upload (tenant_id, upload_id) WHERE state = 1;"

    "CREATE TABLE invitation ("
    "  tenant_id INTEGER NOT NULL REFERENCES tenant,"
    "  kind INTEGER NOT NULL,"
    "  value TEXT NOT NULL,"
    "  type INTEGER NOT NULL,"
    "  invited_ms INTEGER NOT NULL,"
    "  PRIMARY KEY (tenant_id, kind, value, type)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE build ("
    "  tenant_id INTEGER NOT NULL REFERENCES tenant,"
    "  key BLOB NOT NULL CHECK (length(key) = 32),"
    "  state INTEGER NOT NULL,"
    "  reason TEXT NOT NULL,"
    "  queued_ms INTEGER NOT NULL,"
    "  finished_ms INTEGER NOT NULL,"
    "  expires_ms INTEGER NOT NULL,"
    "  attempts INTEGER NOT NULL,"
    "  index_size INTEGER NOT NULL,"
    "  PRIMARY KEY (tenant_id, key)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX build_queued ON build (queued_ms, tenant_id, key) WHERE state = 1;"
    "CREATE INDEX build_running ON build (tenant_id, key) WHERE state = 2;"

    "CREATE TABLE build_input ("
    "  tenant_id INTEGER NOT NULL,"
    "  key BLOB NOT NULL,"
    "  position INTEGER NOT NULL,"
    "  object_id INTEGER NOT NULL,"
    "  role INTEGER NOT NULL,"
    "  PRIMARY KEY (tenant_id, key, position),"
    "  FOREIGN KEY (tenant_id, key) REFERENCES build ON DELETE CASCADE,"
    "  FOREIGN KEY (tenant_id, object_id) REFERENCES object"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX build_input_of_object ON build_input (tenant_id, object_id);"

    "CREATE TABLE generation ("
    "  tenant_id INTEGER NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  value TEXT NOT NULL,"
    "  number INTEGER NOT NULL,"
    "  serving BLOB,"
    "  pending BLOB,"
    "  PRIMARY KEY (tenant_id, kind, value),"
    "  FOREIGN KEY (tenant_id, serving) REFERENCES build,"
    "  FOREIGN KEY (tenant_id, pending) REFERENCES build"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX generation_serving ON generation (tenant_id, serving);"
    "CREATE INDEX generation_pending ON generation (tenant_id, pending);",

    "ALTER TABLE object ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;",
};

static enum err run(sqlite3 *database, const char *sql, const char *what, struct error *error) {
    int result = sqlite3_exec(database, sql, NULL, NULL, NULL);
    return result == SQLITE_OK ? ERR_OK : catalog_error(database, result, what, error);
}

static void finalize(sqlite3_stmt **statement) {
    sqlite3_finalize(*statement);
}

static enum err read_number(sqlite3 *database, const char *sql, int64_t *ret_number,
                            struct error *error) {
    CLEANUP(finalize) sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    if (result != SQLITE_ROW)
        return catalog_error(database, result, "cannot read the catalog's version", error);
    *ret_number = sqlite3_column_int64(statement, 0);
    return ERR_OK;
}

/* Nothing is written before the file has been found to be ours, or empty. */
static enum err check_version(sqlite3 *database, const char *path, int64_t *ret_version,
                              struct error *error) {
    int64_t version = 0, application = 0, tables = 0;
    enum err err = read_number(database, "PRAGMA user_version", &version, error);
    if (err == ERR_OK)
        err = read_number(database, "PRAGMA application_id", &application, error);
    if (err == ERR_OK)
        err = read_number(database, "SELECT count(*) FROM sqlite_schema", &tables, error);
    if (err != ERR_OK)
        return err;
    bool empty = version == 0 && application == 0 && tables == 0;
    if (!empty && application != APPLICATION_ID)
        return error_set(error, ERR_UNSUPPORTED, "%s is an SQLite database, but no catalog", path);
    if (version < 0 || version > (int64_t)ARRAY_SIZE(migrations))
        return error_set(error, ERR_UNSUPPORTED,
                         "the catalog %s has schema %lld; this program knows up to %zu", path,
                         (long long)version, ARRAY_SIZE(migrations));
    *ret_version = version;
    return ERR_OK;
}

static enum err use_wal(sqlite3 *database, struct error *error) {
    CLEANUP(finalize) sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(database, "PRAGMA journal_mode = WAL", -1, &statement, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    if (result != SQLITE_ROW)
        return catalog_error(database, result, "cannot switch the catalog to WAL", error);
    const char *mode = (const char *)sqlite3_column_text(statement, 0);
    if (!mode || strcmp(mode, "wal") != 0)
        return error_set(error, ERR_UNSUPPORTED, "this file system cannot hold a WAL catalog");
    return ERR_OK;
}

static enum err migrate_one(sqlite3 *database, int64_t version, struct error *error) {
    char mark[128];
    sqlite3_snprintf(sizeof(mark), mark, "PRAGMA application_id = %d; PRAGMA user_version = %lld",
                     APPLICATION_ID, (long long)version + 1);
    enum err err = run(database, migrations[version], "cannot migrate the catalog", error);
    if (err == ERR_OK)
        err = run(database, mark, "cannot mark the catalog's version", error);
    return err;
}

/* All steps in one transaction: a file is of the old schema or of the new one. */
static enum err migrate_from(sqlite3 *database, int64_t version, struct error *error) {
    enum err err = ERR_OK;
    for (; err == ERR_OK && version < (int64_t)ARRAY_SIZE(migrations); version++)
        err = migrate_one(database, version, error);
    return err;
}

enum err catalog_schema_migrate(sqlite3 *database, const char *path, struct error *error) {
    int64_t version = 0;
    enum err err = check_version(database, path, &version, error);
    if (err == ERR_OK)
        err = use_wal(database, error);
    if (err == ERR_OK)
        err = run(database, "BEGIN IMMEDIATE", "cannot lock the catalog", error);
    if (err != ERR_OK)
        return err;
    /* Again inside the lock: another process may have migrated in between. */
    err = check_version(database, path, &version, error);
    if (err == ERR_OK)
        err = migrate_from(database, version, error);
    if (err == ERR_OK)
        err = run(database, "COMMIT", "cannot commit the catalog's schema", error);
    if (err != ERR_OK)
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    return err;
}
