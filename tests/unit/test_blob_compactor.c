#include "cache/blob_compactor.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/support/blob_fixture.h"
#include "tests/support/test.h"

#define SIZE ((size_t)100000)

static const struct blob_compactor_config any_age = {.age_min_ms = 0, .interval_ms = 3600000};

static struct blob_compactor *start(struct blob_fixture *f,
                                    const struct blob_compactor_config *config) {
    struct blob_compactor *compactor = NULL;
    assert_int_equal(blob_compactor_new(config, f->store, &compactor, &f->error), ERR_OK);
    return compactor;
}

static struct blob_compactor_stats wait_for_passes(struct blob_compactor *compactor,
                                                   uint64_t passes) {
    struct blob_compactor_stats stats;
    do {
        sched_yield();
        blob_compactor_stats_read(compactor, &stats);
    } while (stats.passes < passes);
    return stats;
}

static void make_older(struct blob_fixture *f, const struct digest *digest, int64_t seconds) {
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, blob_fixture_path(f, digest, ""), times, 0), 0);
}

static void all_blobs_that_shrink_are_compressed_at_start(void **state) {
    struct blob_fixture *f = *state;
    struct digest text[5];
    for (unsigned i = 0; i < ARRAY_SIZE(text); i++)
        text[i] = blob_fixture_put(f, BLOB_TEXT, SIZE, i);
    struct digest noise = blob_fixture_put(f, BLOB_NOISE, SIZE, 1);
    CLEANUP(cleanup_blob_compactor) struct blob_compactor *compactor = start(f, &any_age);
    struct blob_compactor_stats stats = wait_for_passes(compactor, 1);
    assert_int_equal(stats.compressed, ARRAY_SIZE(text));
    assert_int_equal(stats.kept, 1);
    assert_int_equal(stats.failed, 0);
    assert_int_equal(stats.raw_size, SIZE * ARRAY_SIZE(text));
    assert_true(stats.stored_size < stats.raw_size / 2);
    for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
        assert_true(blob_fixture_exists(f, &text[i], ".zst"));
        blob_fixture_assert_stored(f, &text[i], SIZE);
    }
    assert_true(blob_fixture_exists(f, &noise, ""));
}

static void a_change_makes_it_look_again_but_not_at_what_it_has_seen(void **state) {
    struct blob_fixture *f = *state;
    blob_fixture_put(f, BLOB_NOISE, SIZE, 1);
    CLEANUP(cleanup_blob_compactor) struct blob_compactor *compactor = start(f, &any_age);
    wait_for_passes(compactor, 1);
    struct digest later = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    blob_compactor_set_age(compactor, 0);
    struct blob_compactor_stats stats = wait_for_passes(compactor, 2);
    assert_int_equal(stats.kept, 1);
    assert_int_equal(stats.compressed, 1);
    assert_true(blob_fixture_exists(f, &later, ".zst"));
}

static void another_age_counts_at_once(void **state) {
    struct blob_fixture *f = *state;
    const struct blob_compactor_config never = {.age_min_ms = BLOB_COMPRESS_NEVER,
                                                .interval_ms = 3600000};
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    make_older(f, &digest, 7200);
    CLEANUP(cleanup_blob_compactor) struct blob_compactor *compactor = start(f, &never);
    wait_for_passes(compactor, 1);
    blob_compactor_set_age(compactor, 10800000);
    wait_for_passes(compactor, 2);
    assert_true(blob_fixture_exists(f, &digest, ""));
    blob_compactor_set_age(compactor, 3600000);
    wait_for_passes(compactor, 3);
    assert_true(blob_fixture_exists(f, &digest, ".zst"));
}

static void fresh_blobs_are_left_for_later(void **state) {
    struct blob_fixture *f = *state;
    const struct blob_compactor_config config = {.age_min_ms = 3600000, .interval_ms = 3600000};
    struct digest fresh = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    struct digest old = blob_fixture_put(f, BLOB_TEXT, SIZE, 2);
    make_older(f, &old, 7200);
    CLEANUP(cleanup_blob_compactor) struct blob_compactor *compactor = start(f, &config);
    wait_for_passes(compactor, 1);
    assert_true(blob_fixture_exists(f, &fresh, ""));
    assert_false(blob_fixture_exists(f, &fresh, ".zst"));
    assert_true(blob_fixture_exists(f, &old, ".zst"));
}

static void the_interval_makes_it_look_again(void **state) {
    struct blob_fixture *f = *state;
    const struct blob_compactor_config config = {.age_min_ms = 0, .interval_ms = 1};
    CLEANUP(cleanup_blob_compactor) struct blob_compactor *compactor = start(f, &config);
    uint64_t passes = wait_for_passes(compactor, 1).passes;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    while (!blob_fixture_exists(f, &digest, ".zst"))
        wait_for_passes(compactor, ++passes);
}

struct found {
    struct digest digest;
    unsigned times;
};

static void note_damage(void *argument, const struct digest *digest) {
    struct found *found = argument;
    found->digest = *digest;
    found->times++;
}

static void a_damaged_blob_is_reported_once_and_the_others_are_compressed(void **state) {
    struct blob_fixture *f = *state;
    struct digest bad = blob_fixture_put(f, BLOB_TEXT, SIZE, 1);
    struct digest good = blob_fixture_put(f, BLOB_TEXT, SIZE, 2);
    int fd = open(blob_fixture_path(f, &bad, ""), O_WRONLY);
    assert_int_equal(pwrite(fd, "damage", 6, 0), 6);
    close(fd);
    struct found found = {.times = 0};
    struct blob_compactor_config config = any_age;
    config.found_damaged = note_damage;
    config.argument = &found;
    CLEANUP(cleanup_blob_compactor) struct blob_compactor *compactor = start(f, &config);
    wait_for_passes(compactor, 1);
    blob_compactor_set_age(compactor, 0);
    struct blob_compactor_stats stats = wait_for_passes(compactor, 2);
    assert_int_equal(stats.failed, 1);
    assert_int_equal(stats.last.code, ERR_DAMAGED);
    assert_true(digest_equal(&found.digest, &bad));
    assert_int_equal(found.times, 1);
    assert_true(blob_fixture_exists(f, &good, ".zst"));
}

static void it_ends_in_the_middle_of_a_large_blob(void **state) {
    struct blob_fixture *f = *state;
    size_t size = (size_t)16 << 20;
    struct digest digest = blob_fixture_put(f, BLOB_TEXT, size, 1);
    struct blob_compactor *compactor = start(f, &any_age);
    while (blob_fixture_temp_count(f) == 0)
        sched_yield();
    blob_compactor_free(compactor);
    assert_int_equal(blob_fixture_temp_count(f), 0);
    blob_fixture_assert_stored(f, &digest, size);
}

#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, blob_fixture_set_up, blob_fixture_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(all_blobs_that_shrink_are_compressed_at_start),
        TEST(a_change_makes_it_look_again_but_not_at_what_it_has_seen),
        TEST(another_age_counts_at_once),
        TEST(fresh_blobs_are_left_for_later),
        TEST(the_interval_makes_it_look_again),
        TEST(a_damaged_blob_is_reported_once_and_the_others_are_compressed),
        TEST(it_ends_in_the_middle_of_a_large_blob),
    };
    return cmocka_run_group_tests_name("blob_compactor", tests, NULL, NULL);
}
