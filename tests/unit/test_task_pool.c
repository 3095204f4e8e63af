#include "base/task_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tests/support/test.h"

static atomic_int ran;

static void count(void *argument) {
    (void)argument;
    atomic_fetch_add(&ran, 1);
}

static void everything_submitted_runs_before_the_pool_ends(void **state) {
    (void)state;
    struct task_pool *pool = NULL;
    struct error error;
    atomic_store(&ran, 0);
    assert_int_equal(task_pool_new(3, 1000, &pool, &error), ERR_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(task_pool_submit(pool, count, NULL, &error), ERR_OK);
    task_pool_free(pool);
    assert_int_equal(atomic_load(&ran), 1000);
}

struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    bool entered;
    bool open;
};

static void wait_at_gate(void *argument) {
    struct gate *gate = argument;
    pthread_mutex_lock(&gate->mutex);
    gate->entered = true;
    pthread_cond_broadcast(&gate->moved);
    while (!gate->open)
        pthread_cond_wait(&gate->moved, &gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
}

static void a_full_queue_says_so_and_drops_nothing(void **state) {
    (void)state;
    struct task_pool *pool = NULL;
    struct error error;
    struct gate gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    atomic_store(&ran, 0);
    assert_int_equal(task_pool_new(1, 2, &pool, &error), ERR_OK);
    assert_int_equal(task_pool_submit(pool, wait_at_gate, &gate, &error), ERR_OK);
    pthread_mutex_lock(&gate.mutex);
    while (!gate.entered)
        pthread_cond_wait(&gate.moved, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
    assert_int_equal(task_pool_submit(pool, count, NULL, &error), ERR_OK);
    assert_int_equal(task_pool_submit(pool, count, NULL, &error), ERR_OK);
    assert_int_equal(task_pool_queue_length(pool), 2);
    assert_int_equal(task_pool_submit(pool, count, NULL, &error), ERR_EXHAUSTED);
    pthread_mutex_lock(&gate.mutex);
    gate.open = true;
    pthread_cond_broadcast(&gate.moved);
    pthread_mutex_unlock(&gate.mutex);
    task_pool_free(pool);
    assert_int_equal(atomic_load(&ran), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_submitted_runs_before_the_pool_ends),
        cmocka_unit_test(a_full_queue_says_so_and_drops_nothing),
    };
    return cmocka_run_group_tests_name("task_pool", tests, NULL, NULL);
}
