/*
 * How workers are run (ingest/worker.h), for all who run them. It may change meanwhile: a worker
 * that runs goes on as it was started, the next one is started anew.
 *
 * Threads: any.
 */
#pragma once

#include "base/cleanup.h"
#include "ingest/worker.h"

struct workers;

/* Copies the config and its path. */
enum err workers_new(const struct worker_config *config, struct workers **ret_workers,
                     struct error *error);
void workers_free(struct workers *workers);
DEFINE_CLEANUP(workers, struct workers, workers_free)

/* ERR_NO_MEMORY: all stays as it is. */
enum err workers_configure(struct workers *workers, const struct worker_config *config,
                           struct error *error);

/* As worker_run. Blocks. */
enum err workers_run(struct workers *workers, const struct job *job, int cancel_fd,
                     struct report *ret_report, struct error *error);
