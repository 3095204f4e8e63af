#include "cache/blob_compactor.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/periodic.h"
#include "cache/blob_compress.h"
#include "cache/blob_store_internal.h"

#define INTERVAL_MS_DEFAULT ((int64_t)10 * 60 * 1000)

struct blob_compactor {
    struct blob_store *store;
    struct blob_compactor_config config;
    _Atomic int64_t age_min_ms; /* may change */
    struct periodic *thread;
    pthread_mutex_t mutex; /* guards stats */
    struct blob_compactor_stats stats;
};

/* One look at all blobs. */
struct look {
    struct blob_compactor *compactor;
    const atomic_bool *stopping;
};

static int64_t age_ms(const struct stat *status) {
    int64_t modified_ms = (int64_t)status->st_mtim.tv_sec * 1000 +
                          status->st_mtim.tv_nsec / 1000000;
    return clock_wall_ms() - modified_ms;
}

static bool is_due(const struct blob_compactor *compactor, const struct stat *status) {
    if ((status->st_mode & 0777) == BLOB_MODE_KEPT)
        return false;
    return age_ms(status) >= compactor->age_min_ms;
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
static enum err compress(const struct look *look, const struct digest *digest,
                         struct error *error) {
    struct blob_compactor *compactor = look->compactor;
    struct blob_compress_result result;
    enum err err = blob_store_compress(compactor->store, digest, look->stopping, &result, error);
    if (err == ERR_OK)
        note_result(compactor, &result);
    else if (err != ERR_CANCELLED && err != ERR_NOT_FOUND)
        note_failure(compactor, error);
    if (err == ERR_DAMAGED && compactor->config.found_damaged)
        compactor->config.found_damaged(compactor->config.argument, digest);
    return err == ERR_CANCELLED || err == ERR_NO_SPACE ? err : ERR_OK;
}

static enum err visit_file(void *argument, const struct digest_file *file, struct error *error) {
    const struct look *look = argument;
    if (atomic_load(look->stopping))
        return error_set(error, ERR_CANCELLED, "the compactor was stopped");
    if (file->suffix[0] != '\0' || !is_due(look->compactor, &file->status))
        return ERR_OK;
    return compress(look, &file->digest, error);
}

static void look_at_all(void *argument, const atomic_bool *stopping) {
    struct blob_compactor *compactor = argument;
    struct look look = {compactor, stopping};
    struct error error;
    enum err err = compactor->age_min_ms == BLOB_COMPRESS_NEVER
                       ? ERR_OK
                       : digest_files_visit(compactor->store->blobs, visit_file, &look, &error);
    if (err != ERR_OK && err != ERR_CANCELLED && err != ERR_NO_SPACE)
        note_failure(compactor, &error);
    pthread_mutex_lock(&compactor->mutex);
    compactor->stats.passes++;
    pthread_mutex_unlock(&compactor->mutex);
}

enum err blob_compactor_new(const struct blob_compactor_config *config, struct blob_store *store,
                            struct blob_compactor **ret_compactor, struct error *error) {
    CLEANUP(cleanup_blob_compactor)
    struct blob_compactor *compactor = calloc(1, sizeof(*compactor));
    if (!compactor)
        return error_set(error, ERR_NO_MEMORY, "no memory for the compactor");
    compactor->store = store;
    compactor->config = *config;
    compactor->age_min_ms = config->age_min_ms;
    if (compactor->config.interval_ms == 0)
        compactor->config.interval_ms = INTERVAL_MS_DEFAULT;
    pthread_mutex_init(&compactor->mutex, NULL);
    enum err err = periodic_new(look_at_all, compactor, compactor->config.interval_ms,
                                &compactor->thread, error);
    if (err != ERR_OK)
        return error_prefix(error, "the compactor");
    *ret_compactor = TAKE(compactor);
    return ERR_OK;
}

void blob_compactor_set_age(struct blob_compactor *compactor, int64_t age_min_ms) {
    compactor->age_min_ms = age_min_ms;
    periodic_wake(compactor->thread);
}

void blob_compactor_free(struct blob_compactor *compactor) {
    if (!compactor)
        return;
    periodic_free(compactor->thread);
    pthread_mutex_destroy(&compactor->mutex);
    free(compactor);
}

void blob_compactor_stats_read(struct blob_compactor *compactor,
                               struct blob_compactor_stats *ret_stats) {
    pthread_mutex_lock(&compactor->mutex);
    *ret_stats = compactor->stats;
    pthread_mutex_unlock(&compactor->mutex);
}
