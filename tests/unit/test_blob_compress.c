#include "cache/blob_compress.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cache/blob_reader.h"
#include "tests/support/blob_fixture.h"
#include "tests/support/test.h"

#define MIB ((size_t)1 << 20)
#define SIZE (3 * MIB + 4321)

static struct blob_compress_result compress(struct blob_fixture *f, const struct digest *digest) {
    struct blob_compress_result result = {0};
    assert_int_equal(blob_store_compress(f->store, digest, NULL, &result, &f->error), ERR_OK);
    return result;
}

static void a_compressed_blob_takes_the_raw_ones_place(void **state) {
    struct blob_fixture *f = *state;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    struct blob_compress_result result = compress(f, &digest);
    assert_int_equal(result.outcome, BLOB_COMPRESSED);
    assert_int_equal(result.raw_size, SIZE);
    assert_true(result.stored_size < SIZE / 2);
    assert_false(blob_fixture_exists(f, &digest, ""));
    assert_true(blob_fixture_exists(f, &digest, ".zst"));
    blob_fixture_assert_stored(f, &digest, SIZE);
    assert_int_equal(blob_fixture_temp_count(f), 0);
}

static void the_fd_on_an_inflated_blob_is_read_only(void **state) {
    struct blob_fixture *f = *state;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    compress(f, &digest);
    CLEANUP(cleanup_fd) int fd = -1;
    assert_int_equal(blob_store_open_blob(f->store, &digest, &fd, &f->error), ERR_OK);
    assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
}

static void to_compress_again_is_nothing_to_do(void **state) {
    struct blob_fixture *f = *state;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    compress(f, &digest);
    struct blob_compress_result result = compress(f, &digest);
    assert_int_equal(result.outcome, BLOB_COMPRESSED);
    assert_int_equal(result.raw_size, 0);
}

static void a_blob_that_hardly_shrinks_stays_raw_and_is_marked(void **state) {
    struct blob_fixture *f = *state;
    struct digest noise = blob_fixture_put(f, BLOB_NOISE, SIZE, 1);
    struct digest tiny = blob_fixture_put(f, BLOB_TEXT, 1000, 1);
    struct digest empty = blob_fixture_put(f, BLOB_TEXT, 0, 1);
    const struct digest *digests[] = {&noise, &tiny, &empty};
    const uint64_t sizes[] = {SIZE, 1000, 0};
    for (size_t i = 0; i < ARRAY_SIZE(digests); i++) {
        struct stat status;
        assert_int_equal(compress(f, digests[i]).outcome, BLOB_KEPT);
        assert_false(blob_fixture_exists(f, digests[i], ".zst"));
        assert_int_equal(stat(blob_fixture_path(f, digests[i], ""), &status), 0);
        assert_int_equal(status.st_mode & 0777, 0400);
        blob_fixture_assert_stored(f, digests[i], sizes[i]);
    }
    assert_int_equal(blob_fixture_temp_count(f), 0);
}

static void an_open_fd_stays_good_when_its_blob_is_compressed(void **state) {
    struct blob_fixture *f = *state;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    CLEANUP(cleanup_fd) int fd = -1;
    struct span bytes;
    assert_int_equal(blob_store_open_blob(f->store, &digest, &fd, &f->error), ERR_OK);
    compress(f, &digest);
    assert_int_equal(fd_map(fd, &bytes, &f->error), ERR_OK);
    struct digest actual = hash_sha256_of(bytes);
    assert_true(digest_equal(&actual, &digest));
    fd_unmap(bytes);
}

static void ranges_read_the_same_before_and_after(void **state) {
    struct blob_fixture *f = *state;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    char before[1000], after[1000];
    for (int compressed = 0; compressed < 2; compressed++) {
        CLEANUP(cleanup_blob_reader) struct blob_reader *reader = NULL;
        char *bytes = compressed ? after : before;
        if (compressed)
            compress(f, &digest);
        assert_int_equal(blob_reader_open(f->store, &digest, &reader, &f->error), ERR_OK);
        assert_int_equal(blob_reader_size(reader), SIZE);
        assert_int_equal(blob_reader_read(reader, MIB - 500, bytes, 1000, &f->error), ERR_OK);
        assert_int_equal(blob_reader_read(reader, SIZE - 1, bytes, 2, &f->error), ERR_INVALID);
        assert_int_equal(blob_reader_read(reader, UINT64_MAX, bytes, 1, &f->error), ERR_INVALID);
    }
    assert_memory_equal(before, after, sizeof(before));
    struct blob_reader *none = NULL;
    struct digest unknown = hash_sha256_of(span_cstr("unknown"));
    assert_int_equal(blob_reader_open(f->store, &unknown, &none, &f->error), ERR_NOT_FOUND);
}

static void a_removed_blob_is_gone_in_both_forms(void **state) {
    struct blob_fixture *f = *state;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    compress(f, &digest);
    blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    assert_true(blob_fixture_exists(f, &digest, "") && blob_fixture_exists(f, &digest, ".zst"));
    int fd = -1;
    struct blob_compress_result result;
    assert_int_equal(blob_store_remove(f->store, &digest, &f->error), ERR_OK);
    assert_int_equal(blob_store_open_blob(f->store, &digest, &fd, &f->error), ERR_NOT_FOUND);
    assert_int_equal(blob_store_remove(f->store, &digest, &f->error), ERR_NOT_FOUND);
    assert_int_equal(blob_store_compress(f->store, &digest, NULL, &result, &f->error),
                     ERR_NOT_FOUND);
}

static void damage(const char *path, off_t offset) {
    CLEANUP(cleanup_fd) int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "damage", 6, offset), 6);
}

static void a_damaged_raw_blob_is_left_alone(void **state) {
    struct blob_fixture *f = *state;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    damage(blob_fixture_path(f, &digest, ""), SIZE / 2);
    struct blob_compress_result result;
    assert_int_equal(blob_store_compress(f->store, &digest, NULL, &result, &f->error), ERR_DAMAGED);
    assert_true(blob_fixture_exists(f, &digest, ""));
    assert_false(blob_fixture_exists(f, &digest, ".zst"));
    assert_int_equal(blob_fixture_temp_count(f), 0);
}

static enum err check(struct blob_fixture *f, const struct digest *digest) {
    CLEANUP(cleanup_blob_reader) struct blob_reader *reader = NULL;
    assert_int_equal(blob_reader_open(f->store, digest, &reader, &f->error), ERR_OK);
    return blob_reader_check(reader, &f->error);
}

static void a_damaged_raw_blob_is_not_opened_until_it_is_uploaded_again(void **state) {
    struct blob_fixture *f = *state;
    struct digest digest = blob_fixture_put(f, BLOB_NOISE, SIZE, 1);
    assert_int_equal(check(f, &digest), ERR_OK);
    damage(blob_fixture_path(f, &digest, ""), SIZE - 6);
    int fd = -1;
    assert_int_equal(blob_store_open_blob(f->store, &digest, &fd, &f->error), ERR_DAMAGED);
    assert_int_equal(check(f, &digest), ERR_DAMAGED);
    assert_int_equal(truncate(blob_fixture_path(f, &digest, ""), 1000), 0);
    assert_int_equal(blob_store_open_blob(f->store, &digest, &fd, &f->error), ERR_DAMAGED);
    blob_fixture_put(f, BLOB_NOISE, SIZE, 1);
    assert_int_equal(check(f, &digest), ERR_OK);
    blob_fixture_assert_stored(f, &digest, SIZE);
}

static void a_damaged_compressed_blob_is_an_error_until_it_is_uploaded_again(void **state) {
    struct blob_fixture *f = *state;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    compress(f, &digest);
    damage(blob_fixture_path(f, &digest, ".zst"), 1000);
    int fd = -1;
    assert_int_equal(blob_store_open_blob(f->store, &digest, &fd, &f->error), ERR_DAMAGED);
    assert_int_equal(blob_fixture_temp_count(f), 0);
    blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    blob_fixture_assert_stored(f, &digest, SIZE);
    compress(f, &digest);
    blob_fixture_assert_stored(f, &digest, SIZE);
}

/* Frames that are each sound, but of another blob. */
static void a_compressed_blob_under_a_wrong_name_is_an_error(void **state) {
    struct blob_fixture *f = *state;
    struct digest one = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    struct digest other = blob_fixture_put(f, BLOB_TEXT, SIZE, 2);
    compress(f, &one);
    compress(f, &other);
    assert_int_equal(
        rename(blob_fixture_path(f, &other, ".zst"), blob_fixture_path(f, &one, ".zst")), 0);
    int fd = -1;
    assert_int_equal(blob_store_open_blob(f->store, &one, &fd, &f->error), ERR_DAMAGED);
    assert_non_null(strstr(f->error.text, "another digest"));
}

#define LARGE (8 * MIB)

struct removal {
    struct blob_fixture *fixture;
    struct digest digest;
    enum err err;
};

static void *compress_in_thread(void *argument) {
    struct removal *removal = argument;
    struct blob_compress_result result;
    struct error error;
    removal->err =
        blob_store_compress(removal->fixture->store, &removal->digest, NULL, &result, &error);
    return NULL;
}

static void what_is_removed_during_compression_does_not_come_back(void **state) {
    struct blob_fixture *f = *state;
    struct removal removal = {.fixture = f};
    removal.digest = blob_fixture_put(f, BLOB_TEXT, LARGE, 1);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, compress_in_thread, &removal), 0);
    while (blob_fixture_temp_count(f) == 0 && blob_fixture_exists(f, &removal.digest, ""))
        sched_yield();
    assert_int_equal(blob_store_remove(f->store, &removal.digest, &f->error), ERR_OK);
    pthread_join(thread, NULL);
    assert_true(removal.err == ERR_OK || removal.err == ERR_NOT_FOUND);
    assert_false(blob_fixture_exists(f, &removal.digest, ""));
    assert_false(blob_fixture_exists(f, &removal.digest, ".zst"));
    assert_int_equal(blob_fixture_temp_count(f), 0);
}

/* A child compresses until the parent sees what it waits for, and kills it there. */
static void kill_compression_when(struct blob_fixture *f, const struct digest *digest,
                                  bool (*is_time)(struct blob_fixture *, const struct digest *)) {
    pid_t child = fork();
    if (child == 0) {
        struct blob_compress_result result;
        enum err err = blob_store_compress(f->store, digest, NULL, &result, &f->error);
        _exit(err == ERR_OK ? 0 : 1);
    }
    int status = 0;
    while (!is_time(f, digest) && waitpid(child, &status, WNOHANG) == 0)
        sched_yield();
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

static bool has_temp(struct blob_fixture *f, const struct digest *digest) {
    (void)digest;
    return blob_fixture_temp_count(f) > 0;
}

static bool has_compressed(struct blob_fixture *f, const struct digest *digest) {
    return blob_fixture_exists(f, digest, ".zst");
}

static void a_kill_while_compressing_leaves_the_raw_blob(void **state) {
    struct blob_fixture *f = *state;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, LARGE, 1);
    kill_compression_when(f, &digest, has_temp);
    assert_true(blob_fixture_exists(f, &digest, ""));
    blob_fixture_assert_stored(f, &digest, LARGE);
    uint64_t removed = 0;
    assert_int_equal(blob_store_sweep(f->store, &removed, &f->error), ERR_OK);
    assert_int_equal(removed, 1);
    assert_int_equal(compress(f, &digest).outcome, BLOB_COMPRESSED);
    blob_fixture_assert_stored(f, &digest, LARGE);
}

static void a_kill_after_publishing_leaves_a_whole_blob(void **state) {
    struct blob_fixture *f = *state;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    kill_compression_when(f, &digest, has_compressed);
    blob_fixture_assert_stored(f, &digest, SIZE);
    unlink(blob_fixture_path(f, &digest, ""));
    blob_fixture_assert_stored(f, &digest, SIZE);
}

static void when_both_forms_are_there_compressing_ends_with_one(void **state) {
    struct blob_fixture *f = *state;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    compress(f, &digest);
    blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    blob_fixture_assert_stored(f, &digest, SIZE);
    compress(f, &digest);
    assert_false(blob_fixture_exists(f, &digest, ""));
    blob_fixture_assert_stored(f, &digest, SIZE);
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, blob_fixture_set_up, blob_fixture_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_compressed_blob_takes_the_raw_ones_place),
        TEST(the_fd_on_an_inflated_blob_is_read_only),
        TEST(to_compress_again_is_nothing_to_do),
        TEST(a_blob_that_hardly_shrinks_stays_raw_and_is_marked),
        TEST(an_open_fd_stays_good_when_its_blob_is_compressed),
        TEST(ranges_read_the_same_before_and_after),
        TEST(a_removed_blob_is_gone_in_both_forms),
        TEST(a_damaged_raw_blob_is_left_alone),
        TEST(a_damaged_raw_blob_is_not_opened_until_it_is_uploaded_again),
        TEST(a_damaged_compressed_blob_is_an_error_until_it_is_uploaded_again),
        TEST(a_compressed_blob_under_a_wrong_name_is_an_error),
        TEST(what_is_removed_during_compression_does_not_come_back),
        TEST(a_kill_while_compressing_leaves_the_raw_blob),
        TEST(a_kill_after_publishing_leaves_a_whole_blob),
        TEST(when_both_forms_are_there_compressing_ends_with_one),
    };
    return cmocka_run_group_tests_name("blob_compress", tests, NULL, NULL);
}
