#include "symbolizer/build/worker_fault.h"

#ifdef SYMBOLIZER_FAULTS

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "symbolizer/build/worker_job.h"

#define BLOCK_SIZE ((size_t)16 << 20)

/* Nothing is touched, so that only the limit on the process's data notices. Where there is no such
 * limit, this ends at one. */
static void exhaust_memory(struct report *report) {
    struct rlimit limit = {0};
    getrlimit(RLIMIT_DATA, &limit);
    rlim_t left = limit.rlim_cur == RLIM_INFINITY ? (rlim_t)1 << 30 : RLIM_INFINITY;
    char *volatile block = NULL;
    do {
        block = left >= BLOCK_SIZE ? malloc(BLOCK_SIZE) : NULL;
        left -= BLOCK_SIZE;
    } while (block);
    struct error error;
    error_set(&error, ERR_NO_MEMORY, "no memory for a fault");
    worker_job_failed(&error, report);
}

static const char *wanted_kind(const struct job *job) {
    const char *wanted = getenv("SYMBOLIZER_WORKER_FAULT");
    const char *colon = wanted ? strchr(wanted, ':') : NULL;
    if (!colon)
        return wanted;
    struct span operation = span_of(wanted, (size_t)(colon - wanted));
    return span_equal_cstr(operation, job_operation_name(job->operation)) ? colon + 1 : NULL;
}

bool worker_fault(const struct job *job, struct report *ret_report, bool *ret_written) {
    static const char garbage[] = "status ok\nsize 12\n\x1b[31mid gnu ../../\xff";
    const char *kind = wanted_kind(job);
    if (!kind)
        return false;
    if (strcmp(kind, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    while (strcmp(kind, "hang") == 0)
        pause();
    if (strcmp(kind, "memory") == 0) {
        exhaust_memory(ret_report);
        return true;
    }
    if (strcmp(kind, "garbage") == 0) {
        struct error ignored;
        *ret_written = fd_write_all(job->report_fd, garbage, sizeof(garbage), &ignored) == ERR_OK;
        return true;
    }
    return false;
}

#else

typedef int worker_faults_are_compiled_out;

#endif
