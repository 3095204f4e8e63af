#include "ingest/build_queue.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/request_context.h"
#include "ingest/build_job_internal.h"

#define WORKER_COUNT_DEFAULT_MAX 4
#define FAILURE_EXPIRY_MS_DEFAULT ((int64_t)60 * 60 * 1000)
#define RETRY_DELAY_MS_DEFAULT 1000

/* The queue itself is in the catalog. This much of its head is known here at a time, so that memory
 * is bounded however many builds are queued. */
#define TASK_REFILL_MAX 64
#define TASK_COUNT_MAX 256

enum task_state { TASK_READY, TASK_RUNNING, TASK_DELAYED };

struct task {
    struct task *next;
    enum task_state state;
    int64_t due_mono_ms; /* TASK_DELAYED */
    char tenant[TENANT_NAME_MAX + 1];
    struct digest key;
};

struct build_thread {
    struct build_queue *queue;
    unsigned number;
    bool started; /* and not joined: only who changes their number may look */
    bool running; /* guarded by the queue's mutex */
    pthread_t thread;
};

struct build_queue {
    struct build_site site;
    struct build_thread threads[BUILD_WORKERS_MAX]; /* what is unused is zero */
    pthread_mutex_t mutex;                          /* guards what follows */
    pthread_cond_t work;                            /* something to do, or to stop */
    pthread_cond_t ended;                           /* ended_count has grown */
    bool stopping;
    unsigned thread_count;      /* wanted: those of higher numbers end */
    bool refilling;             /* one thread reads the catalog */
    bool more_queued;           /* the catalog may have queued builds that are not known here */
    int64_t refill_due_mono_ms; /* not before: reading failed */
    uint64_t ended_count;
    struct task *first; /* in the order of the catalog */
    unsigned task_count;
    struct build_queue_stats stats; /* but for queued */
};

static struct task **find(struct build_queue *queue, const char *tenant, const struct digest *key) {
    struct task **link = &queue->first;
    while (*link && !(digest_equal(&(*link)->key, key) && strcmp((*link)->tenant, tenant) == 0))
        link = &(*link)->next;
    return link;
}

static bool is_running(const struct build_queue *queue, const struct digest *key) {
    for (const struct task *task = queue->first; task; task = task->next)
        if (task->state == TASK_RUNNING && digest_equal(&task->key, key))
            return true;
    return false;
}

/* Tenants that have the same files share the index: the second finds it made by the first. */
static struct task *pick(struct build_queue *queue, int64_t now_mono_ms) {
    for (struct task *task = queue->first; task; task = task->next) {
        bool due = task->state == TASK_READY ||
                   (task->state == TASK_DELAYED && task->due_mono_ms <= now_mono_ms);
        if (due && !is_running(queue, &task->key))
            return task;
    }
    return NULL;
}

struct refill {
    struct build_queue *queue;
    unsigned added;
    bool out_of_room;
};

static bool append_task(struct build_queue *queue, const char *tenant, const struct digest *key) {
    struct task *task = calloc(1, sizeof(*task));
    if (!task)
        return false;
    assert(strlen(tenant) < sizeof(task->tenant));
    memcpy(task->tenant, tenant, strlen(tenant) + 1);
    task->key = *key;
    *find(queue, tenant, key) = task;
    queue->task_count++;
    return true;
}

static bool add_queued(void *argument, const char *tenant, const struct digest *key) {
    struct refill *refill = argument;
    struct build_queue *queue = refill->queue;
    pthread_mutex_lock(&queue->mutex);
    bool known = *find(queue, tenant, key) != NULL;
    bool room = refill->added < TASK_REFILL_MAX && queue->task_count < TASK_COUNT_MAX;
    bool added = !known && room && append_task(queue, tenant, key);
    pthread_mutex_unlock(&queue->mutex);
    refill->added += added;
    refill->out_of_room = !known && !added;
    return !refill->out_of_room;
}

static enum err read_queued(struct catalog_txn *txn, void *argument, struct error *error) {
    return catalog_builds_queued(txn, add_queued, argument, error);
}

static bool may_refill(const struct build_queue *queue, int64_t now_mono_ms) {
    return queue->more_queued && !queue->refilling && queue->task_count < TASK_COUNT_MAX &&
           queue->refill_due_mono_ms <= now_mono_ms;
}

/* Called and left with the mutex held; reads the catalog without it. */
static void refill_tasks(struct build_queue *queue) {
    struct refill refill = {.queue = queue};
    struct error error;
    queue->refilling = true;
    queue->more_queued = false;
    pthread_mutex_unlock(&queue->mutex);
    enum err err = catalog_read(queue->site.catalog, read_queued, &refill, &error);
    pthread_mutex_lock(&queue->mutex);
    queue->refilling = false;
    queue->more_queued |= refill.out_of_room || err != ERR_OK;
    if (err != ERR_OK)
        queue->refill_due_mono_ms = clock_mono_ms() + queue->site.retry_delay_ms;
    pthread_cond_broadcast(&queue->work);
}

static void count_end(struct build_queue *queue, enum build_state state) {
    switch (state) {
    case BUILD_OK:
        queue->stats.ok++;
        return;
    case BUILD_MALFORMED:
        queue->stats.malformed++;
        return;
    case BUILD_UNSUPPORTED:
        queue->stats.unsupported++;
        return;
    case BUILD_KILLED:
        queue->stats.killed++;
        return;
    case BUILD_FAILED:
        queue->stats.failed++;
        return;
    case BUILD_QUEUED:
    case BUILD_RUNNING:
        break;
    }
    assert(!"a build ended in a state that is no end");
}

static void count_time(struct build_queue *queue, uint64_t build_ms) {
    static const uint64_t bounds_ms[] = BUILD_TIME_BOUNDS_MS;
    _Static_assert(ARRAY_SIZE(bounds_ms) + 1 == BUILD_TIME_COUNT, "one count for each, and above");
    size_t place = 0;
    while (place < ARRAY_SIZE(bounds_ms) && build_ms > bounds_ms[place])
        place++;
    queue->stats.build_times[place]++;
    queue->stats.build_ms_sum += build_ms;
}

static void end_task(struct build_queue *queue, struct task *task) {
    struct task **link = find(queue, task->tenant, &task->key);
    assert(*link == task);
    *link = task->next;
    queue->task_count--;
    free(task);
    queue->ended_count++;
    pthread_cond_broadcast(&queue->ended);
}

/* Called and left with the mutex held; builds without it. */
static void run_task(struct build_queue *queue, struct task *task) {
    task->state = TASK_RUNNING;
    queue->stats.running++;
    pthread_mutex_unlock(&queue->mutex);
    int64_t started_ms = clock_mono_ms();
    struct build_job_result result = build_job_run(&queue->site, task->tenant, &task->key);
    int64_t now_ms = clock_mono_ms();
    pthread_mutex_lock(&queue->mutex);
    queue->stats.running--;
    if (result.end == BUILD_JOB_AGAIN) {
        task->state = TASK_DELAYED;
        task->due_mono_ms = now_ms + result.delay_ms;
    } else {
        if (result.end == BUILD_JOB_DONE) {
            count_end(queue, result.state);
            queue->stats.files_missing += result.found_missing;
            queue->stats.files_damaged += result.found_damaged;
            /* Another set of objects may have been queued in its place. */
            queue->more_queued |= result.state != BUILD_OK;
            count_time(queue, (uint64_t)(now_ms - started_ms));
        }
        end_task(queue, task);
    }
    /* Another tenant's build of the same key may go on now. */
    pthread_cond_broadcast(&queue->work);
}

static struct timespec timespec_of_ms(int64_t mono_ms) {
    return (struct timespec){.tv_sec = mono_ms / 1000, .tv_nsec = mono_ms % 1000 * 1000000};
}

static void wait_for_work(struct build_queue *queue, int64_t now_mono_ms) {
    int64_t due = INT64_MAX;
    for (const struct task *task = queue->first; task; task = task->next)
        if (task->state == TASK_DELAYED && task->due_mono_ms > now_mono_ms &&
            task->due_mono_ms < due)
            due = task->due_mono_ms;
    if (queue->more_queued && queue->refill_due_mono_ms > now_mono_ms &&
        queue->refill_due_mono_ms < due)
        due = queue->refill_due_mono_ms;
    struct timespec until = timespec_of_ms(due);
    if (due == INT64_MAX)
        pthread_cond_wait(&queue->work, &queue->mutex);
    else
        pthread_cond_timedwait(&queue->work, &queue->mutex, &until);
}

static void *run(void *argument) {
    struct build_thread *self = argument;
    struct build_queue *queue = self->queue;
    pthread_mutex_lock(&queue->mutex);
    while (!queue->stopping && self->number < queue->thread_count) {
        int64_t now_mono_ms = clock_mono_ms();
        struct task *task = pick(queue, now_mono_ms);
        if (task)
            run_task(queue, task);
        else if (may_refill(queue, now_mono_ms))
            refill_tasks(queue);
        else
            wait_for_work(queue, now_mono_ms);
    }
    self->running = false;
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

static enum err requeue_running(struct catalog_txn *txn, void *argument, struct error *error) {
    uint64_t *count = argument;
    return catalog_builds_requeue_running(txn, count, error);
}

static unsigned worker_count(unsigned wanted) {
    assert(wanted <= BUILD_WORKERS_MAX);
    if (wanted > 0)
        return wanted;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (cpus < 1)
        return 1;
    return cpus < WORKER_COUNT_DEFAULT_MAX ? (unsigned)cpus : WORKER_COUNT_DEFAULT_MAX;
}

/* One that was to end may do so, or go on: the wanted number has grown again. */
static enum err start_thread(struct build_queue *queue, unsigned number, struct error *error) {
    struct build_thread *thread = &queue->threads[number];
    pthread_mutex_lock(&queue->mutex);
    bool running = thread->running;
    thread->running = true;
    pthread_mutex_unlock(&queue->mutex);
    if (running)
        return ERR_OK;
    if (thread->started)
        pthread_join(thread->thread, NULL);
    thread->queue = queue;
    thread->number = number;
    int failure = pthread_create(&thread->thread, NULL, run, thread);
    thread->started = failure == 0;
    if (failure == 0)
        return ERR_OK;
    pthread_mutex_lock(&queue->mutex);
    thread->running = false;
    pthread_mutex_unlock(&queue->mutex);
    return error_set_errno(error, ERR_UNAVAILABLE, failure, "cannot start a build thread");
}

enum err build_queue_set_worker_count(struct build_queue *queue, unsigned wanted,
                                      struct error *error) {
    unsigned count = worker_count(wanted);
    pthread_mutex_lock(&queue->mutex);
    queue->thread_count = count;
    pthread_cond_broadcast(&queue->work);
    pthread_mutex_unlock(&queue->mutex);
    enum err err = ERR_OK;
    for (unsigned i = 0; err == ERR_OK && i < count; i++)
        err = start_thread(queue, i, error);
    return err;
}

static void init_locks(struct build_queue *queue) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->work, &monotonic);
    pthread_cond_init(&queue->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

enum err build_queue_open(const struct build_queue_config *config, struct catalog *catalog,
                          struct blob_store *blobs, struct index_cache *indexes,
                          struct workers *workers, struct build_queue **ret_queue,
                          struct error *error) {
    CLEANUP(cleanup_build_queue) struct build_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return error_set(error, ERR_NO_MEMORY, "no memory for the build queue");
    init_locks(queue);
    queue->more_queued = true;
    queue->site = (struct build_site){
        .catalog = catalog,
        .blobs = blobs,
        .indexes = indexes,
        .workers = workers,
        .failure_expiry_ms = config->failure_expiry_ms ? config->failure_expiry_ms
                                                       : FAILURE_EXPIRY_MS_DEFAULT,
        .retry_delay_ms = config->retry_delay_ms ? config->retry_delay_ms : RETRY_DELAY_MS_DEFAULT,
        .cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
    };
    if (queue->site.cancel_fd < 0)
        return error_set_errno(error, ERR_UNAVAILABLE, errno, "cannot make an eventfd");
    uint64_t requeued = 0;
    enum err err = catalog_write(catalog, requeue_running, &requeued, error);
    if (err == ERR_OK)
        err = build_queue_set_worker_count(queue, config->worker_count, error);
    if (err != ERR_OK)
        return err;
    *ret_queue = TAKE(queue);
    return ERR_OK;
}

static void stop(struct build_queue *queue) {
    pthread_mutex_lock(&queue->mutex);
    queue->stopping = true;
    pthread_cond_broadcast(&queue->work);
    pthread_mutex_unlock(&queue->mutex);
    if (queue->site.cancel_fd >= 0)
        eventfd_write(queue->site.cancel_fd, 1);
    for (unsigned i = 0; i < BUILD_WORKERS_MAX; i++)
        if (queue->threads[i].started)
            pthread_join(queue->threads[i].thread, NULL);
}

void build_queue_free(struct build_queue *queue) {
    if (!queue)
        return;
    stop(queue);
    while (queue->first) {
        struct task *next = queue->first->next;
        free(queue->first);
        queue->first = next;
    }
    fd_close(queue->site.cancel_fd);
    pthread_cond_destroy(&queue->ended);
    pthread_cond_destroy(&queue->work);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

void build_queue_wake(struct build_queue *queue) {
    pthread_mutex_lock(&queue->mutex);
    queue->more_queued = true;
    pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&queue->mutex);
}

/* The argument of the transactions below. */
struct named_build {
    const char *tenant;
    const struct digest *key;
    struct build_row row;
    bool wanted; /* it has to be queued again */
};

static enum err read_build(struct catalog_txn *txn, void *argument, struct error *error) {
    struct named_build *named = argument;
    enum err err = catalog_build_get(txn, named->tenant, named->key, &named->row, error);
    named->wanted = err == ERR_OK && (named->row.state == BUILD_OK ||
                                      build_row_may_retry(&named->row, clock_wall_ms()));
    return err;
}

static enum err requeue(struct catalog_txn *txn, void *argument, struct error *error) {
    struct named_build *named = argument;
    enum err err = read_build(txn, named, error);
    if (err != ERR_OK || !named->wanted)
        return err;
    build_row_requeue(&named->row);
    return catalog_build_update(txn, named->tenant, &named->row, error);
}

enum err build_queue_rebuild(struct build_queue *queue, const char *tenant,
                             const struct digest *key, struct error *error) {
    struct named_build named = {.tenant = tenant, .key = key};
    enum err err = catalog_read(queue->site.catalog, read_build, &named, error);
    if (err != ERR_OK || !named.wanted)
        return err;
    err = catalog_write(queue->site.catalog, requeue, &named, error);
    if (err == ERR_OK)
        build_queue_wake(queue);
    return err;
}

static bool has_ended(struct build_queue *queue, struct named_build *named) {
    struct error error;
    enum err err = catalog_read(queue->site.catalog, read_build, named, &error);
    if (err != ERR_OK)
        return err == ERR_NOT_FOUND;
    return named->row.state != BUILD_QUEUED && named->row.state != BUILD_RUNNING;
}

/* Sleeps until more builds have ended than had, or the deadline; false at the deadline. */
static bool wait_for_end(struct build_queue *queue, uint64_t ended_count,
                         int64_t deadline_mono_ms) {
    struct timespec until = timespec_of_ms(deadline_mono_ms);
    bool ended = true;
    pthread_mutex_lock(&queue->mutex);
    while (ended && queue->ended_count == ended_count)
        ended = pthread_cond_timedwait(&queue->ended, &queue->mutex, &until) != ETIMEDOUT;
    pthread_mutex_unlock(&queue->mutex);
    return ended;
}

bool build_queue_wait(struct build_queue *queue, const char *tenant, const struct digest *key,
                      int64_t deadline_mono_ms) {
    struct named_build named = {.tenant = tenant, .key = key};
    for (;;) {
        pthread_mutex_lock(&queue->mutex);
        uint64_t ended_count = queue->ended_count;
        pthread_mutex_unlock(&queue->mutex);
        if (has_ended(queue, &named))
            return true;
        if (!wait_for_end(queue, ended_count, deadline_mono_ms))
            return false;
    }
}

static bool count_queued(void *argument, const char *tenant, const struct digest *key) {
    (void)tenant;
    (void)key;
    ++*(uint64_t *)argument;
    return true;
}

static enum err read_queued_count(struct catalog_txn *txn, void *argument, struct error *error) {
    return catalog_builds_queued(txn, count_queued, argument, error);
}

void build_queue_stats_read(struct build_queue *queue, struct build_queue_stats *ret_stats) {
    uint64_t queued = 0;
    struct error error;
    /* A catalog that cannot be read shows elsewhere; here it shows as what was counted so far. */
    catalog_read(queue->site.catalog, read_queued_count, &queued, &error);
    pthread_mutex_lock(&queue->mutex);
    *ret_stats = queue->stats;
    pthread_mutex_unlock(&queue->mutex);
    ret_stats->queued = queued;
}
