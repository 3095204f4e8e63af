#include "cache/blob_compactor.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/blob_compress.h"
#include "cache/blob_store_internal.h"

#define DEFAULT_MS ((int64_t)10 * 60 * 1000)
#define NICE_LOWEST 19

struct blob_compactor {
    struct blob_store *store;
    struct blob_compactor_config config;
    pthread_t thread;
    bool started;
    atomic_bool stopping;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t wake;
    bool nudged;
    struct blob_compactor_stats stats;
};

/* What a visit to one folder needs. */
struct visit {
    struct blob_compactor *compactor;
    const char *folder;
};

static int64_t age_ms(const struct stat *status) {
    int64_t modified_ms = (int64_t)status->st_mtim.tv_sec * 1000 +
                          status->st_mtim.tv_nsec / 1000000;
    return clock_wall_ms() - modified_ms;
}

static bool is_due(const struct blob_compactor *compactor, const struct stat *status) {
    if (!S_ISREG(status->st_mode) || (status->st_mode & 0777) == BLOB_MODE_KEPT)
        return false;
    return compactor->config.age_min_ms < 0 || age_ms(status) >= compactor->config.age_min_ms;
}

static void note_result(struct blob_compactor *compactor,
                        const struct blob_compress_result *result) {
    pthread_mutex_lock(&compactor->mutex);
    if (result->outcome == BLOB_KEPT) {
        compactor->stats.kept++;
    } else if (result->raw_size > 0) {
        compactor->stats.compressed++;
        compactor->stats.raw_size += result->raw_size;
        compactor->stats.stored_size += result->stored_size;
    }
    pthread_mutex_unlock(&compactor->mutex);
}

static void note_failure(struct blob_compactor *compactor, const struct error *error) {
    pthread_mutex_lock(&compactor->mutex);
    compactor->stats.failed++;
    compactor->stats.last = *error;
    pthread_mutex_unlock(&compactor->mutex);
}

/* A blob that cannot be compressed does not keep the others from it, but a full disk does: trying
 * on would only take what space others find. */
static enum err compress(struct blob_compactor *compactor, const struct digest *digest,
                         struct error *error) {
    struct blob_compress_result result;
    enum err err =
        blob_store_compress(compactor->store, digest, &compactor->stopping, &result, error);
    if (err == ERR_OK)
        note_result(compactor, &result);
    else if (err != ERR_CANCELLED && err != ERR_NOT_FOUND)
        note_failure(compactor, error);
    return err == ERR_CANCELLED || err == ERR_EXHAUSTED ? err : ERR_OK;
}

static enum err visit_file(void *argument, int directory, const char *name, struct error *error) {
    const struct visit *visit = argument;
    struct blob_compactor *compactor = visit->compactor;
    struct digest digest;
    const char *suffix = NULL;
    struct stat status;
    if (atomic_load(&compactor->stopping))
        return error_set(error, ERR_CANCELLED, "the compactor was stopped");
    if (!digest_place_parse(visit->folder, name, &digest, &suffix) || suffix[0] != '\0')
        return ERR_OK;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !is_due(compactor, &status))
        return ERR_OK;
    return compress(compactor, &digest, error);
}

static void look_at_all(struct blob_compactor *compactor) {
    enum err err = ERR_OK;
    for (unsigned i = 0; err == ERR_OK && i < DIGEST_FOLDER_COUNT; i++) {
        char folder[3];
        struct error error;
        snprintf(folder, sizeof(folder), "%02x", i & 0xffu);
        struct visit visit = {.compactor = compactor, .folder = folder};
        err = directory_visit(compactor->store->blobs, folder, visit_file, &visit, &error);
        if (err == ERR_NOT_FOUND)
            err = ERR_OK;
        if (err != ERR_OK && err != ERR_CANCELLED && err != ERR_EXHAUSTED)
            note_failure(compactor, &error);
    }
    pthread_mutex_lock(&compactor->mutex);
    compactor->stats.passes++;
    pthread_mutex_unlock(&compactor->mutex);
}

/* Until a nudge, the end, or the interval. */
static void rest(struct blob_compactor *compactor) {
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += compactor->config.interval_ms / 1000;
    deadline.tv_nsec += compactor->config.interval_ms % 1000 * 1000000;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;
    pthread_mutex_lock(&compactor->mutex);
    int waited = 0;
    while (!compactor->nudged && !atomic_load(&compactor->stopping) && waited == 0)
        waited = pthread_cond_timedwait(&compactor->wake, &compactor->mutex, &deadline);
    compactor->nudged = false;
    pthread_mutex_unlock(&compactor->mutex);
}

/* On Linux the nice value belongs to the thread. */
static void *run(void *argument) {
    struct blob_compactor *compactor = argument;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE_LOWEST);
    while (!atomic_load(&compactor->stopping)) {
        look_at_all(compactor);
        rest(compactor);
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

enum err blob_compactor_new(const struct blob_compactor_config *config, struct blob_store *store,
                            struct blob_compactor **ret_compactor, struct error *error) {
    CLEANUP(cleanup_blob_compactor)
    struct blob_compactor *compactor = calloc(1, sizeof(*compactor));
    if (!compactor)
        return error_set(error, ERR_NO_MEMORY, "no memory for the compactor");
    compactor->store = store;
    compactor->config = *config;
    if (compactor->config.age_min_ms == 0)
        compactor->config.age_min_ms = DEFAULT_MS;
    if (compactor->config.interval_ms == 0)
        compactor->config.interval_ms = DEFAULT_MS;
    pthread_mutex_init(&compactor->mutex, NULL);
    make_condition(&compactor->wake);
    int failure = pthread_create(&compactor->thread, NULL, run, compactor);
    if (failure)
        return error_set_errno(error, ERR_UNAVAILABLE, failure, "cannot start the compactor");
    compactor->started = true;
    *ret_compactor = TAKE(compactor);
    return ERR_OK;
}

void blob_compactor_nudge(struct blob_compactor *compactor) {
    pthread_mutex_lock(&compactor->mutex);
    compactor->nudged = true;
    pthread_cond_signal(&compactor->wake);
    pthread_mutex_unlock(&compactor->mutex);
}

void blob_compactor_free(struct blob_compactor *compactor) {
    if (!compactor)
        return;
    atomic_store(&compactor->stopping, true);
    blob_compactor_nudge(compactor);
    if (compactor->started)
        pthread_join(compactor->thread, NULL);
    pthread_cond_destroy(&compactor->wake);
    pthread_mutex_destroy(&compactor->mutex);
    free(compactor);
}

void blob_compactor_stats_read(struct blob_compactor *compactor,
                               struct blob_compactor_stats *ret_stats) {
    pthread_mutex_lock(&compactor->mutex);
    *ret_stats = compactor->stats;
    pthread_mutex_unlock(&compactor->mutex);
}
