#include "ingest/workers.h"

#include <pthread.h>
#include <string.h>

struct workers {
    pthread_mutex_t mutex; /* guards what follows */
    struct worker_config config;
    char *program; /* that the config points to */
};

enum err workers_new(const struct worker_config *config, struct workers **ret_workers,
                     struct error *error) {
    CLEANUP(cleanup_workers) struct workers *workers = calloc(1, sizeof(*workers));
    if (!workers)
        return error_set(error, ERR_NO_MEMORY, "no memory for the workers");
    pthread_mutex_init(&workers->mutex, NULL);
    enum err err = workers_configure(workers, config, error);
    if (err == ERR_OK)
        *ret_workers = TAKE(workers);
    return err;
}

void workers_free(struct workers *workers) {
    if (!workers)
        return;
    pthread_mutex_destroy(&workers->mutex);
    free(workers->program);
    free(workers);
}

enum err workers_configure(struct workers *workers, const struct worker_config *config,
                           struct error *error) {
    char *program = strdup(config->program);
    if (!program)
        return error_set(error, ERR_NO_MEMORY, "no memory for the worker's path");
    pthread_mutex_lock(&workers->mutex);
    char *old = workers->program;
    workers->program = program;
    workers->config = *config;
    workers->config.program = program;
    pthread_mutex_unlock(&workers->mutex);
    free(old);
    return ERR_OK;
}

enum err workers_run(struct workers *workers, const struct job *job, int cancel_fd,
                     struct report *ret_report, struct error *error) {
    pthread_mutex_lock(&workers->mutex);
    struct worker_config config = workers->config;
    CLEANUP(cleanup_free) char *program = strdup(config.program);
    pthread_mutex_unlock(&workers->mutex);
    if (!program)
        return error_set(error, ERR_NO_MEMORY, "no memory for the worker's path");
    config.program = program;
    return worker_run(&config, job, cancel_fd, ret_report, error);
}
