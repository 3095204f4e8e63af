#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ingest/worker_internal.h"

/* Above every number that an inherited fd is moved to, so that moving one never closes another. */
#define PARKING_FD_FIRST (WORKER_FD_FIRST + WORKER_FD_MAX)
#define FD_COUNT_MAX 256

static _Noreturn void fail(const struct worker_child *child) {
    int failure = errno;
    /* Nobody can be told when this write fails; the parent then sees a worker without a report. */
    ssize_t written = write(child->status_fd, &failure, sizeof(failure));
    (void)written;
    _exit(127);
}

static void park(const struct worker_child *child, int *fd) {
    int parked = fcntl(*fd, F_DUPFD_CLOEXEC, PARKING_FD_FIRST);
    if (parked < 0)
        fail(child);
    *fd = parked;
}

static void place(const struct worker_child *child, int fd, int number) {
    if (dup2(fd, number) < 0)
        fail(child);
}

static void renumber_fds(struct worker_child *child) {
    park(child, &child->status_fd);
    park(child, &child->null_fd);
    for (unsigned i = 0; i < child->fd_count; i++)
        park(child, &child->fds[i]);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        place(child, child->null_fd, fd);
    for (unsigned i = 0; i < child->fd_count; i++)
        place(child, child->fds[i], WORKER_FD_FIRST + (int)i);
    /* Closing at exec rather than now keeps status_fd open until exec has succeeded. */
    unsigned end = WORKER_FD_FIRST + child->fd_count;
    if (close_range(STDERR_FILENO + 1, WORKER_FD_FIRST - 1, CLOSE_RANGE_CLOEXEC) < 0 ||
        close_range(end, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
        fail(child);
}

static void limit(const struct worker_child *child, int resource, uint64_t soft, uint64_t hard) {
    struct rlimit limits = {.rlim_cur = soft, .rlim_max = hard};
    if (setrlimit((__rlimit_resource_t)resource, &limits) < 0)
        fail(child);
}

static void limit_resources(const struct worker_child *child) {
    if (child->memory_max > 0)
        limit(child, RLIMIT_DATA, child->memory_max, child->memory_max);
    /* SIGXCPU at the soft limit tells the reason; SIGKILL follows if it is caught. */
    limit(child, RLIMIT_CPU, child->cpu_seconds_max, child->cpu_seconds_max + 1);
    limit(child, RLIMIT_FSIZE, child->output_size_max, child->output_size_max);
    limit(child, RLIMIT_NOFILE, FD_COUNT_MAX, FD_COUNT_MAX);
    /* 1 and not 0: the kernel ignores 0 when cores go to a program (see do_coredump), and writes
     * none in either case with 1. */
    limit(child, RLIMIT_CORE, 1, 1);
    /* Being less nice than asked for is no reason to fail. */
    int niceness = nice(child->niceness);
    (void)niceness;
}

static void reset_signals(const struct worker_child *child) {
    struct sigaction plain = {.sa_handler = SIG_DFL};
    static const int ignored_by_servers[] = {SIGPIPE, SIGXCPU, SIGXFSZ, SIGHUP,
                                             SIGINT,  SIGTERM, SIGCHLD};
    for (size_t i = 0; i < sizeof(ignored_by_servers) / sizeof(ignored_by_servers[0]); i++)
        if (sigaction(ignored_by_servers[i], &plain, NULL) < 0)
            fail(child);
    sigset_t none;
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        fail(child);
}

_Noreturn void worker_child_exec(struct worker_child *child) {
    renumber_fds(child);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        fail(child);
    /* The server may have died before the line above could take effect. */
    if (getppid() != child->parent_pid)
        _exit(127);
    /* A terminal's ^C is for the server, which then ends its workers in order. */
    setsid();
    limit_resources(child);
    reset_signals(child);
    execve(child->program, (char *const *)child->arguments, (char *const *)child->environment);
    fail(child);
}
