#include "api/build_waiter.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* A build takes tens of milliseconds at least; this adds little to what the asker sees. */
#define POLL_MS 20

struct wait {
    const char *tenant;
    struct digest key;
    int64_t deadline_ms;
    build_waiter_function *done;
    void *argument;
    bool ended;
};

struct build_waiter {
    struct catalog *catalog;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    bool started;
    bool stopping;
    size_t wait_max;
    size_t count;
    struct wait *waits;
    struct wait *polled; /* the thread's own copy, so that the catalog is read without the lock */
};

struct poll {
    struct wait *waits;
    size_t count;
};

static enum err look(struct catalog_txn *txn, void *argument, struct error *error) {
    struct poll *poll = argument;
    for (size_t i = 0; i < poll->count; i++) {
        struct wait *wait = &poll->waits[i];
        struct build_row row;
        enum err err = catalog_build_get(txn, wait->tenant, &wait->key, &row, error);
        if (err != ERR_OK && err != ERR_NOT_FOUND)
            return err;
        wait->ended = err == ERR_NOT_FOUND ||
                      (row.state != BUILD_QUEUED && row.state != BUILD_RUNNING);
    }
    return ERR_OK;
}

/* Takes the ended ones of the `polled` first waits out of the list; newer ones stand behind them.
 * Returns how many now stand at the front of waiter->polled. */
static size_t take_ended(struct build_waiter *waiter, size_t polled) {
    size_t kept = 0;
    size_t ended = 0;
    int64_t now_ms = clock_mono_ms();
    for (size_t i = 0; i < waiter->count; i++) {
        struct wait wait = waiter->waits[i];
        bool over = waiter->stopping || wait.deadline_ms <= now_ms ||
                    (i < polled && waiter->polled[i].ended);
        if (!over)
            waiter->waits[kept++] = wait;
        else
            waiter->polled[ended++] = wait;
    }
    waiter->count = kept;
    return ended;
}

static void *run(void *argument) {
    struct build_waiter *waiter = argument;
    pthread_mutex_lock(&waiter->mutex);
    while (!waiter->stopping || waiter->count > 0) {
        if (waiter->count == 0) {
            pthread_cond_wait(&waiter->changed, &waiter->mutex);
            continue;
        }
        size_t polled = waiter->count;
        memcpy(waiter->polled, waiter->waits, polled * sizeof(*waiter->polled));
        pthread_mutex_unlock(&waiter->mutex);
        struct poll poll = {.waits = waiter->polled, .count = polled};
        struct error error;
        /* A catalog that does not answer leaves the waits to their deadlines. */
        if (catalog_read(waiter->catalog, look, &poll, &error) != ERR_OK)
            polled = 0;
        pthread_mutex_lock(&waiter->mutex);
        size_t ended = take_ended(waiter, polled);
        pthread_mutex_unlock(&waiter->mutex);
        for (size_t i = 0; i < ended; i++)
            waiter->polled[i].done(waiter->polled[i].argument);
        pthread_mutex_lock(&waiter->mutex);
        if (waiter->count == 0 || waiter->stopping)
            continue;
        int64_t next_ms = clock_mono_ms() + POLL_MS;
        struct timespec next = {.tv_sec = next_ms / 1000, .tv_nsec = next_ms % 1000 * 1000000};
        pthread_cond_timedwait(&waiter->changed, &waiter->mutex, &next);
    }
    pthread_mutex_unlock(&waiter->mutex);
    return NULL;
}

enum err build_waiter_new(struct catalog *catalog, size_t wait_max,
                          struct build_waiter **ret_waiter, struct error *error) {
    CLEANUP(cleanup_build_waiter) struct build_waiter *waiter = calloc(1, sizeof(*waiter));
    if (!waiter)
        return error_set(error, ERR_NO_MEMORY, "no memory for a waiter");
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&waiter->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&waiter->mutex, NULL);
    waiter->catalog = catalog;
    waiter->wait_max = wait_max;
    waiter->waits = calloc(wait_max, sizeof(*waiter->waits));
    waiter->polled = calloc(wait_max, sizeof(*waiter->polled));
    if (!waiter->waits || !waiter->polled)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu waits", wait_max);
    int failure = pthread_create(&waiter->thread, NULL, run, waiter);
    if (failure)
        return error_set_errno(error, ERR_UNAVAILABLE, failure, "cannot start a thread");
    waiter->started = true;
    *ret_waiter = TAKE(waiter);
    return ERR_OK;
}

void build_waiter_stop(struct build_waiter *waiter) {
    if (!waiter->started)
        return;
    pthread_mutex_lock(&waiter->mutex);
    waiter->stopping = true;
    pthread_cond_broadcast(&waiter->changed);
    pthread_mutex_unlock(&waiter->mutex);
    pthread_join(waiter->thread, NULL);
    waiter->started = false;
}

void build_waiter_free(struct build_waiter *waiter) {
    if (!waiter)
        return;
    build_waiter_stop(waiter);
    pthread_cond_destroy(&waiter->changed);
    pthread_mutex_destroy(&waiter->mutex);
    free(waiter->waits);
    free(waiter->polled);
    free(waiter);
}

enum err build_waiter_add(struct build_waiter *waiter, const char *tenant, const struct digest *key,
                          int64_t deadline_mono_ms, build_waiter_function *done, void *argument,
                          struct error *error) {
    pthread_mutex_lock(&waiter->mutex);
    bool stopping = waiter->stopping;
    bool full = waiter->count == waiter->wait_max;
    if (!stopping && !full)
        waiter->waits[waiter->count++] = (struct wait){
            .tenant = tenant,
            .key = *key,
            .deadline_ms = deadline_mono_ms,
            .done = done,
            .argument = argument,
        };
    /* Others make no difference to when the thread looks next. */
    if (waiter->count == 1)
        pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&waiter->mutex);
    if (stopping)
        return error_set(error, ERR_CANCELLED, "the server is stopping");
    if (full)
        return error_set(error, ERR_EXHAUSTED, "all %zu places to wait are taken",
                         waiter->wait_max);
    return ERR_OK;
}
