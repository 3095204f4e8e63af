/* What worker.c prepares for the child, and the child's side of the spawn. */
#pragma once

#include <stdint.h>

#include "ingest/worker.h"

/* Where a worker finds its fds: inputs from here on, then the output, then the report. */
#define WORKER_FD_FIRST 10
#define WORKER_FD_MAX (JOB_INPUT_MAX + 2)

/* Everything the child needs, made before the fork: after it nothing may be allocated. */
struct worker_child {
    const char *program;
    const char *const *arguments;
    const char *const *environment;
    int fds[WORKER_FD_MAX]; /* fds[i] becomes WORKER_FD_FIRST + i */
    unsigned fd_count;
    int status_fd; /* close-on-exec; gets an errno when exec, or a step before it, fails */
    int null_fd;
    int parent_pid;
    uint64_t memory_max; /* 0: no limit */
    uint64_t cpu_seconds_max;
    uint64_t output_size_max;
    int niceness;
};

/* Runs in the forked child of a process with threads, with all signals blocked: calls only what
 * signal-safety(7) lists, or plain system calls. Never returns. */
_Noreturn void worker_child_exec(struct worker_child *child);
