#include "cache/catalog.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/catalog_internal.h"
#include "cache/catalog_uploads.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

struct fixture {
    struct scratch scratch;
    const char *path;
    struct catalog *catalog;
};

static struct error error;

static int set_up(void **state) {
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    scratch_make(&f->scratch);
    f->path = scratch_path(&f->scratch, "catalog.sqlite");
    assert_int_equal(catalog_open(f->path, &f->catalog, &error), ERR_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    catalog_free(f->catalog);
    scratch_remove(&f->scratch);
    free(f);
    return 0;
}

static void close_catalog(struct fixture *f) {
    catalog_free(f->catalog);
    f->catalog = NULL;
}

static enum err reopen(struct fixture *f) {
    close_catalog(f);
    return catalog_open(f->path, &f->catalog, &error);
}

/* SQL on a connection of its own, past the catalog. */
static void run_sql(struct fixture *f, const char *sql) {
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open(f->path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

static struct upload_row upload_of(const char *upload_id) {
    struct upload_row row = {
        .id = {.kind = BINARY_ID_GNU, .text = "abcd"},
        .type = ARTIFACT_DEBUGINFO,
        .state = UPLOAD_UPLOADING,
    };
    snprintf(row.upload_id, sizeof(row.upload_id), "%s", upload_id);
    return row;
}

static enum err insert(struct catalog_txn *txn, void *argument, struct error *ret_error) {
    struct upload_row row = upload_of(argument);
    return catalog_upload_insert(txn, TENANT_DEFAULT, &row, ret_error);
}

static enum err insert_and_fail(struct catalog_txn *txn, void *argument, struct error *ret_error) {
    enum err err = insert(txn, argument, ret_error);
    return err == ERR_OK ? error_set(ret_error, ERR_STATE, "changed my mind") : err;
}

static enum err find(struct catalog_txn *txn, void *argument, struct error *ret_error) {
    struct upload_row row;
    return catalog_upload_get(txn, TENANT_DEFAULT, argument, &row, ret_error);
}

static enum err write_one(struct fixture *f, catalog_function *function, const char *upload_id) {
    return catalog_write(f->catalog, function, (void *)upload_id, &error);
}

static void assert_there(struct fixture *f, const char *upload_id) {
    assert_int_equal(catalog_read(f->catalog, find, (void *)upload_id, &error), ERR_OK);
}

static void assert_not_there(struct fixture *f, const char *upload_id) {
    assert_int_equal(catalog_read(f->catalog, find, (void *)upload_id, &error), ERR_NOT_FOUND);
}

static struct catalog_stats stats_of(struct fixture *f) {
    struct catalog_stats stats;
    catalog_stats_read(f->catalog, &stats);
    return stats;
}

static void a_read_sees_what_was_written_before(void **state) {
    struct fixture *f = *state;
    assert_not_there(f, "u1");
    assert_int_equal(write_one(f, insert, "u1"), ERR_OK);
    assert_there(f, "u1");
    assert_int_equal(reopen(f), ERR_OK);
    assert_there(f, "u1");
}

static void the_file_is_its_owners_alone(void **state) {
    struct fixture *f = *state;
    struct stat status;
    assert_int_equal(stat(f->path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void commits_are_synced_in_full_and_foreign_keys_are_on(void **state) {
    struct fixture *f = *state;
    CLEANUP(cleanup_catalog_connection) struct catalog_connection *connection = NULL;
    assert_int_equal(catalog_connection_open(f->path, true, &connection, &error), ERR_OK);
    const char *const pragmas[] = {"PRAGMA synchronous", "PRAGMA foreign_keys",
                                   "PRAGMA journal_mode"};
    const char *const values[] = {"2", "1", "wal"};
    for (size_t i = 0; i < ARRAY_SIZE(pragmas); i++) {
        struct catalog_txn txn = {.connection = connection};
        struct catalog_query query;
        bool row = false;
        char value[16];
        assert_int_equal(catalog_query_open(&txn, pragmas[i], &query, &error), ERR_OK);
        assert_int_equal(catalog_query_step(&query, &row, &error), ERR_OK);
        catalog_query_text(&query, 0, value, sizeof(value));
        assert_string_equal(value, values[i]);
        catalog_query_close(&query);
    }
}

static void a_newer_schema_is_refused_and_left_alone(void **state) {
    struct fixture *f = *state;
    close_catalog(f);
    run_sql(f, "PRAGMA user_version = 1000");
    assert_int_equal(reopen(f), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "has schema 1000"));
    run_sql(f, "PRAGMA user_version = 2");
    assert_int_equal(reopen(f), ERR_OK);
}

static void another_programs_database_is_refused(void **state) {
    struct fixture *f = *state;
    close_catalog(f);
    unlink(f->path);
    run_sql(f, "CREATE TABLE theirs (x)");
    assert_int_equal(reopen(f), ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "no catalog"));
}

static void overwrite(struct fixture *f, off_t from, size_t size) {
    int fd = open(f->path, O_WRONLY);
    assert_true(fd >= 0);
    char garbage[4096];
    memset(garbage, 0x5a, sizeof(garbage));
    for (size_t done = 0; done < size; done += sizeof(garbage))
        assert_int_equal(pwrite(fd, garbage, sizeof(garbage), from + (off_t)done), sizeof(garbage));
    close(fd);
}

static void a_damaged_file_is_said_to_be_damaged(void **state) {
    struct fixture *f = *state;
    close_catalog(f);
    struct stat status;
    assert_int_equal(stat(f->path, &status), 0);
    overwrite(f, 4096, (size_t)status.st_size - 4096);
    enum err err = reopen(f);
    if (err == ERR_OK)
        err = write_one(f, insert, "u1");
    assert_int_equal(err, ERR_IO);
    assert_non_null(strstr(error.text, "the catalog file is damaged"));
    close_catalog(f);
    overwrite(f, 0, 4096);
    assert_int_equal(reopen(f), ERR_IO);
    assert_non_null(strstr(error.text, "the catalog file is damaged"));
}

static void a_directory_that_is_not_there_is_an_error(void **state) {
    (void)state;
    struct catalog *catalog = NULL;
    assert_int_equal(catalog_open("/nonexistent/catalog.sqlite", &catalog, &error), ERR_IO);
    assert_null(catalog);
}

static void a_write_that_fails_is_undone(void **state) {
    struct fixture *f = *state;
    assert_int_equal(write_one(f, insert_and_fail, "u1"), ERR_STATE);
    assert_string_equal(error.text, "changed my mind");
    assert_not_there(f, "u1");
    assert_int_equal(write_one(f, insert, "u1"), ERR_OK);
    assert_int_equal(write_one(f, insert, "u1"), ERR_EXISTS);
}

static void a_read_cannot_write(void **state) {
    struct fixture *f = *state;
    assert_int_equal(catalog_read(f->catalog, insert, "u1", &error), ERR_IO);
    assert_not_there(f, "u1");
}

/* Holds the writer inside a unit of work, so that what is written meanwhile forms a group. */
struct hold {
    struct fixture *fixture;
    pthread_t thread;
    atomic_bool entered;
    atomic_bool released;
    enum err err;
};

static enum err wait_for_release(struct catalog_txn *txn, void *argument, struct error *ret_error) {
    (void)txn;
    (void)ret_error;
    struct hold *hold = argument;
    atomic_store(&hold->entered, true);
    while (!atomic_load(&hold->released))
        sched_yield();
    return ERR_OK;
}

static void *run_hold(void *argument) {
    struct hold *hold = argument;
    struct error own;
    hold->err = catalog_write(hold->fixture->catalog, wait_for_release, hold, &own);
    return NULL;
}

static void hold_writer(struct hold *hold, struct fixture *f) {
    *hold = (struct hold){.fixture = f};
    assert_int_equal(pthread_create(&hold->thread, NULL, run_hold, hold), 0);
    while (!atomic_load(&hold->entered))
        sched_yield();
}

static void release_writer(struct hold *hold) {
    atomic_store(&hold->released, true);
    pthread_join(hold->thread, NULL);
    assert_int_equal(hold->err, ERR_OK);
}

#define GROUP 24

struct writer {
    struct fixture *fixture;
    pthread_t thread;
    catalog_function *function;
    char upload_id[UPLOAD_ID_SIZE];
    enum err err;
    struct error error;
};

static void *run_writer(void *argument) {
    struct writer *writer = argument;
    writer->err = catalog_write(writer->fixture->catalog, writer->function, writer->upload_id,
                                &writer->error);
    return NULL;
}

/* Runs GROUP units of work, chosen by number, as one group. */
static void write_group(struct fixture *f, struct writer writers[static GROUP],
                        catalog_function *(*choose)(int)) {
    struct hold hold;
    hold_writer(&hold, f);
    for (int i = 0; i < GROUP; i++) {
        writers[i] = (struct writer){.fixture = f, .function = choose(i)};
        snprintf(writers[i].upload_id, UPLOAD_ID_SIZE, "u%d", i);
        assert_int_equal(pthread_create(&writers[i].thread, NULL, run_writer, &writers[i]), 0);
    }
    while (stats_of(f).waiting < GROUP)
        sched_yield();
    release_writer(&hold);
    for (int i = 0; i < GROUP; i++)
        pthread_join(writers[i].thread, NULL);
}

static catalog_function *every_third_fails(int i) {
    return i % 3 == 0 ? insert_and_fail : insert;
}

static void a_group_shares_one_commit_and_failures_are_undone_alone(void **state) {
    struct fixture *f = *state;
    struct writer writers[GROUP];
    struct catalog_stats before = stats_of(f);
    write_group(f, writers, every_third_fails);
    struct catalog_stats after = stats_of(f);
    assert_int_equal(after.commits - before.commits, 2); /* the holder's, and the group's */
    assert_int_equal(after.writes - before.writes, GROUP + 1);
    for (int i = 0; i < GROUP; i++) {
        assert_int_equal(writers[i].err, i % 3 == 0 ? ERR_STATE : ERR_OK);
        if (i % 3 == 0)
            assert_not_there(f, writers[i].upload_id);
        else
            assert_there(f, writers[i].upload_id);
    }
}

/* A foreign key that is checked at COMMIT only, and then fails. */
static enum err spoil_commit(struct catalog_txn *txn, void *argument, struct error *ret_error) {
    enum err err = insert(txn, argument, ret_error);
    if (err != ERR_OK)
        return err;
    sqlite3 *database = catalog_connection_database(txn->connection);
    sqlite3_exec(database, "PRAGMA defer_foreign_keys = ON", NULL, NULL, NULL);
    sqlite3_exec(database, "UPDATE upload SET object_id = 999", NULL, NULL, NULL);
    return ERR_OK;
}

static catalog_function *the_fifth_spoils(int i) {
    return i == 5 ? spoil_commit : every_third_fails(i);
}

static enum err lose_transaction(struct catalog_txn *txn, void *argument, struct error *ret_error) {
    (void)argument;
    (void)ret_error;
    sqlite3_exec(catalog_connection_database(txn->connection), "ROLLBACK", NULL, NULL, NULL);
    return ERR_OK;
}

static catalog_function *the_fifth_loses_the_transaction(int i) {
    return i == 5 ? lose_transaction : insert;
}

static void assert_nothing_written_but_still_working(struct fixture *f,
                                                     struct writer writers[static GROUP]) {
    for (int i = 0; i < GROUP; i++) {
        assert_int_not_equal(writers[i].err, ERR_OK);
        assert_int_equal(writers[i].err, writers[i].error.code);
        assert_not_there(f, writers[i].upload_id);
    }
    assert_int_equal(write_one(f, insert, "afterwards"), ERR_OK);
    assert_there(f, "afterwards");
}

static void when_the_commit_fails_nobody_is_told_it_succeeded(void **state) {
    struct fixture *f = *state;
    struct writer writers[GROUP];
    write_group(f, writers, the_fifth_spoils);
    assert_int_equal(writers[0].err, ERR_STATE);
    assert_int_equal(writers[1].err, ERR_IO);
    assert_non_null(strstr(writers[1].error.text, "could not commit"));
    assert_nothing_written_but_still_working(f, writers);
}

static void when_the_transaction_is_lost_nobody_is_told_it_succeeded(void **state) {
    struct fixture *f = *state;
    struct writer writers[GROUP];
    write_group(f, writers, the_fifth_loses_the_transaction);
    assert_nothing_written_but_still_working(f, writers);
}

#define MANY_THREADS 8
#define MANY_WRITES 25

static void *write_many(void *argument) {
    static atomic_int next;
    struct fixture *f = argument;
    struct error own;
    for (int i = 0; i < MANY_WRITES; i++) {
        char upload_id[UPLOAD_ID_SIZE];
        snprintf(upload_id, sizeof(upload_id), "many-%d", atomic_fetch_add(&next, 1));
        assert_int_equal(catalog_write(f->catalog, insert, upload_id, &own), ERR_OK);
        assert_int_equal(catalog_read(f->catalog, find, upload_id, &own), ERR_OK);
    }
    return NULL;
}

static void many_threads_write_and_read_at_once(void **state) {
    struct fixture *f = *state;
    pthread_t threads[MANY_THREADS];
    for (size_t i = 0; i < MANY_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, f), 0);
    for (size_t i = 0; i < MANY_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < MANY_THREADS * MANY_WRITES; i++) {
        char upload_id[UPLOAD_ID_SIZE];
        snprintf(upload_id, sizeof(upload_id), "many-%d", i);
        assert_there(f, upload_id);
    }
}

static enum err insert_and_die(struct catalog_txn *txn, void *argument, struct error *ret_error) {
    enum err err = insert(txn, argument, ret_error);
    kill(getpid(), SIGKILL);
    return err;
}

/* Opens a catalog of its own, since threads do not live on across fork. */
static void write_and_die(const char *path, bool before_commit) {
    struct catalog *catalog = NULL;
    if (catalog_open(path, &catalog, &error) != ERR_OK ||
        catalog_write(catalog, insert, "done", &error) != ERR_OK)
        _exit(1);
    if (before_commit)
        catalog_write(catalog, insert_and_die, "not done", &error);
    kill(getpid(), SIGKILL);
    _exit(1);
}

static void a_killed_process_loses_nothing_it_had_committed(void **state) {
    struct fixture *f = *state;
    close_catalog(f);
    for (int before_commit = 0; before_commit < 2; before_commit++) {
        unlink(f->path);
        pid_t child = fork();
        if (child == 0)
            write_and_die(f->path, before_commit);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_int_equal(catalog_open(f->path, &f->catalog, &error), ERR_OK);
        assert_there(f, "done");
        assert_not_there(f, "not done");
        close_catalog(f);
    }
}

static enum err insert_bulk(struct catalog_txn *txn, void *argument, struct error *ret_error) {
    int *next = argument;
    struct upload_row row = upload_of("");
    memset(row.reason, 'r', sizeof(row.reason) - 1);
    enum err err = ERR_OK;
    for (int i = 0; err == ERR_OK && i < 1000; i++) {
        snprintf(row.upload_id, sizeof(row.upload_id), "bulk-%d", (*next)++);
        err = catalog_upload_insert(txn, TENANT_DEFAULT, &row, ret_error);
    }
    return err;
}

/* Readers that relieve each other: each stays until the next has come, so that without a gate
 * there is no moment without one. A closed gate lets none come, and they give up soon. */
struct reading {
    struct fixture *fixture;
    atomic_bool stop;
    atomic_uint entered;
};

static enum err read_until_relieved(struct catalog_txn *txn, void *argument,
                                    struct error *ret_error) {
    struct reading *reading = argument;
    enum err err = find(txn, "bulk-0", ret_error);
    unsigned own = atomic_fetch_add(&reading->entered, 1) + 1;
    int64_t patience_ms = clock_mono_ms() + 200;
    while (atomic_load(&reading->entered) == own && !atomic_load(&reading->stop) &&
           clock_mono_ms() < patience_ms)
        sched_yield();
    return err;
}

static void *read_always(void *argument) {
    struct reading *reading = argument;
    struct error own;
    while (!atomic_load(&reading->stop))
        assert_int_equal(
            catalog_read(reading->fixture->catalog, read_until_relieved, reading, &own), ERR_OK);
    return NULL;
}

static void steady_readers_do_not_make_the_log_grow_for_ever(void **state) {
    struct fixture *f = *state;
    int next = 0;
    uint64_t written = 0, last = 0;
    assert_int_equal(catalog_write(f->catalog, insert_bulk, &next, &error), ERR_OK);
    struct reading reading = {.fixture = f};
    pthread_t threads[3];
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_always, &reading), 0);
    while (written < (uint64_t)2 * CATALOG_WAL_PAGES_MAX) {
        assert_int_equal(catalog_write(f->catalog, insert_bulk, &next, &error), ERR_OK);
        uint64_t pages = stats_of(f).wal_pages;
        written += pages > last ? pages - last : pages;
        last = pages;
        assert_true(pages < CATALOG_WAL_PAGES_MAX + 2000);
    }
    atomic_store(&reading.stop, true);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
}

/* Runs inside a read, which it thereby keeps open while the log grows past its limit. */
static enum err write_during_read(struct catalog_txn *txn, void *argument,
                                  struct error *ret_error) {
    struct fixture *f = argument;
    int next = 0;
    enum err err = find(txn, "u1", ret_error);
    while (err == ERR_OK && stats_of(f).wal_pages < CATALOG_WAL_PAGES_MAX)
        err = catalog_write(f->catalog, insert_bulk, &next, ret_error);
    if (err == ERR_OK)
        err = catalog_write(f->catalog, insert, "u2", ret_error);
    return err;
}

static void a_reader_that_stays_delays_the_writer_but_does_not_stop_it(void **state) {
    struct fixture *f = *state;
    assert_int_equal(write_one(f, insert, "u1"), ERR_OK);
    assert_int_equal(catalog_read(f->catalog, write_during_read, f, &error), ERR_OK);
    assert_there(f, "u2");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_read_sees_what_was_written_before),
        TEST(the_file_is_its_owners_alone),
        TEST(commits_are_synced_in_full_and_foreign_keys_are_on),
        TEST(a_newer_schema_is_refused_and_left_alone),
        TEST(another_programs_database_is_refused),
        TEST(a_damaged_file_is_said_to_be_damaged),
        TEST(a_directory_that_is_not_there_is_an_error),
        TEST(a_write_that_fails_is_undone),
        TEST(a_read_cannot_write),
        TEST(a_group_shares_one_commit_and_failures_are_undone_alone),
        TEST(when_the_commit_fails_nobody_is_told_it_succeeded),
        TEST(when_the_transaction_is_lost_nobody_is_told_it_succeeded),
        TEST(many_threads_write_and_read_at_once),
        TEST(a_killed_process_loses_nothing_it_had_committed),
        TEST(steady_readers_do_not_make_the_log_grow_for_ever),
        TEST(a_reader_that_stays_delays_the_writer_but_does_not_stop_it),
    };
    return cmocka_run_group_tests_name("catalog", tests, NULL, NULL);
}
