#include "cache/index_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/map_guard.h"
#include "tests/support/index_fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

struct fixture {
    struct scratch scratch;
    struct index_cache *cache;
    struct span image; /* of a sound index */
};

static struct error error;

static void open_cache(struct fixture *f, uint64_t disk_files, uint64_t mapped_files) {
    index_cache_free(f->cache);
    f->cache = NULL;
    struct index_cache_limits limits = {
        .disk_size_max = disk_files * f->image.size,
        .mapped_size_max = mapped_files * f->image.size,
    };
    assert_int_equal(index_cache_open(f->scratch.fd, &limits, &f->cache, &error), ERR_OK);
}

static int set_up(void **state) {
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    scratch_make(&f->scratch);
    f->image = index_fixture_comb(100);
    open_cache(f, 0, 0);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    index_cache_free(f->cache);
    scratch_remove(&f->scratch);
    free((void *)f->image.data);
    free(f);
    return 0;
}

static struct digest key_of(int number) {
    char text[32];
    snprintf(text, sizeof(text), "key %d", number);
    return hash_sha256_of(span_cstr(text));
}

static const char *path_of(struct fixture *f, int number, const char *suffix) {
    char hex[DIGEST_HEX_SIZE], name[128];
    struct digest key = key_of(number);
    digest_to_hex(&key, hex);
    snprintf(name, sizeof(name), "index/%.2s/%s%s", hex, hex + 2, suffix);
    return scratch_path(&f->scratch, name);
}

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

static void publish_bytes(struct fixture *f, int number, struct span bytes) {
    CLEANUP(cleanup_index_output) struct index_output *output = NULL;
    struct digest key = key_of(number);
    assert_int_equal(index_output_open(f->cache, &key, &output, &error), ERR_OK);
    assert_int_equal(fd_write_all(index_output_fd(output), bytes.data, bytes.size, &error), ERR_OK);
    assert_int_equal(index_output_publish(output, &error), ERR_OK);
}

static void publish(struct fixture *f, int number) {
    publish_bytes(f, number, f->image);
}

static enum err acquire(struct fixture *f, int number, struct index_handle **ret_handle) {
    struct digest key = key_of(number);
    return index_cache_acquire(f->cache, &key, ret_handle, &error);
}

static struct index_handle *hold(struct fixture *f, int number) {
    struct index_handle *handle = NULL;
    assert_int_equal(acquire(f, number, &handle), ERR_OK);
    return handle;
}

static void use(struct fixture *f, int number) {
    index_handle_release(hold(f, number));
}

static void assert_missing(struct fixture *f, int number) {
    struct index_handle *handle = NULL;
    assert_int_equal(acquire(f, number, &handle), ERR_NOT_FOUND);
    assert_null(handle);
}

static void assert_answers(const struct index_handle *handle) {
    const uint64_t pc = 0x1000;
    struct index_hit hit;
    index_lookup(index_handle_index(handle), &pc, 1, &hit);
    assert_int_not_equal(hit.chain.scope, 0);
}

static struct index_cache_stats stats_of(struct fixture *f) {
    struct index_cache_stats stats;
    index_cache_stats_read(f->cache, &stats);
    return stats;
}

static void a_published_index_is_found_and_answers(void **state) {
    struct fixture *f = *state;
    assert_missing(f, 1);
    publish(f, 1);
    struct index_handle *handle = hold(f, 1);
    assert_answers(handle);
    index_handle_release(handle);
    char suffix[16];
    snprintf(suffix, sizeof(suffix), ".%d", INDEX_FORMAT_VERSION);
    assert_true(exists(path_of(f, 1, suffix)));
    struct index_cache_stats stats = stats_of(f);
    assert_int_equal(stats.disk_count, 1);
    assert_int_equal(stats.disk_size, f->image.size);
    assert_int_equal(stats.misses, 1);
}

static void an_output_that_is_not_published_leaves_nothing(void **state) {
    struct fixture *f = *state;
    struct index_output *output = NULL;
    struct digest key = key_of(1);
    assert_int_equal(index_output_open(f->cache, &key, &output, &error), ERR_OK);
    assert_int_equal(fd_write_all(index_output_fd(output), "abc", 3, &error), ERR_OK);
    assert_missing(f, 1);
    index_output_free(output);
    assert_int_equal(rmdir(scratch_path(&f->scratch, "index/tmp")), 0);
}

static void an_index_in_use_is_mapped_once(void **state) {
    struct fixture *f = *state;
    publish(f, 1);
    struct index_handle *first = hold(f, 1), *second = hold(f, 1);
    assert_ptr_equal(index_handle_index(first), index_handle_index(second));
    index_handle_release(first);
    assert_answers(second);
    index_handle_release(second);
    use(f, 1);
    struct index_cache_stats stats = stats_of(f);
    assert_int_equal(stats.opens, 1);
    assert_int_equal(stats.hits, 2);
    assert_int_equal(stats.mapped_count, 1);
    assert_int_equal(stats.mapped_size, f->image.size);
}

static void cut(struct fixture *f, int number, off_t left) {
    char suffix[16];
    snprintf(suffix, sizeof(suffix), ".%d", INDEX_FORMAT_VERSION);
    assert_int_equal(truncate(path_of(f, number, suffix), left), 0);
}

static void a_map_whose_file_is_cut_short_is_noticed_and_given_up(void **state) {
    struct fixture *f = *state;
    const uint64_t pc = 0x1000;
    struct index_hit hit;
    /* Here: cmocka handles the signal around each test. */
    assert_int_equal(map_guard_install(&error), ERR_OK);
    for (int number = 1; number <= 2; number++) {
        publish(f, number);
        struct index_handle *handle = hold(f, number);
        assert_true(index_handle_is_intact(handle));
        /* To nothing, where reading it is a SIGBUS, and within its last page, where it is none. */
        cut(f, number, number == 1 ? 0 : 100);
        index_lookup(index_handle_index(handle), &pc, 1, &hit);
        assert_int_equal(hit.chain.scope, 0);
        assert_false(index_handle_is_intact(handle));
        assert_missing(f, number);
        assert_int_equal(stats_of(f).damaged, number);
        publish(f, number);
        struct index_handle *fresh = hold(f, number);
        assert_answers(fresh);
        index_handle_release(handle);
        index_handle_release(fresh);
    }
}

static void a_mapped_file_that_was_cut_short_is_not_acquired_again(void **state) {
    struct fixture *f = *state;
    publish(f, 1);
    use(f, 1);
    cut(f, 1, 100);
    assert_missing(f, 1);
    assert_int_equal(stats_of(f).damaged, 1);
    assert_int_equal(stats_of(f).disk_count, 0);
}

static void files_over_the_bound_go_least_recently_used_first(void **state) {
    struct fixture *f = *state;
    open_cache(f, 3, 10);
    for (int i = 0; i < 3; i++)
        publish(f, i);
    use(f, 0);
    publish(f, 3);
    assert_missing(f, 1);
    publish(f, 4);
    assert_missing(f, 2);
    use(f, 0);
    use(f, 3);
    use(f, 4);
    struct index_cache_stats stats = stats_of(f);
    assert_int_equal(stats.evictions, 2);
    assert_int_equal(stats.disk_count, 3);
    assert_int_equal(stats.disk_size, 3 * f->image.size);
}

static void what_was_just_published_stays_even_if_it_is_over_the_bound_alone(void **state) {
    struct fixture *f = *state;
    open_cache(f, 1, 10);
    struct span bytes = index_fixture_comb(5000);
    publish(f, 1);
    publish_bytes(f, 2, bytes);
    free((void *)bytes.data);
    assert_missing(f, 1);
    use(f, 2);
}

static void a_map_outlives_its_evicted_file(void **state) {
    struct fixture *f = *state;
    open_cache(f, 1, 10);
    publish(f, 1);
    struct index_handle *handle = hold(f, 1);
    publish(f, 2);
    assert_missing(f, 1);
    assert_answers(handle);
    use(f, 2);
    assert_int_equal(stats_of(f).mapped_count, 2);
    index_handle_release(handle);
    assert_int_equal(stats_of(f).mapped_count, 1);
}

static void idle_maps_over_the_bound_go_least_recently_used_first(void **state) {
    struct fixture *f = *state;
    open_cache(f, 10, 2);
    for (int i = 0; i < 3; i++)
        publish(f, i);
    use(f, 0);
    use(f, 1);
    use(f, 0);
    use(f, 2); /* drops the map of 1 */
    assert_int_equal(stats_of(f).mapped_count, 2);
    assert_int_equal(stats_of(f).opens, 3);
    use(f, 0);
    assert_int_equal(stats_of(f).opens, 3);
    use(f, 1);
    assert_int_equal(stats_of(f).opens, 4);
}

static void maps_in_use_may_exceed_the_bound_until_they_are_released(void **state) {
    struct fixture *f = *state;
    open_cache(f, 10, 2);
    struct index_handle *handles[4];
    for (int i = 0; i < 4; i++) {
        publish(f, i);
        handles[i] = hold(f, i);
    }
    assert_int_equal(stats_of(f).mapped_count, 4);
    for (int i = 0; i < 4; i++)
        assert_answers(handles[i]);
    for (int i = 0; i < 4; i++)
        index_handle_release(handles[i]);
    assert_int_equal(stats_of(f).mapped_count, 2);
    assert_int_equal(stats_of(f).mapped_size, 2 * f->image.size);
}

static void a_rebuilt_index_replaces_the_old_one_for_new_callers(void **state) {
    struct fixture *f = *state;
    publish(f, 1);
    struct index_handle *old = hold(f, 1);
    publish(f, 1);
    struct index_handle *fresh = hold(f, 1);
    assert_ptr_not_equal(index_handle_index(old), index_handle_index(fresh));
    assert_answers(old);
    assert_answers(fresh);
    index_handle_release(old);
    index_handle_release(fresh);
    assert_int_equal(stats_of(f).disk_count, 1);
    assert_int_equal(stats_of(f).mapped_count, 1);
}

static void a_damaged_file_is_removed_and_not_found(void **state) {
    struct fixture *f = *state;
    publish(f, 1);
    publish(f, 2);
    char suffix[16];
    snprintf(suffix, sizeof(suffix), ".%d", INDEX_FORMAT_VERSION);
    const char *path = path_of(f, 1, suffix);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "damage", 6, 0), 6);
    close(fd);
    assert_missing(f, 1);
    assert_false(exists(path));
    assert_int_equal(stats_of(f).disk_count, 1);
    /* So is one that somebody deleted, or cut off to nothing. */
    path = path_of(f, 2, suffix);
    assert_int_equal(unlink(path), 0);
    assert_missing(f, 2);
    publish_bytes(f, 3, span_of("", 0));
    assert_missing(f, 3);
    assert_int_equal(stats_of(f).disk_count, 0);
    publish(f, 1);
    use(f, 1);
}

static void touch_at(const char *path, int64_t seconds) {
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void a_restart_keeps_files_and_the_order_of_their_use(void **state) {
    struct fixture *f = *state;
    char suffix[16];
    snprintf(suffix, sizeof(suffix), ".%d", INDEX_FORMAT_VERSION);
    const int64_t used[] = {3000, 1000, 2000};
    for (int i = 0; i < 3; i++) {
        publish(f, i);
        touch_at(path_of(f, i, suffix), used[i]);
    }
    open_cache(f, 3, 10);
    assert_int_equal(stats_of(f).disk_count, 3);
    publish(f, 3);
    assert_missing(f, 1);
    publish(f, 4);
    assert_missing(f, 2);
    use(f, 0);
}

static void a_use_is_noted_in_the_files_time(void **state) {
    struct fixture *f = *state;
    char suffix[16];
    snprintf(suffix, sizeof(suffix), ".%d", INDEX_FORMAT_VERSION);
    publish(f, 1);
    const char *path = path_of(f, 1, suffix);
    struct stat status;
    touch_at(path, 1000);
    use(f, 1);
    assert_int_equal(stat(path, &status), 0);
    assert_true(status.st_mtim.tv_sec > 1000);
    /* Not again within the minute. */
    touch_at(path, 1000);
    use(f, 1);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mtim.tv_sec, 1000);
}

/* With the folder that holds it. */
static void write_file(const char *path) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    *strrchr(folder, '/') = '\0';
    assert_true(mkdir(folder, 0700) == 0 || errno == EEXIST);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
}

static void a_restart_removes_temporary_and_other_versions_files_only(void **state) {
    struct fixture *f = *state;
    publish(f, 1);
    write_file(path_of(f, 1, ".0"));
    write_file(path_of(f, 2, ".999"));
    write_file(scratch_path(&f->scratch, "index/tmp/left"));
    write_file(scratch_path(&f->scratch, "index/ab/notes"));
    open_cache(f, 10, 10);
    assert_int_equal(stats_of(f).disk_count, 1);
    assert_false(exists(path_of(f, 1, ".0")));
    assert_false(exists(path_of(f, 2, ".999")));
    assert_false(exists(scratch_path(&f->scratch, "index/tmp/left")));
    assert_true(exists(scratch_path(&f->scratch, "index/ab/notes")));
    use(f, 1);
}

static void a_restart_evicts_what_a_smaller_bound_does_not_hold(void **state) {
    struct fixture *f = *state;
    for (int i = 0; i < 5; i++)
        publish(f, i);
    open_cache(f, 2, 10);
    struct index_cache_stats stats = stats_of(f);
    assert_int_equal(stats.disk_count, 2);
    assert_int_equal(stats.evictions, 3);
}

static void a_smaller_bound_takes_effect_at_once_but_for_maps_in_use(void **state) {
    struct fixture *f = *state;
    open_cache(f, 10, 10);
    for (int i = 0; i < 5; i++) {
        publish(f, i);
        use(f, i);
    }
    struct index_handle *handle = hold(f, 0);
    struct index_cache_limits limits = {.disk_size_max = 3 * f->image.size,
                                        .mapped_size_max = 2 * f->image.size};
    index_cache_limit(f->cache, &limits);
    struct index_cache_stats stats = stats_of(f);
    assert_int_equal(stats.disk_count, 3);
    assert_int_equal(stats.mapped_count, 2);
    assert_answers(handle);
    index_handle_release(handle);
    limits.disk_size_max = 10 * f->image.size;
    index_cache_limit(f->cache, &limits);
    publish(f, 7);
    assert_int_equal(stats_of(f).disk_count, 4);
}

#define THREADS 8
#define ROUNDS 200
#define KEYS 6

struct user {
    struct fixture *fixture;
    pthread_t thread;
    pthread_barrier_t *barrier;
    unsigned seed;
};

static void *acquire_same(void *argument) {
    struct user *user = argument;
    pthread_barrier_wait(user->barrier);
    struct digest key = key_of(1);
    struct index_handle *handle = NULL;
    struct error own;
    assert_int_equal(index_cache_acquire(user->fixture->cache, &key, &handle, &own), ERR_OK);
    assert_answers(handle);
    index_handle_release(handle);
    return NULL;
}

/* Acquires, publishes and thereby evicts, at random but for a seed. */
static void *use_at_random(void *argument) {
    struct user *user = argument;
    struct fixture *f = user->fixture;
    pthread_barrier_wait(user->barrier);
    for (int i = 0; i < ROUNDS; i++) {
        struct digest key = key_of((int)(rand_r(&user->seed) % KEYS));
        struct index_handle *handle = NULL;
        struct error own;
        enum err err = index_cache_acquire(f->cache, &key, &handle, &own);
        if (err == ERR_OK) {
            assert_answers(handle);
            index_handle_release(handle);
        }
        if (err == ERR_OK && rand_r(&user->seed) % 16 != 0)
            continue;
        struct index_output *output = NULL;
        assert_int_equal(index_output_open(f->cache, &key, &output, &own), ERR_OK);
        assert_int_equal(fd_write_all(index_output_fd(output), f->image.data, f->image.size, &own),
                         ERR_OK);
        assert_int_equal(index_output_publish(output, &own), ERR_OK);
        index_output_free(output);
    }
    return NULL;
}

static void run_threads(struct fixture *f, void *(*function)(void *)) {
    struct user users[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        users[i] = (struct user){.fixture = f, .barrier = &barrier, .seed = i};
        assert_int_equal(pthread_create(&users[i].thread, NULL, function, &users[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(users[i].thread, NULL);
    pthread_barrier_destroy(&barrier);
}

static void many_threads_that_want_one_index_map_it_once(void **state) {
    struct fixture *f = *state;
    publish(f, 1);
    run_threads(f, acquire_same);
    struct index_cache_stats stats = stats_of(f);
    assert_int_equal(stats.opens, 1);
    assert_int_equal(stats.hits, THREADS - 1);
}

static void threads_may_acquire_publish_and_evict_at_once(void **state) {
    struct fixture *f = *state;
    open_cache(f, 4, 2);
    run_threads(f, use_at_random);
    struct index_cache_stats stats = stats_of(f);
    assert_true(stats.disk_size <= 4 * f->image.size);
    assert_true(stats.mapped_size <= 2 * f->image.size);
    assert_int_equal(stats.disk_size, stats.disk_count * f->image.size);
    assert_int_equal(stats.mapped_size, stats.mapped_count * f->image.size);
    /* What the cache believes is what the disk holds. */
    open_cache(f, 100, 2);
    assert_int_equal(stats_of(f).disk_count, stats.disk_count);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_published_index_is_found_and_answers),
        TEST(an_output_that_is_not_published_leaves_nothing),
        TEST(an_index_in_use_is_mapped_once),
        TEST(a_map_whose_file_is_cut_short_is_noticed_and_given_up),
        TEST(a_mapped_file_that_was_cut_short_is_not_acquired_again),
        TEST(files_over_the_bound_go_least_recently_used_first),
        TEST(what_was_just_published_stays_even_if_it_is_over_the_bound_alone),
        TEST(a_map_outlives_its_evicted_file),
        TEST(idle_maps_over_the_bound_go_least_recently_used_first),
        TEST(maps_in_use_may_exceed_the_bound_until_they_are_released),
        TEST(a_rebuilt_index_replaces_the_old_one_for_new_callers),
        TEST(a_damaged_file_is_removed_and_not_found),
        TEST(a_restart_keeps_files_and_the_order_of_their_use),
        TEST(a_use_is_noted_in_the_files_time),
        TEST(a_restart_removes_temporary_and_other_versions_files_only),
        TEST(a_restart_evicts_what_a_smaller_bound_does_not_hold),
        TEST(a_smaller_bound_takes_effect_at_once_but_for_maps_in_use),
        TEST(many_threads_that_want_one_index_map_it_once),
        TEST(threads_may_acquire_publish_and_evict_at_once),
    };
    return cmocka_run_group_tests_name("index_cache", tests, NULL, NULL);
}
