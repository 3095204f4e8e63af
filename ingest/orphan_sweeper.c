#include <pthread.h>

#include "base/periodic.h"
#include "ingest/orphan_sweep.h"

#define INTERVAL_MS_MAX ((int64_t)3600 * 1000)
#define INTERVAL_MS_MIN 100

struct orphan_sweeper {
    struct ingest *ingest;
    struct index_cache *indexes;
    struct orphan_sweep_config config;
    orphan_sweep_report *report;
    void *argument;
    struct periodic *thread;
    pthread_mutex_t mutex; /* guards stats */
    struct orphan_sweep_result stats;
};

static void add(struct orphan_sweeper *sweeper, const struct orphan_sweep_result *result) {
    struct orphan_sweep_result *stats = &sweeper->stats;
    pthread_mutex_lock(&sweeper->mutex);
    stats->blobs += result->blobs;
    stats->blob_bytes += result->blob_bytes;
    stats->indexes += result->indexes;
    stats->lost += result->lost;
    stats->lost_bytes += result->lost_bytes;
    stats->refused = result->refused;
    stats->files = result->files;
    pthread_mutex_unlock(&sweeper->mutex);
}

static void run(void *argument, const atomic_bool *stopping) {
    struct orphan_sweeper *sweeper = argument;
    struct orphan_sweep_result result;
    struct error error;
    enum err err = orphan_sweep(sweeper->ingest, sweeper->indexes, &sweeper->config, stopping,
                                &result, &error);
    add(sweeper, &result);
    if (err != ERR_CANCELLED)
        sweeper->report(sweeper->argument, &result, err == ERR_OK ? NULL : &error);
}

static int64_t interval_ms(const struct orphan_sweep_config *config) {
    int64_t grace_ms = config->grace_ms;
    if (grace_ms == 0 || grace_ms > INTERVAL_MS_MAX)
        return INTERVAL_MS_MAX;
    return grace_ms < INTERVAL_MS_MIN ? INTERVAL_MS_MIN : grace_ms;
}

enum err orphan_sweeper_new(struct ingest *ingest, struct index_cache *indexes,
                            const struct orphan_sweep_config *config, orphan_sweep_report *report,
                            void *argument, struct orphan_sweeper **ret_sweeper,
                            struct error *error) {
    CLEANUP(cleanup_orphan_sweeper) struct orphan_sweeper *sweeper = calloc(1, sizeof(*sweeper));
    if (!sweeper)
        return error_set(error, ERR_NO_MEMORY, "no memory for the sweep of orphans");
    sweeper->ingest = ingest;
    sweeper->indexes = indexes;
    sweeper->config = *config;
    sweeper->report = report;
    sweeper->argument = argument;
    pthread_mutex_init(&sweeper->mutex, NULL);
    enum err err = periodic_new(run, sweeper, interval_ms(config), &sweeper->thread, error);
    if (err != ERR_OK)
        return error_prefix(error, "the sweep of orphans");
    *ret_sweeper = TAKE(sweeper);
    return ERR_OK;
}

void orphan_sweeper_free(struct orphan_sweeper *sweeper) {
    if (!sweeper)
        return;
    periodic_free(sweeper->thread);
    pthread_mutex_destroy(&sweeper->mutex);
    free(sweeper);
}

void orphan_sweeper_stats_read(struct orphan_sweeper *sweeper,
                               struct orphan_sweep_result *ret_stats) {
    pthread_mutex_lock(&sweeper->mutex);
    *ret_stats = sweeper->stats;
    pthread_mutex_unlock(&sweeper->mutex);
}
