/*
 * The parent side of symbolizer-worker: spawn it with a job, bound its resources, wait for its
 * report, kill it at the deadline. Whatever the worker does, the outcome is a report: a crash, a
 * hang, a broken or missing report is REPORT_KILLED with the reason ("killed by SIGSEGV", "over the
 * deadline of 60000 ms", "over its memory limit").
 *
 * The child inherits only the fds of its job and /dev/null, has no environment but what a test
 * build's hooks need, cannot gain privileges, dies with the server, and leaves no core.
 *
 * Threads: any; each call runs one worker and blocks until it is gone.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "symbolizer/protocol/job.h"
#include "symbolizer/protocol/report.h"

struct worker_config {
    const char *program;      /* path of symbolizer-worker */
    int64_t deadline_ms;      /* of one job; 0: 10 min */
    uint64_t memory_max;      /* RLIMIT_DATA; 0: 4 GiB */
    uint64_t cpu_seconds_max; /* RLIMIT_CPU; 0: 600 */
    uint64_t output_size_max; /* RLIMIT_FSIZE; 0: 4 GiB */
    unsigned thread_count;    /* of a build whose job does not say; 0: one */
};

/* job->report_fd is ignored: the report travels through a pipe of its own. The fds in the job stay
 * the caller's. cancel_fd (-1: none) becoming readable, as an eventfd does, kills the worker:
 * ERR_CANCELLED. Another error means that no worker ran (ERR_UNAVAILABLE); else ret_report says
 * all. */
enum err worker_run(const struct worker_config *config, const struct job *job, int cancel_fd,
                    struct report *ret_report, struct error *error);
