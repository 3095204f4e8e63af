#include "base/periodic.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NICE_LOWEST 19

struct periodic {
    periodic_function *function;
    void *argument;
    int64_t interval_ms;
    pthread_t thread;
    atomic_bool stopping;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t wake;
    bool woken;
};

/* Until it is woken, the end, or the interval. */
static void rest(struct periodic *periodic) {
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += periodic->interval_ms / 1000;
    deadline.tv_nsec += periodic->interval_ms % 1000 * 1000000;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;
    pthread_mutex_lock(&periodic->mutex);
    int waited = 0;
    while (!periodic->woken && !atomic_load(&periodic->stopping) && waited == 0)
        waited = pthread_cond_timedwait(&periodic->wake, &periodic->mutex, &deadline);
    periodic->woken = false;
    pthread_mutex_unlock(&periodic->mutex);
}

/* On Linux the nice value belongs to the thread. */
static void *run(void *argument) {
    struct periodic *periodic = argument;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE_LOWEST);
    while (!atomic_load(&periodic->stopping)) {
        periodic->function(periodic->argument, &periodic->stopping);
        rest(periodic);
    }
    return NULL;
}

static void make_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void end(struct periodic *periodic) {
    pthread_cond_destroy(&periodic->wake);
    pthread_mutex_destroy(&periodic->mutex);
    free(periodic);
}

enum err periodic_new(periodic_function *function, void *argument, int64_t interval_ms,
                      struct periodic **ret_periodic, struct error *error) {
    struct periodic *periodic = calloc(1, sizeof(*periodic));
    if (!periodic)
        return error_set(error, ERR_NO_MEMORY, "no memory for a periodic thread");
    periodic->function = function;
    periodic->argument = argument;
    periodic->interval_ms = interval_ms;
    pthread_mutex_init(&periodic->mutex, NULL);
    make_condition(&periodic->wake);
    int failure = pthread_create(&periodic->thread, NULL, run, periodic);
    if (failure) {
        end(periodic);
        return error_set_errno(error, ERR_UNAVAILABLE, failure, "cannot start a thread");
    }
    *ret_periodic = periodic;
    return ERR_OK;
}

void periodic_wake(struct periodic *periodic) {
    pthread_mutex_lock(&periodic->mutex);
    periodic->woken = true;
    pthread_cond_signal(&periodic->wake);
    pthread_mutex_unlock(&periodic->mutex);
}

void periodic_free(struct periodic *periodic) {
    if (!periodic)
        return;
    atomic_store(&periodic->stopping, true);
    periodic_wake(periodic);
    pthread_join(periodic->thread, NULL);
    end(periodic);
}
