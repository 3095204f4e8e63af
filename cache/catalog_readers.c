#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cache/catalog_internal.h"

/* More than this many idle connections are closed; how many are in use is the callers' matter. */
#define IDLE_MAX 16

struct catalog_readers {
    char *path;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool gate_closed;
    size_t active;
    size_t idle_count;
    struct catalog_connection *idle[IDLE_MAX];
};

enum err catalog_readers_new(const char *path, struct catalog_readers **ret_readers,
                             struct error *error) {
    struct catalog_readers *readers = calloc(1, sizeof(*readers));
    char *copy = strdup(path);
    if (!readers || !copy) {
        free(readers);
        free(copy);
        return error_set(error, ERR_NO_MEMORY, "no memory for the catalog's readers");
    }
    readers->path = copy;
    pthread_mutex_init(&readers->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&readers->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    *ret_readers = readers;
    return ERR_OK;
}

void catalog_readers_free(struct catalog_readers *readers) {
    if (!readers)
        return;
    assert(readers->active == 0);
    for (size_t i = 0; i < readers->idle_count; i++)
        catalog_connection_free(readers->idle[i]);
    pthread_cond_destroy(&readers->changed);
    pthread_mutex_destroy(&readers->mutex);
    free(readers->path);
    free(readers);
}

static void leave(struct catalog_readers *readers) {
    readers->active--;
    if (readers->active == 0)
        pthread_cond_broadcast(&readers->changed);
}

enum err catalog_readers_take(struct catalog_readers *readers,
                              struct catalog_connection **ret_connection, struct error *error) {
    struct catalog_connection *connection = NULL;
    pthread_mutex_lock(&readers->mutex);
    while (readers->gate_closed)
        pthread_cond_wait(&readers->changed, &readers->mutex);
    readers->active++;
    if (readers->idle_count > 0)
        connection = readers->idle[--readers->idle_count];
    pthread_mutex_unlock(&readers->mutex);
    enum err err = ERR_OK;
    if (!connection)
        err = catalog_connection_open(readers->path, false, &connection, error);
    if (err == ERR_OK) {
        *ret_connection = connection;
        return ERR_OK;
    }
    pthread_mutex_lock(&readers->mutex);
    leave(readers);
    pthread_mutex_unlock(&readers->mutex);
    return err;
}

void catalog_readers_give(struct catalog_readers *readers, struct catalog_connection *connection) {
    pthread_mutex_lock(&readers->mutex);
    if (readers->idle_count < IDLE_MAX)
        readers->idle[readers->idle_count++] = TAKE(connection);
    leave(readers);
    pthread_mutex_unlock(&readers->mutex);
    catalog_connection_free(connection);
}

bool catalog_readers_close_gate(struct catalog_readers *readers, int64_t timeout_ms) {
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    int64_t nanoseconds = deadline.tv_nsec + timeout_ms % 1000 * 1000000;
    deadline.tv_sec += timeout_ms / 1000 + nanoseconds / 1000000000;
    deadline.tv_nsec = nanoseconds % 1000000000;
    pthread_mutex_lock(&readers->mutex);
    readers->gate_closed = true;
    int waited = 0;
    while (readers->active > 0 && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&readers->changed, &readers->mutex, &deadline);
    bool empty = readers->active == 0;
    pthread_mutex_unlock(&readers->mutex);
    return empty;
}

void catalog_readers_open_gate(struct catalog_readers *readers) {
    pthread_mutex_lock(&readers->mutex);
    readers->gate_closed = false;
    pthread_cond_broadcast(&readers->changed);
    pthread_mutex_unlock(&readers->mutex);
}
