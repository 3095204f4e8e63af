#include "cache/blob_store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

static struct scratch scratch;
static struct error error;

static int set_up(void **state) {
    scratch_make(&scratch);
    struct blob_store *store = NULL;
    assert_int_equal(blob_store_open(scratch.fd, &store, &error), ERR_OK);
    *state = store;
    return 0;
}

static int tear_down(void **state) {
    blob_store_free(*state);
    scratch_remove(&scratch);
    return 0;
}

static struct digest put(struct blob_store *store, const char *text) {
    CLEANUP(cleanup_blob_writer) struct blob_writer *writer = NULL;
    struct digest digest;
    assert_int_equal(blob_writer_open(store, strlen(text), &writer, &error), ERR_OK);
    assert_int_equal(blob_writer_append(writer, text, strlen(text), &error), ERR_OK);
    assert_int_equal(blob_writer_seal(writer, &digest, &error), ERR_OK);
    assert_int_equal(blob_writer_publish(writer, &error), ERR_OK);
    return digest;
}

static void assert_holds(int fd, const char *text) {
    char bytes[256] = {0};
    size_t size = 0;
    assert_int_equal(fd_read_full(fd, bytes, sizeof(bytes) - 1, &size, &error), ERR_OK);
    assert_string_equal(bytes, text);
    close(fd);
}

static void assert_stored(struct blob_store *store, const struct digest *digest, const char *text) {
    int fd = -1;
    assert_int_equal(blob_store_open_blob(store, digest, &fd, &error), ERR_OK);
    assert_holds(fd, text);
}

static uint64_t sweep(struct blob_store *store) {
    uint64_t removed = 999;
    assert_int_equal(blob_store_sweep(store, &removed, &error), ERR_OK);
    return removed;
}

static void a_published_blob_lies_under_its_sha256(void **state) {
    struct digest digest = put(*state, "abc");
    struct digest expected = hash_sha256_of(span_cstr("abc"));
    assert_true(digest_equal(&digest, &expected));
    assert_stored(*state, &digest, "abc");
    const char *path = scratch_path(
        &scratch, "blobs/ba/7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 3);
}

static void bytes_may_come_in_pieces_of_any_size(void **state) {
    CLEANUP(cleanup_blob_writer) struct blob_writer *writer = NULL;
    assert_int_equal(blob_writer_open(*state, 100, &writer, &error), ERR_OK);
    const char *pieces[] = {"", "a", "", "bc", "defghijk"};
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
        assert_int_equal(blob_writer_append(writer, pieces[i], strlen(pieces[i]), &error), ERR_OK);
    assert_int_equal(blob_writer_size(writer), 11);
    struct digest digest, expected = hash_sha256_of(span_cstr("abcdefghijk"));
    assert_int_equal(blob_writer_seal(writer, &digest, &error), ERR_OK);
    assert_true(digest_equal(&digest, &expected));
}

static void a_byte_over_the_declared_size_is_refused(void **state) {
    CLEANUP(cleanup_blob_writer) struct blob_writer *writer = NULL;
    assert_int_equal(blob_writer_open(*state, 4, &writer, &error), ERR_OK);
    assert_int_equal(blob_writer_append(writer, "abc", 3, &error), ERR_OK);
    assert_int_equal(blob_writer_append(writer, "de", 2, &error), ERR_LIMIT);
    assert_string_equal(error.text, "more than the declared 4 bytes");
    assert_int_equal(blob_writer_size(writer), 3);
    assert_int_equal(blob_writer_append(writer, "d", 1, &error), ERR_OK);
}

static void an_empty_blob_is_a_blob(void **state) {
    struct digest digest = put(*state, "");
    assert_stored(*state, &digest, "");
}

static void nothing_is_visible_before_publish(void **state) {
    CLEANUP(cleanup_blob_writer) struct blob_writer *writer = NULL;
    struct digest digest;
    int fd = -1;
    assert_int_equal(blob_writer_open(*state, 3, &writer, &error), ERR_OK);
    assert_int_equal(blob_writer_append(writer, "abc", 3, &error), ERR_OK);
    assert_int_equal(blob_writer_publish(writer, &error), ERR_STATE);
    assert_int_equal(blob_writer_open_sealed(writer, &fd, &error), ERR_STATE);
    assert_int_equal(blob_writer_seal(writer, &digest, &error), ERR_OK);
    assert_int_equal(blob_store_open_blob(*state, &digest, &fd, &error), ERR_NOT_FOUND);
    assert_int_equal(fd, -1);
}

static void a_sealed_writer_takes_no_more_and_can_be_read_as_often_as_wanted(void **state) {
    CLEANUP(cleanup_blob_writer) struct blob_writer *writer = NULL;
    struct digest digest;
    assert_int_equal(blob_writer_open(*state, 100, &writer, &error), ERR_OK);
    assert_int_equal(blob_writer_append(writer, "abc", 3, &error), ERR_OK);
    assert_int_equal(blob_writer_seal(writer, &digest, &error), ERR_OK);
    assert_int_equal(blob_writer_append(writer, "d", 1, &error), ERR_STATE);
    assert_int_equal(blob_writer_seal(writer, &digest, &error), ERR_STATE);
    for (int published = 0; published < 2; published++) {
        for (int i = 0; i < 2; i++) {
            int fd = -1;
            assert_int_equal(blob_writer_open_sealed(writer, &fd, &error), ERR_OK);
            assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
            assert_holds(fd, "abc");
        }
        assert_int_equal(blob_writer_publish(writer, &error), ERR_OK);
    }
}

static void equal_bytes_may_be_published_twice(void **state) {
    struct digest first = put(*state, "same");
    struct digest second = put(*state, "same");
    assert_true(digest_equal(&first, &second));
    assert_stored(*state, &first, "same");
    assert_int_equal(sweep(*state), 0);
}

static void a_writer_that_ends_unpublished_leaves_nothing(void **state) {
    for (int sealed = 0; sealed < 2; sealed++) {
        struct blob_writer *writer = NULL;
        struct digest digest;
        assert_int_equal(blob_writer_open(*state, 3, &writer, &error), ERR_OK);
        assert_int_equal(blob_writer_append(writer, "abc", 3, &error), ERR_OK);
        if (sealed)
            assert_int_equal(blob_writer_seal(writer, &digest, &error), ERR_OK);
        blob_writer_free(writer);
        assert_int_equal(sweep(*state), 0);
    }
}

static void a_removed_blob_is_gone_but_open_fds_stay_good(void **state) {
    struct digest digest = put(*state, "abc");
    int fd = -1, gone = -1;
    assert_int_equal(blob_store_open_blob(*state, &digest, &fd, &error), ERR_OK);
    assert_int_equal(blob_store_remove(*state, &digest, &error), ERR_OK);
    assert_int_equal(blob_store_open_blob(*state, &digest, &gone, &error), ERR_NOT_FOUND);
    assert_int_equal(blob_store_remove(*state, &digest, &error), ERR_NOT_FOUND);
    assert_holds(fd, "abc");
}

/* A file size limit stands in for the full disk: write fails after part of the bytes went in. */
static void a_write_that_fails_gives_its_space_back_at_once(void **state) {
    CLEANUP(cleanup_blob_writer) struct blob_writer *writer = NULL;
    static const char bytes[10000];
    assert_int_equal(blob_writer_open(*state, 100000, &writer, &error), ERR_OK);
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit small = {.rlim_cur = 15000, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    assert_int_equal(blob_writer_append(writer, bytes, sizeof(bytes), &error), ERR_OK);
    enum err err = blob_writer_append(writer, bytes, sizeof(bytes), &error);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(err, ERR_IO);
    assert_int_equal(error.sys_errno, EFBIG);
    assert_non_null(strstr(error.text, "after 10000 bytes"));
    assert_int_equal(sweep(*state), 0);
    struct digest digest;
    assert_int_equal(blob_writer_append(writer, bytes, 1, &error), ERR_STATE);
    assert_int_equal(blob_writer_seal(writer, &digest, &error), ERR_STATE);
    assert_int_equal(blob_writer_publish(writer, &error), ERR_STATE);
}

enum stage { STAGE_OPEN, STAGE_WRITTEN, STAGE_SEALED, STAGE_PUBLISHED };

static void die_at(struct blob_store *store, enum stage stage) {
    struct blob_writer *writer = NULL;
    struct digest digest;
    enum err err = blob_writer_open(store, 100, &writer, &error);
    if (err == ERR_OK && stage >= STAGE_WRITTEN)
        err = blob_writer_append(writer, "kept", 4, &error);
    if (err == ERR_OK && stage >= STAGE_SEALED)
        err = blob_writer_seal(writer, &digest, &error);
    if (err == ERR_OK && stage >= STAGE_PUBLISHED)
        err = blob_writer_publish(writer, &error);
    if (err == ERR_OK)
        kill(getpid(), SIGKILL);
    _exit(1);
}

static void a_process_that_dies_leaves_a_whole_blob_or_none(void **state) {
    struct digest digest = hash_sha256_of(span_cstr("kept"));
    for (enum stage stage = STAGE_OPEN; stage <= STAGE_PUBLISHED; stage++) {
        pid_t child = fork();
        if (child == 0)
            die_at(*state, stage);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(sweep(*state), stage == STAGE_PUBLISHED ? 0 : 1);
        int fd = -1;
        enum err err = blob_store_open_blob(*state, &digest, &fd, &error);
        assert_int_equal(err, stage == STAGE_PUBLISHED ? ERR_OK : ERR_NOT_FOUND);
        fd_close(fd);
    }
    assert_stored(*state, &digest, "kept");
}

static void *put_many(void *store) {
    for (int i = 0; i < 20; i++) {
        char text[32];
        snprintf(text, sizeof(text), "blob %d", i);
        put(store, text);
    }
    return NULL;
}

static void threads_may_publish_the_same_blobs_at_once(void **state) {
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, *state), 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 20; i++) {
        char text[32];
        snprintf(text, sizeof(text), "blob %d", i);
        struct digest digest = hash_sha256_of(span_cstr(text));
        assert_stored(*state, &digest, text);
    }
    assert_int_equal(sweep(*state), 0);
}

static void a_store_opens_again_over_what_it_has(void **state) {
    struct digest digest = put(*state, "abc");
    blob_store_free(*state);
    struct blob_store *again = NULL;
    assert_int_equal(blob_store_open(scratch.fd, &again, &error), ERR_OK);
    *state = again;
    assert_stored(again, &digest, "abc");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_published_blob_lies_under_its_sha256),
        TEST(bytes_may_come_in_pieces_of_any_size),
        TEST(a_byte_over_the_declared_size_is_refused),
        TEST(an_empty_blob_is_a_blob),
        TEST(nothing_is_visible_before_publish),
        TEST(a_sealed_writer_takes_no_more_and_can_be_read_as_often_as_wanted),
        TEST(equal_bytes_may_be_published_twice),
        TEST(a_writer_that_ends_unpublished_leaves_nothing),
        TEST(a_removed_blob_is_gone_but_open_fds_stay_good),
        TEST(a_write_that_fails_gives_its_space_back_at_once),
        TEST(a_process_that_dies_leaves_a_whole_blob_or_none),
        TEST(threads_may_publish_the_same_blobs_at_once),
        TEST(a_store_opens_again_over_what_it_has),
    };
    return cmocka_run_group_tests_name("blob_store", tests, NULL, NULL);
}
