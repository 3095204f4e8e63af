#include "api/build_waiter.h"

#include <pthread.h>

#include "base/request_context.h"
#include "cache/catalog_objects.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

struct fixture {
    struct scratch scratch;
    struct catalog *catalog;
    struct build_waiter *waiter;
    struct digest key;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned done_count;
};

static enum err add_build(struct catalog_txn *txn, void *argument, struct error *error) {
    struct fixture *fixture = argument;
    struct object_row object = {.digest = fixture->key, .size = 1, .type = ARTIFACT_DEBUGINFO};
    struct build_input input = {.role = 1};
    struct build_row row;
    enum err err = catalog_object_put(txn, TENANT_DEFAULT, &object, &input.object_id, error);
    if (err != ERR_OK)
        return err;
    return catalog_build_ensure(txn, TENANT_DEFAULT, &fixture->key, &input, 1, 1, &row, error);
}

static enum err end_build(struct catalog_txn *txn, void *argument, struct error *error) {
    struct fixture *fixture = argument;
    struct build_row row = {.key = fixture->key, .state = BUILD_OK, .finished_ms = 2};
    return catalog_build_update(txn, TENANT_DEFAULT, &row, error);
}

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct error error;
    scratch_make(&fixture->scratch);
    pthread_mutex_init(&fixture->mutex, NULL);
    pthread_cond_init(&fixture->changed, NULL);
    fixture->key = hash_sha256_of(span_cstr("a build"));
    assert_int_equal(
        catalog_open(scratch_path(&fixture->scratch, "c.db"), &fixture->catalog, &error), ERR_OK);
    assert_int_equal(catalog_write(fixture->catalog, add_build, fixture, &error), ERR_OK);
    assert_int_equal(build_waiter_new(fixture->catalog, 2, &fixture->waiter, &error), ERR_OK);
    *state = fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    build_waiter_free(fixture->waiter);
    catalog_free(fixture->catalog);
    scratch_remove(&fixture->scratch);
    pthread_mutex_destroy(&fixture->mutex);
    pthread_cond_destroy(&fixture->changed);
    free(fixture);
    return 0;
}

static void note_done(void *argument) {
    struct fixture *fixture = argument;
    pthread_mutex_lock(&fixture->mutex);
    fixture->done_count++;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->mutex);
}

static enum err add_wait(struct fixture *fixture, int64_t deadline_ms) {
    struct error error;
    return build_waiter_add(fixture->waiter, TENANT_DEFAULT, &fixture->key, deadline_ms, note_done,
                            fixture, &error);
}

static void await_done(struct fixture *fixture, unsigned count) {
    pthread_mutex_lock(&fixture->mutex);
    while (fixture->done_count < count)
        pthread_cond_wait(&fixture->changed, &fixture->mutex);
    assert_int_equal(fixture->done_count, count);
    pthread_mutex_unlock(&fixture->mutex);
}

static void a_wait_ends_when_the_build_does(void **state) {
    struct fixture *fixture = *state;
    struct error error;
    assert_int_equal(add_wait(fixture, INT64_MAX), ERR_OK);
    assert_int_equal(add_wait(fixture, INT64_MAX), ERR_OK);
    assert_int_equal(catalog_write(fixture->catalog, end_build, fixture, &error), ERR_OK);
    await_done(fixture, 2);
    assert_int_equal(add_wait(fixture, INT64_MAX), ERR_OK);
    await_done(fixture, 3);
}

static void a_wait_ends_at_its_deadline(void **state) {
    struct fixture *fixture = *state;
    assert_int_equal(add_wait(fixture, clock_mono_ms() + 1), ERR_OK);
    await_done(fixture, 1);
}

static void a_build_that_is_not_there_is_not_waited_for(void **state) {
    struct fixture *fixture = *state;
    fixture->key = hash_sha256_of(span_cstr("another"));
    assert_int_equal(add_wait(fixture, INT64_MAX), ERR_OK);
    await_done(fixture, 1);
}

static void a_wait_without_a_place_is_refused(void **state) {
    struct fixture *fixture = *state;
    assert_int_equal(add_wait(fixture, INT64_MAX), ERR_OK);
    assert_int_equal(add_wait(fixture, INT64_MAX), ERR_OK);
    assert_int_equal(add_wait(fixture, INT64_MAX), ERR_EXHAUSTED);
    build_waiter_stop(fixture->waiter);
    await_done(fixture, 2);
}

static void stopping_ends_all_waits_and_refuses_later_ones(void **state) {
    struct fixture *fixture = *state;
    assert_int_equal(add_wait(fixture, INT64_MAX), ERR_OK);
    build_waiter_stop(fixture->waiter);
    await_done(fixture, 1);
    assert_int_equal(add_wait(fixture, INT64_MAX), ERR_CANCELLED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_wait_ends_when_the_build_does),
        TEST(a_wait_ends_at_its_deadline),
        TEST(a_build_that_is_not_there_is_not_waited_for),
        TEST(a_wait_without_a_place_is_refused),
        TEST(stopping_ends_all_waits_and_refuses_later_ones),
    };
    return cmocka_run_group_tests_name("build_waiter", tests, NULL, NULL);
}
