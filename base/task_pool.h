/*
 * A fixed set of threads that run short tasks in order of submission: what takes about a
 * millisecond or more and must not block a network loop. The queue is bounded.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"

struct task_pool;

typedef void task_function(void *argument);

enum err task_pool_new(unsigned thread_count, size_t queue_max, struct task_pool **ret_pool,
                       struct error *error);

/* Finishes what is queued, then joins the threads. */
void task_pool_free(struct task_pool *pool);
DEFINE_CLEANUP(task_pool, struct task_pool, task_pool_free)

/* ERR_EXHAUSTED when the queue is full; the task then never runs. Any thread may call it. */
enum err task_pool_submit(struct task_pool *pool, task_function *function, void *argument,
                          struct error *error);

size_t task_pool_queue_length(struct task_pool *pool);
