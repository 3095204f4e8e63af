#include "ingest/worker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "ingest/worker_internal.h"

#define DEADLINE_MS_DEFAULT ((int64_t)10 * 60 * 1000)
#define MEMORY_MAX_DEFAULT ((uint64_t)4 << 30)
#define CPU_SECONDS_MAX_DEFAULT ((uint64_t)600)
#define OUTPUT_SIZE_MAX_DEFAULT ((uint64_t)4 << 30)

/* Builds may wait: questions, and agents that wait for the end of an upload, come first. */
#define BUILD_NICENESS 10

/* AddressSanitizer and ThreadSanitizer reserve terabytes of shadow, which RLIMIT_DATA counts. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_LIMITED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MEMORY_LIMITED 0
#endif
#endif
#ifndef MEMORY_LIMITED
#define MEMORY_LIMITED 1
#endif

/* A worker that runs, and what is known of its end. */
struct worker {
    pid_t pid; /* 0: none, or reaped */
    int pid_fd;
    int report_fd;
    int cancel_fd; /* borrowed; -1: none */
    int64_t deadline_mono_ms;
    struct buffer report;
    bool report_ended;
    enum { RUNNING, EXITED, TIMED_OUT, TALKED_TOO_MUCH, CANCELLED } end;
    siginfo_t status;
};

static void worker_kill(struct worker *worker) {
    if (worker->pid == 0)
        return;
    kill(worker->pid, SIGKILL);
}

static void worker_reap(struct worker *worker) {
    if (worker->pid == 0)
        return;
    while (waitid(P_PID, (id_t)worker->pid, &worker->status, WEXITED) < 0 && errno == EINTR)
        continue;
    worker->pid = 0;
}

static void cleanup_worker(struct worker *worker) {
    worker_kill(worker);
    worker_reap(worker);
    fd_close(worker->pid_fd);
    fd_close(worker->report_fd);
    buffer_clear(&worker->report);
}

static struct worker_config with_defaults(const struct worker_config *config,
                                          const struct job *job) {
    struct worker_config full = *config;
    if (full.deadline_ms == 0)
        full.deadline_ms = DEADLINE_MS_DEFAULT;
    if (full.memory_max == 0)
        full.memory_max = MEMORY_MAX_DEFAULT;
    if (job->memory_max > 0 && job->memory_max < full.memory_max)
        full.memory_max = job->memory_max;
    if (full.cpu_seconds_max == 0)
        full.cpu_seconds_max = CPU_SECONDS_MAX_DEFAULT;
    if (full.output_size_max == 0)
        full.output_size_max = OUTPUT_SIZE_MAX_DEFAULT;
    if (job->size_max > 0 && job->size_max < full.output_size_max)
        full.output_size_max = job->size_max;
    return full;
}

/* Gives the job the numbers that its fds have in the child, and lists the fds in that order. */
static struct job renumbered(const struct job *job, int report_fd, struct worker_child *child) {
    struct job in_child = *job;
    unsigned count = 0;
    for (; count < job->input_count; count++) {
        child->fds[count] = job->inputs[count].fd;
        in_child.inputs[count].fd = WORKER_FD_FIRST + (int)count;
    }
    if (job->out_fd >= 0) {
        child->fds[count] = job->out_fd;
        in_child.out_fd = WORKER_FD_FIRST + (int)count++;
    }
    child->fds[count] = report_fd;
    in_child.report_fd = WORKER_FD_FIRST + (int)count++;
    child->fd_count = count;
    return in_child;
}

/* The one variable that reaches a worker, and only in builds with fault points. */
static const char *fault_variable(char *storage, size_t size) {
#ifdef SYMBOLIZER_FAULTS
    const char *fault = getenv("SYMBOLIZER_WORKER_FAULT");
    if (fault) {
        snprintf(storage, size, "SYMBOLIZER_WORKER_FAULT=%s", fault);
        return storage;
    }
#else
    (void)storage;
    (void)size;
#endif
    return NULL;
}

/* All signals stay blocked in the child until it has none of our handlers any more. */
static pid_t fork_with_signals_blocked(struct worker_child *child) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        worker_child_exec(child);
    int failure = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = failure;
    return pid;
}

static enum err make_pipe(int *ret_read_fd, int *ret_write_fd, struct error *error) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set_errno(error, ERR_UNAVAILABLE, errno, "cannot make a pipe for a worker");
    *ret_read_fd = ends[0];
    *ret_write_fd = ends[1];
    return ERR_OK;
}

/* The pipe that exec closes: nothing to read means that the program runs. */
static enum err await_exec(int status_fd, const char *program, struct error *error) {
    int failure = 0;
    size_t size = 0;
    enum err err = fd_read_full(status_fd, &failure, sizeof(failure), &size, error);
    if (err != ERR_OK)
        return error_set(error, ERR_UNAVAILABLE, "cannot learn whether the worker started");
    if (size > 0)
        return error_set_errno(error, ERR_UNAVAILABLE, failure, "cannot run the worker %s",
                               program);
    return ERR_OK;
}

static enum err worker_fork(struct worker *worker, struct worker_child *child, int status_fd,
                            int *child_status_fd, struct error *error) {
    child->status_fd = *child_status_fd;
    child->parent_pid = getpid();
    pid_t pid = fork_with_signals_blocked(child);
    if (pid < 0)
        return error_set_errno(error, ERR_UNAVAILABLE, errno, "cannot fork a worker");
    worker->pid = pid;
    *child_status_fd = fd_close(*child_status_fd);
    enum err err = await_exec(status_fd, child->program, error);
    if (err != ERR_OK)
        return err;
    worker->pid_fd = pidfd_open(pid, 0);
    if (worker->pid_fd < 0)
        return error_set_errno(error, ERR_UNAVAILABLE, errno, "cannot watch a worker");
    return ERR_OK;
}

static enum err worker_spawn(struct worker *worker, const struct worker_config *config,
                             const struct job *job, struct error *error) {
    CLEANUP(cleanup_fd) int report_write_fd = -1;
    CLEANUP(cleanup_fd) int status_fd = -1;
    CLEANUP(cleanup_fd) int child_status_fd = -1;
    CLEANUP(cleanup_fd) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd < 0)
        return error_set_errno(error, ERR_UNAVAILABLE, errno, "cannot open /dev/null");
    enum err err = make_pipe(&worker->report_fd, &report_write_fd, error);
    if (err == ERR_OK)
        err = make_pipe(&status_fd, &child_status_fd, error);
    if (err != ERR_OK)
        return err;
    if (fcntl(worker->report_fd, F_SETFL, O_NONBLOCK) < 0)
        return error_set_errno(error, ERR_UNAVAILABLE, errno, "cannot set up a worker's pipe");
    struct worker_child child = {
        .program = config->program,
        .null_fd = null_fd,
        .memory_max = MEMORY_LIMITED ? config->memory_max : 0,
        .cpu_seconds_max = config->cpu_seconds_max,
        .output_size_max = config->output_size_max,
        .niceness = job->operation == JOB_BUILD ? BUILD_NICENESS : 0,
    };
    struct job in_child = renumbered(job, report_write_fd, &child);
    if (job->operation == JOB_BUILD && job->thread_count == 0)
        in_child.thread_count = config->thread_count;
    char storage[JOB_STORAGE_SIZE];
    const char *arguments[JOB_ARGUMENT_MAX];
    err = job_to_arguments(&in_child, config->program, storage, arguments, error);
    if (err != ERR_OK)
        return err;
    char variable[256];
    const char *environment[] = {fault_variable(variable, sizeof(variable)), NULL};
    child.arguments = arguments;
    child.environment = environment;
    return worker_fork(worker, &child, status_fd, &child_status_fd, error);
}

/* Reads what is there; never blocks. */
static void read_report(struct worker *worker) {
    while (!worker->report_ended && worker->report.size <= REPORT_SIZE_MAX) {
        char *room = buffer_reserve(&worker->report, 4096);
        if (!room)
            return;
        ssize_t count = read(worker->report_fd, room, 4096);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return;
        if (count <= 0)
            worker->report_ended = true;
        else
            worker->report.size += (size_t)count;
    }
}

static int poll_timeout_ms(const struct worker *worker) {
    int64_t left = worker->deadline_mono_ms - clock_mono_ms();
    if (left <= 0)
        return 0;
    return left < 60000 ? (int)left : 60000;
}

/* Follows the worker to its end, or to the moment when it has to be ended. */
static enum err worker_follow(struct worker *worker, struct error *error) {
    while (worker->end == RUNNING) {
        struct pollfd watched[] = {
            {.fd = worker->pid_fd, .events = POLLIN},
            {.fd = worker->report_ended ? -1 : worker->report_fd, .events = POLLIN},
            {.fd = worker->cancel_fd, .events = POLLIN},
        };
        int ready = poll(watched, ARRAY_SIZE(watched), poll_timeout_ms(worker));
        if (ready < 0 && errno != EINTR)
            return error_set_errno(error, ERR_UNAVAILABLE, errno, "cannot wait for a worker");
        read_report(worker);
        if (buffer_failed(&worker->report))
            return error_set(error, ERR_UNAVAILABLE, "no memory for a worker's report");
        if (worker->report.size > REPORT_SIZE_MAX)
            worker->end = TALKED_TOO_MUCH;
        else if (ready > 0 && watched[2].revents)
            worker->end = CANCELLED;
        else if (ready > 0 && watched[0].revents)
            worker->end = EXITED;
        else if (clock_mono_ms() >= worker->deadline_mono_ms)
            worker->end = TIMED_OUT;
    }
    /* What was written just before the exit. */
    if (worker->end == EXITED)
        read_report(worker);
    return ERR_OK;
}

static void say_signal(const struct worker_config *config, int signal, char *text, size_t size) {
    const char *name = sigabbrev_np(signal);
    switch (signal) {
    case SIGXCPU:
        snprintf(text, size, "over its limit of %llu CPU seconds",
                 (unsigned long long)config->cpu_seconds_max);
        return;
    case SIGXFSZ:
        snprintf(text, size, "over its output limit of %llu bytes",
                 (unsigned long long)config->output_size_max);
        return;
    case SIGSYS:
        snprintf(text, size, "killed by SIGSYS: a system call that its sandbox forbids");
        return;
    case SIGKILL:
        snprintf(text, size, "killed by SIGKILL from outside: the system ran out of memory?");
        return;
    default:
        snprintf(text, size, "killed by %s%s", name ? "SIG" : "signal ", name ? name : "unknown");
    }
}

/* The report, if the worker ended by itself and left a whole one; else why not. */
static void judge(const struct worker *worker, const struct worker_config *config,
                  struct report *ret_report) {
    struct report killed = {.status = REPORT_KILLED};
    struct error error = {0};
    char *why = killed.reason;
    size_t size = sizeof(killed.reason);
    if (worker->end == TIMED_OUT) {
        snprintf(why, size, "over the deadline of %lld ms", (long long)config->deadline_ms);
    } else if (worker->end == TALKED_TOO_MUCH) {
        snprintf(why, size, "its report is longer than %zu bytes", REPORT_SIZE_MAX);
    } else if (worker->status.si_code != CLD_EXITED) {
        say_signal(config, worker->status.si_status, why, size);
    } else if (worker->report.size == 0) {
        snprintf(why, size, "exited with status %d and without a report", worker->status.si_status);
    } else if (report_parse(buffer_span(&worker->report), ret_report, &error) != ERR_OK) {
        snprintf(why, size, "its report cannot be read: %.400s", error.text);
    } else if (ret_report->status == REPORT_KILLED) {
        snprintf(why, size, "its report claims that it was killed");
    } else {
        return;
    }
    *ret_report = killed;
}

enum err worker_run(const struct worker_config *config, const struct job *job, int cancel_fd,
                    struct report *ret_report, struct error *error) {
    assert(job->input_count <= JOB_INPUT_MAX);
    struct worker_config full = with_defaults(config, job);
    CLEANUP(cleanup_worker)
    struct worker worker = {
        .pid_fd = -1,
        .report_fd = -1,
        .cancel_fd = cancel_fd,
        .deadline_mono_ms = clock_mono_ms() + full.deadline_ms,
        .report = {.size_max = 2 * REPORT_SIZE_MAX},
    };
    enum err err = worker_spawn(&worker, &full, job, error);
    if (err == ERR_OK)
        err = worker_follow(&worker, error);
    if (err != ERR_OK)
        return err;
    if (worker.end != EXITED)
        worker_kill(&worker);
    worker_reap(&worker);
    if (worker.end == CANCELLED)
        return error_set(error, ERR_CANCELLED, "the worker was stopped");
    struct report report;
    judge(&worker, &full, &report);
    *ret_report = report;
    return ERR_OK;
}
