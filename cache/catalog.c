#include "cache/catalog.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "cache/catalog_internal.h"

/* How many units of work share one commit. More would make the first of them wait for long. */
#define GROUP_MAX 256

/* How long new readers are held back while the WAL is started over. Readers are short; one that is
 * not shall not stop everybody, and the next attempt comes soon. */
#define GATE_TIMEOUT_MS 1000
#define GATE_BUSY_TIMEOUT_MS 100

/* One caller of catalog_write; lives on its stack until the writer says that it is done. */
struct request {
    catalog_function *function;
    void *argument;
    struct error *error;
    enum err err;
    bool done;
    pthread_cond_t finished;
    struct request *next;
};

struct catalog {
    struct catalog_readers *readers;
    struct catalog_connection *connection; /* the writer's */
    int wal_pages;                         /* the writer's: length after the last commit */
    int wal_pages_checkpointed;            /* and when it was last copied into the database */
    pthread_t writer;
    bool writer_started;
    pthread_mutex_t mutex; /* guards what follows, and `done` of requests */
    pthread_cond_t wake;
    bool stopping;
    struct catalog_stats stats;
    bool failing; /* the last group could not be committed */
    struct request *first;
    struct request **end;
};

/* Up to GROUP_MAX of the waiting requests, as a list; NULL when the catalog is being closed. */
static struct request *take_group(struct catalog *catalog) {
    pthread_mutex_lock(&catalog->mutex);
    while (!catalog->first && !catalog->stopping)
        pthread_cond_wait(&catalog->wake, &catalog->mutex);
    struct request *group = catalog->first;
    struct request **end = &catalog->first;
    for (int count = 0; *end && count < GROUP_MAX; count++) {
        end = &(*end)->next;
        catalog->stats.waiting--;
    }
    catalog->first = *end;
    if (!catalog->first)
        catalog->end = &catalog->first;
    if (group)
        *end = NULL;
    pthread_mutex_unlock(&catalog->mutex);
    return group;
}

/* False when the transaction as a whole is lost: SQLite ends it by itself on a full disk, an
 * I/O error or want of memory. */
static bool run_request(struct catalog *catalog, struct request *request) {
    struct catalog_connection *connection = catalog->connection;
    request->err = catalog_connection_run(connection, "SAVEPOINT work", request->error);
    if (request->err != ERR_OK)
        return false;
    struct catalog_txn txn = {.connection = connection};
    request->err = request->function(&txn, request->argument, request->error);
    if (sqlite3_get_autocommit(catalog_connection_database(connection)))
        return false;
    struct error failure;
    enum err err = ERR_OK;
    if (request->err != ERR_OK)
        err = catalog_connection_run(connection, "ROLLBACK TO work", &failure);
    if (err == ERR_OK)
        err = catalog_connection_run(connection, "RELEASE work", &failure);
    return err == ERR_OK;
}

static void fail_group(struct request *group, const struct error *cause) {
    for (struct request *request = group; request; request = request->next)
        if (request->err == ERR_OK)
            request->err = error_set(request->error,
                                     cause->code == ERR_NO_SPACE ? ERR_NO_SPACE : ERR_IO,
                                     "the catalog could not commit: %.400s", cause->text);
}

/* The one that lost it mostly knows why. */
static enum err lost_by(const struct request *request, struct error *error) {
    if (request->err == ERR_OK)
        return error_set(error, ERR_IO, "the transaction was lost");
    *error = *request->error;
    return request->err;
}

static enum err run_group(struct catalog *catalog, struct request *group, struct error *error) {
    enum err err = catalog_connection_run(catalog->connection, "BEGIN IMMEDIATE", error);
    if (err != ERR_OK)
        return err;
    for (struct request *request = group; request; request = request->next)
        if (!run_request(catalog, request))
            return lost_by(request, error);
    FAULT_POINT("catalog.before_commit");
    err = catalog_connection_run(catalog->connection, "COMMIT", error);
    FAULT_POINT("catalog.after_commit");
    return err;
}

static bool commit_group(struct catalog *catalog, struct request *group) {
    struct error error, ignored;
    if (run_group(catalog, group, &error) == ERR_OK)
        return true;
    if (!sqlite3_get_autocommit(catalog_connection_database(catalog->connection)))
        catalog_connection_run(catalog->connection, "ROLLBACK", &ignored);
    fail_group(group, &error);
    return false;
}

/* A request is its caller's again as soon as it is done and the mutex is free. */
static void finish_group(struct catalog *catalog, struct request *group, bool committed) {
    pthread_mutex_lock(&catalog->mutex);
    catalog->stats.commits += committed;
    catalog->failing = !committed;
    catalog->stats.wal_pages = (uint64_t)catalog->wal_pages;
    for (struct request *request = group; request; request = request->next) {
        catalog->stats.writes++;
        request->done = true;
        pthread_cond_signal(&request->finished);
    }
    pthread_mutex_unlock(&catalog->mutex);
}

static int note_wal_pages(void *argument, sqlite3 *database, const char *name, int pages) {
    (void)database;
    (void)name;
    struct catalog *catalog = argument;
    if (pages < catalog->wal_pages)
        catalog->wal_pages_checkpointed = 0;
    catalog->wal_pages = pages;
    return SQLITE_OK;
}

/* A checkpoint that fails is tried again after the next growth; nothing is lost meanwhile. */
static void checkpoint(struct catalog *catalog) {
    if (catalog->wal_pages - catalog->wal_pages_checkpointed < CATALOG_CHECKPOINT_PAGES)
        return;
    catalog->wal_pages_checkpointed = catalog->wal_pages;
    sqlite3 *database = catalog_connection_database(catalog->connection);
    sqlite3_wal_checkpoint_v2(database, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (catalog->wal_pages < CATALOG_WAL_PAGES_MAX)
        return;
    if (catalog_readers_close_gate(catalog->readers, GATE_TIMEOUT_MS)) {
        sqlite3_busy_timeout(database, GATE_BUSY_TIMEOUT_MS);
        sqlite3_wal_checkpoint_v2(database, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        sqlite3_busy_timeout(database, CATALOG_BUSY_TIMEOUT_MS);
    }
    catalog_readers_open_gate(catalog->readers);
}

static void *run_writer(void *argument) {
    struct catalog *catalog = argument;
    struct request *group;
    while ((group = take_group(catalog))) {
        bool committed = commit_group(catalog, group);
        finish_group(catalog, group, committed);
        checkpoint(catalog);
    }
    return NULL;
}

/* Ours alone to read from the start; SQLite gives the WAL the same mode. */
static enum err create_file(const char *path, struct error *error) {
    CLEANUP(cleanup_fd) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot open the catalog %s", path);
    char copy[PATH_MAX]; /* dirname writes into it; a longer path could not be opened above */
    snprintf(copy, sizeof(copy), "%s", path);
    CLEANUP(cleanup_fd) int directory = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0 || fsync(directory) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot sync the directory of %s", path);
    return ERR_OK;
}

static enum err start(struct catalog *catalog, const char *path, struct error *error) {
    enum err err = create_file(path, error);
    if (err == ERR_OK)
        err = catalog_connection_open(path, true, &catalog->connection, error);
    if (err != ERR_OK)
        return err;
    sqlite3 *database = catalog_connection_database(catalog->connection);
    err = catalog_schema_migrate(database, path, error);
    if (err == ERR_OK)
        err = catalog_readers_new(path, &catalog->readers, error);
    if (err != ERR_OK)
        return err;
    sqlite3_wal_hook(database, note_wal_pages, catalog);
    int failure = pthread_create(&catalog->writer, NULL, run_writer, catalog);
    if (failure)
        return error_set_errno(error, ERR_UNAVAILABLE, failure, "cannot start the catalog writer");
    catalog->writer_started = true;
    return ERR_OK;
}

enum err catalog_open(const char *path, struct catalog **ret_catalog, struct error *error) {
    CLEANUP(cleanup_catalog) struct catalog *catalog = calloc(1, sizeof(*catalog));
    if (!catalog)
        return error_set(error, ERR_NO_MEMORY, "no memory for the catalog");
    pthread_mutex_init(&catalog->mutex, NULL);
    pthread_cond_init(&catalog->wake, NULL);
    catalog->end = &catalog->first;
    enum err err = start(catalog, path, error);
    if (err == ERR_OK)
        *ret_catalog = TAKE(catalog);
    return err;
}

void catalog_free(struct catalog *catalog) {
    if (!catalog)
        return;
    pthread_mutex_lock(&catalog->mutex);
    catalog->stopping = true;
    pthread_cond_signal(&catalog->wake);
    pthread_mutex_unlock(&catalog->mutex);
    if (catalog->writer_started)
        pthread_join(catalog->writer, NULL);
    catalog_readers_free(catalog->readers);
    catalog_connection_free(catalog->connection);
    pthread_cond_destroy(&catalog->wake);
    pthread_mutex_destroy(&catalog->mutex);
    free(catalog);
}

enum err catalog_write(struct catalog *catalog, catalog_function *function, void *argument,
                       struct error *error) {
    assert(!pthread_equal(pthread_self(), catalog->writer));
    struct request request = {.function = function, .argument = argument, .error = error};
    pthread_cond_init(&request.finished, NULL);
    pthread_mutex_lock(&catalog->mutex);
    *catalog->end = &request;
    catalog->end = &request.next;
    catalog->stats.waiting++;
    pthread_cond_signal(&catalog->wake);
    while (!request.done)
        pthread_cond_wait(&request.finished, &catalog->mutex);
    pthread_mutex_unlock(&catalog->mutex);
    pthread_cond_destroy(&request.finished);
    return request.err;
}

static enum err read_on(struct catalog_connection *connection, catalog_function *function,
                        void *argument, struct error *error) {
    enum err err = catalog_connection_run(connection, "BEGIN", error);
    if (err != ERR_OK)
        return err;
    struct catalog_txn txn = {.connection = connection};
    err = function(&txn, argument, error);
    /* Nothing was written, so that this can only end the snapshot. */
    struct error ignored;
    catalog_connection_run(connection, "ROLLBACK", &ignored);
    return err;
}

enum err catalog_read(struct catalog *catalog, catalog_function *function, void *argument,
                      struct error *error) {
    struct catalog_connection *connection = NULL;
    enum err err = catalog_readers_take(catalog->readers, &connection, error);
    if (err != ERR_OK)
        return err;
    err = read_on(connection, function, argument, error);
    catalog_readers_give(catalog->readers, connection);
    return err;
}

static enum err try_read(struct catalog_txn *txn, void *argument, struct error *error) {
    (void)argument;
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    bool row = false;
    enum err err = catalog_query_open(txn, "SELECT 1 FROM tenant LIMIT 1", &query, error);
    return err == ERR_OK ? catalog_query_step(&query, &row, error) : err;
}

/* Something has to change, or nothing is written. Numbers of uploads may have gaps. */
static enum err try_write(struct catalog_txn *txn, void *argument, struct error *error) {
    (void)argument;
    CLEANUP(catalog_query_close) struct catalog_query query = {0};
    enum err err = catalog_query_open(txn,
                                      "UPDATE tenant SET upload_count = upload_count + 1 WHERE"
                                      " tenant_id = (SELECT min(tenant_id) FROM tenant)",
                                      &query, error);
    return err == ERR_OK ? catalog_query_run(&query, error) : err;
}

void catalog_check(struct catalog *catalog, struct catalog_health *ret_health,
                   struct error *error) {
    pthread_mutex_lock(&catalog->mutex);
    bool failing = catalog->failing;
    pthread_mutex_unlock(&catalog->mutex);
    ret_health->writable = !failing || catalog_write(catalog, try_write, NULL, error) == ERR_OK;
    ret_health->readable = catalog_read(catalog, try_read, NULL, error) == ERR_OK;
}

void catalog_stats_read(struct catalog *catalog, struct catalog_stats *ret_stats) {
    pthread_mutex_lock(&catalog->mutex);
    *ret_stats = catalog->stats;
    pthread_mutex_unlock(&catalog->mutex);
}
