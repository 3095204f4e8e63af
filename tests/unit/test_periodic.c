#include "base/periodic.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "tests/support/test.h"

#define FOREVER_MS ((int64_t)3600 * 1000)

struct work {
    atomic_uint times;
    bool lasts; /* until it is stopped */
};

static void count(void *argument, const atomic_bool *stopping) {
    struct work *work = argument;
    atomic_fetch_add(&work->times, 1);
    while (work->lasts && !atomic_load(stopping))
        sched_yield();
}

static struct periodic *start(struct work *work, int64_t interval_ms) {
    struct periodic *periodic = NULL;
    struct error error;
    assert_int_equal(periodic_new(count, work, interval_ms, &periodic, &error), ERR_OK);
    return periodic;
}

static void wait_for(struct work *work, unsigned times) {
    while (atomic_load(&work->times) < times)
        sched_yield();
}

static void work_is_done_at_once_and_again_after_each_interval(void **state) {
    (void)state;
    struct work work = {.lasts = false};
    struct periodic *periodic = start(&work, 1);
    wait_for(&work, 5);
    periodic_free(periodic);
}

static void a_wake_does_not_wait_for_the_interval(void **state) {
    (void)state;
    struct work work = {.lasts = false};
    struct periodic *periodic = start(&work, FOREVER_MS);
    wait_for(&work, 1);
    periodic_wake(periodic);
    wait_for(&work, 2);
    periodic_free(periodic);
    assert_int_equal(work.times, 2);
}

static void work_that_lasts_is_told_of_the_end(void **state) {
    (void)state;
    struct work work = {.lasts = true};
    struct periodic *periodic = start(&work, 1);
    wait_for(&work, 1);
    periodic_free(periodic);
    assert_int_equal(work.times, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_done_at_once_and_again_after_each_interval),
        cmocka_unit_test(a_wake_does_not_wait_for_the_interval),
        cmocka_unit_test(work_that_lasts_is_told_of_the_end),
    };
    return cmocka_run_group_tests_name("periodic", tests, NULL, NULL);
}
