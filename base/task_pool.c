#include "base/task_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* The default follows the shell's limits and can be 2 MiB; demangling a hostile name may need as
 * much (symbolizer/index/demangle.h). Only what is touched takes memory. */
#define STACK_SIZE ((size_t)8 << 20)

struct task {
    task_function *function;
    void *argument;
};

struct task_pool {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool stopping;
    unsigned thread_count;
    pthread_t *threads;
    struct task *ring;
    size_t ring_size;
    size_t first;
    size_t count;
};

static void *run(void *argument) {
    struct task_pool *pool = argument;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (pool->count == 0 && !pool->stopping)
            pthread_cond_wait(&pool->wake, &pool->mutex);
        if (pool->count == 0)
            break;
        struct task task = pool->ring[pool->first];
        pool->first = (pool->first + 1) % pool->ring_size;
        pool->count--;
        pthread_mutex_unlock(&pool->mutex);
        task.function(task.argument);
        pthread_mutex_lock(&pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

static enum err start_threads(struct task_pool *pool, unsigned thread_count, struct error *error) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    int failure = 0;
    for (; !failure && pool->thread_count < thread_count; pool->thread_count += !failure)
        failure = pthread_create(&pool->threads[pool->thread_count], &attributes, run, pool);
    pthread_attr_destroy(&attributes);
    if (failure)
        return error_set_errno(error, ERR_UNAVAILABLE, failure, "cannot start a pool thread");
    return ERR_OK;
}

enum err task_pool_new(unsigned thread_count, size_t queue_max, struct task_pool **ret_pool,
                       struct error *error) {
    CLEANUP(cleanup_task_pool) struct task_pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return error_set(error, ERR_NO_MEMORY, "no memory for a task pool");
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->ring_size = queue_max;
    pool->ring = calloc(queue_max, sizeof(*pool->ring));
    pool->threads = calloc(thread_count, sizeof(*pool->threads));
    if (!pool->ring || !pool->threads)
        return error_set(error, ERR_NO_MEMORY, "no memory for a queue of %zu tasks", queue_max);
    enum err err = start_threads(pool, thread_count, error);
    if (err != ERR_OK)
        return err;
    *ret_pool = TAKE(pool);
    return ERR_OK;
}

void task_pool_free(struct task_pool *pool) {
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->threads);
    free(pool->ring);
    free(pool);
}

enum err task_pool_submit(struct task_pool *pool, task_function *function, void *argument,
                          struct error *error) {
    pthread_mutex_lock(&pool->mutex);
    bool full = pool->count == pool->ring_size;
    if (!full) {
        pool->ring[(pool->first + pool->count) % pool->ring_size] =
            (struct task){function, argument};
        pool->count++;
        pthread_cond_signal(&pool->wake);
    }
    pthread_mutex_unlock(&pool->mutex);
    if (full)
        return error_set(error, ERR_EXHAUSTED, "all %zu places of the work queue are taken",
                         pool->ring_size);
    return ERR_OK;
}

size_t task_pool_queue_length(struct task_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    size_t count = pool->count;
    pthread_mutex_unlock(&pool->mutex);
    return count;
}
