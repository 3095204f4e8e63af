#include "ingest/worker.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/support/test.h"

/* A worker written as a shell script: $report and $out are the fds it was given. */
struct fake {
    char program[64];
    int input_fd;
    int out_fd;
    struct worker_config config;
    struct job job;
};

static void fake_is(struct fake *fake, const char *script) {
    FILE *file = fopen(fake->program, "w");
    assert_non_null(file);
    fprintf(file,
            "#!/bin/sh\n"
            "for argument; do case $argument in\n"
            "--report=*) report=/dev/fd/${argument#*=};;\n"
            "--out=*) out=/dev/fd/${argument#*=};;\n"
            "main=*) main=/dev/fd/${argument#*=};;\n"
            "esac; done\n"
            "%s\n",
            script);
    assert_int_equal(fchmod(fileno(file), 0700), 0);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state) {
    struct fake *fake = calloc(1, sizeof(*fake));
    snprintf(fake->program, sizeof(fake->program), "/tmp/test_worker.XXXXXX");
    int program_fd = mkstemp(fake->program);
    fake->input_fd = memfd_create("input", MFD_CLOEXEC);
    fake->out_fd = memfd_create("out", MFD_CLOEXEC);
    if (program_fd < 0 || fake->input_fd < 0 || fake->out_fd < 0)
        return -1;
    fd_close(program_fd);
    fake->config.program = fake->program;
    fake->job = (struct job){
        .operation = JOB_BUILD,
        .inputs = {{JOB_ROLE_MAIN, fake->input_fd}},
        .input_count = 1,
        .out_fd = fake->out_fd,
        .report_fd = -1,
    };
    *state = fake;
    return 0;
}

static int teardown(void **state) {
    struct fake *fake = *state;
    unlink(fake->program);
    fd_close(fake->input_fd);
    fd_close(fake->out_fd);
    free(fake);
    return 0;
}

static struct report run(struct fake *fake) {
    struct report report;
    struct error error = {0};
    enum err err = worker_run(&fake->config, &fake->job, -1, &report, &error);
    if (err != ERR_OK)
        fail_msg("%s", error.text);
    return report;
}

static void output_is(struct fake *fake, const char *wanted) {
    char text[4096];
    size_t size = 0;
    struct error error;
    lseek(fake->out_fd, 0, SEEK_SET);
    assert_int_equal(fd_read_full(fake->out_fd, text, sizeof(text) - 1, &size, &error), ERR_OK);
    text[size] = '\0';
    assert_string_equal(text, wanted);
}

static void assert_killed(const struct report *report, const char *reason) {
    assert_int_equal(report->status, REPORT_KILLED);
    assert_string_equal(report->reason, reason);
}

static void a_worker_reads_its_input_and_writes_output_and_report(void **state) {
    struct fake *fake = *state;
    struct error error;
    assert_int_equal(fd_write_all(fake->input_fd, "the input", 9, &error), ERR_OK);
    fake_is(fake, "cat $main > $out; printf 'status ok\\nsize 9\\nend\\n' > $report");
    struct report report = run(fake);
    assert_int_equal(report.status, REPORT_OK);
    assert_int_equal(report.size, 9);
    output_is(fake, "the input");
}

static void a_refusal_keeps_its_reason(void **state) {
    struct fake *fake = *state;
    fake_is(fake, "printf 'status malformed\\nreason not an ELF file\\nend\\n' > $report; exit 1");
    struct report report = run(fake);
    assert_int_equal(report.status, REPORT_MALFORMED);
    assert_string_equal(report.reason, "not an ELF file");
}

static void a_crash_is_killed_by_its_signal(void **state) {
    struct fake *fake = *state;
    fake_is(fake, "kill -SEGV $$");
    struct report report = run(fake);
    assert_killed(&report, "killed by SIGSEGV");
    fake_is(fake, "kill -ABRT $$");
    report = run(fake);
    assert_killed(&report, "killed by SIGABRT");
}

static void a_crash_after_a_whole_report_is_still_a_crash(void **state) {
    struct fake *fake = *state;
    fake_is(fake, "printf 'status ok\\nend\\n' > $report; kill -BUS $$");
    struct report report = run(fake);
    assert_killed(&report, "killed by SIGBUS");
}

static void a_hang_ends_at_the_deadline(void **state) {
    struct fake *fake = *state;
    fake->config.deadline_ms = 50;
    fake_is(fake, "printf 'status ok\\nend\\n' > $report; exec sleep 1000");
    struct report report = run(fake);
    assert_killed(&report, "over the deadline of 50 ms");
}

static void a_busy_loop_ends_at_the_cpu_limit(void **state) {
    struct fake *fake = *state;
    fake->config.cpu_seconds_max = 1;
    fake_is(fake, "while :; do :; done");
    struct report report = run(fake);
    assert_killed(&report, "over its limit of 1 CPU seconds");
}

static void a_flood_of_output_ends_at_the_size_limit(void **state) {
    struct fake *fake = *state;
    fake->config.output_size_max = 4096;
    fake_is(fake, "exec head -c 100000 /dev/zero > $out");
    struct report report = run(fake);
    assert_killed(&report, "over its output limit of 4096 bytes");
    struct stat status;
    assert_int_equal(fstat(fake->out_fd, &status), 0);
    assert_true(status.st_size <= 4096);
}

static void the_job_may_lower_the_limits_but_not_raise_them(void **state) {
    struct fake *fake = *state;
    fake->config.output_size_max = 8192;
    fake->job.size_max = 4096;
    fake_is(fake, "exec head -c 100000 /dev/zero > $out");
    struct report report = run(fake);
    assert_killed(&report, "over its output limit of 4096 bytes");
    fake->job.size_max = 1 << 20;
    report = run(fake);
    assert_killed(&report, "over its output limit of 8192 bytes");
}

static void garbage_for_a_report_is_a_dead_worker(void **state) {
    struct fake *fake = *state;
    fake_is(fake, "head -c 1000 /dev/zero > $report");
    struct report report = run(fake);
    assert_int_equal(report.status, REPORT_KILLED);
    assert_int_equal(strncmp(report.reason, "its report cannot be read: ", 27), 0);
}

static void a_report_that_breaks_off_is_a_dead_worker(void **state) {
    struct fake *fake = *state;
    fake_is(fake, "printf 'status ok\\nsize 1' > $report");
    struct report report = run(fake);
    assert_int_equal(report.status, REPORT_KILLED);
}

static void a_report_without_end_is_cut_off(void **state) {
    struct fake *fake = *state;
    fake_is(fake, "exec cat /dev/zero > $report");
    struct report report = run(fake);
    assert_killed(&report, "its report is longer than 65536 bytes");
}

static void no_report_is_a_dead_worker(void **state) {
    struct fake *fake = *state;
    fake_is(fake, "exit 3");
    struct report report = run(fake);
    assert_killed(&report, "exited with status 3 and without a report");
}

static void a_missing_program_is_our_own_trouble(void **state) {
    struct fake *fake = *state;
    fake->config.program = "/nonexistent/symbolizer-worker";
    struct report report;
    struct error error;
    assert_int_equal(worker_run(&fake->config, &fake->job, -1, &report, &error), ERR_UNAVAILABLE);
    assert_string_equal(error.text, "cannot run the worker /nonexistent/symbolizer-worker: "
                                    "No such file or directory");
}

/* A shell has fds of its own, so here this very program is the worker. */
static int list_fds_as_worker(void) {
    DIR *fds = opendir("/proc/self/fd");
    for (struct dirent *entry; fds && (entry = readdir(fds));) {
        char target[64] = "";
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] == '.' || fd == dirfd(fds))
            continue;
        if (readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1) < 0)
            return 1;
        dprintf(11, "%d %.6s\n", fd, target);
    }
    dprintf(12, "status ok\nend\n");
    return 0;
}

static void the_child_has_its_own_fds_and_no_others(void **state) {
    struct fake *fake = *state;
    /* One that is not close-on-exec, as a careless library might open it. */
    int stray = open("/dev/zero", O_RDONLY);
    assert_true(stray >= 0);
    fake->config.program = "/proc/self/exe";
    struct report report = run(fake);
    fd_close(stray);
    assert_int_equal(report.status, REPORT_OK);
    output_is(fake, "0 /dev/n\n1 /dev/n\n2 /dev/n\n10 /memfd\n11 /memfd\n12 pipe:[\n");
}

static void many_inputs_arrive_under_their_own_numbers(void **state) {
    struct fake *fake = *state;
    int fds[JOB_INPUT_MAX];
    for (int i = 0; i < JOB_INPUT_MAX; i++) {
        char name[16];
        struct error error;
        snprintf(name, sizeof(name), "%d,", i);
        fds[i] = memfd_create("input", MFD_CLOEXEC);
        assert_int_equal(fd_write_all(fds[i], name, strlen(name), &error), ERR_OK);
        fake->job.inputs[i] = (struct job_input){i == 0 ? JOB_ROLE_MAIN : JOB_ROLE_DWO, fds[i]};
    }
    fake->job.input_count = JOB_INPUT_MAX;
    fake_is(fake, "for argument; do case $argument in main=*|dwo=*) cat /dev/fd/${argument#*=};;\n"
                  "esac; done > $out; printf 'status ok\\nend\\n' > $report");
    struct report report = run(fake);
    for (int i = 0; i < JOB_INPUT_MAX; i++)
        fd_close(fds[i]);
    assert_int_equal(report.status, REPORT_OK);
    output_is(fake, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,"
                    "29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,"
                    "54,55,56,57,58,59,60,61,62,63,");
}

static void the_child_has_no_environment(void **state) {
    struct fake *fake = *state;
    setenv("SECRET_OF_THE_SERVER", "1", 1);
    fake_is(fake, "tr '\\0' '\\n' < /proc/$$/environ > $out\n"
                  "printf 'status ok\\nend\\n' > $report");
    struct report report = run(fake);
    assert_int_equal(report.status, REPORT_OK);
    output_is(fake, "");
}

static void the_child_cannot_gain_privileges_or_leave_a_core(void **state) {
    struct fake *fake = *state;
    fake_is(fake, "{ grep NoNewPrivs /proc/$$/status | tr -d '\\t'\n"
                  "grep core /proc/$$/limits | tr -s ' '; } > $out\n"
                  "printf 'status ok\\nend\\n' > $report");
    struct report report = run(fake);
    assert_int_equal(report.status, REPORT_OK);
    output_is(fake, "NoNewPrivs:1\nMax core file size 1 1 bytes \n");
}

static void a_build_leaves_the_cpu_to_others(void **state) {
    struct fake *fake = *state;
    fake_is(fake, "nice > $out; printf 'status ok\\nend\\n' > $report");
    int own = nice(0);
    struct report report = run(fake);
    assert_int_equal(report.status, REPORT_OK);
    char wanted[16];
    snprintf(wanted, sizeof(wanted), "%d\n", own < 10 ? own + 10 : 19);
    output_is(fake, wanted);
}

static void a_readable_cancel_fd_ends_the_worker(void **state) {
    struct fake *fake = *state;
    int cancel_fd = eventfd(1, EFD_CLOEXEC);
    fake_is(fake, "exec sleep 1000");
    struct report report;
    struct error error;
    assert_int_equal(worker_run(&fake->config, &fake->job, cancel_fd, &report, &error),
                     ERR_CANCELLED);
    fd_close(cancel_fd);
}

/* In a child of the test: runs a worker that tells its process id and then hangs. */
static _Noreturn void be_a_server_with_a_hanging_worker(struct fake *fake) {
    struct report report;
    struct error error;
    worker_run(&fake->config, &fake->job, -1, &report, &error);
    _exit(1);
}

static void a_worker_dies_with_the_server(void **state) {
    struct fake *fake = *state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fake->job.out_fd = ends[1];
    fake_is(fake, "echo $$ > $out; exec sleep 1000");
    pid_t server = fork();
    if (server == 0)
        be_a_server_with_a_hanging_worker(fake);
    fd_close(ends[1]);
    char text[32] = "";
    assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
    int worker_fd = pidfd_open((pid_t)strtol(text, NULL, 10), 0);
    assert_true(worker_fd >= 0);
    assert_int_equal(kill(server, SIGKILL), 0);
    assert_int_equal(waitpid(server, NULL, 0), server);
    struct pollfd watched = {.fd = worker_fd, .events = POLLIN};
    assert_int_equal(poll(&watched, 1, 60000), 1);
    fd_close(worker_fd);
    fd_close(ends[0]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(int argument_count, char **arguments) {
    if (argument_count > 1 && strcmp(arguments[1], "build") == 0)
        return list_fds_as_worker();
    const struct CMUnitTest tests[] = {
        TEST(a_worker_reads_its_input_and_writes_output_and_report),
        TEST(a_refusal_keeps_its_reason),
        TEST(a_crash_is_killed_by_its_signal),
        TEST(a_crash_after_a_whole_report_is_still_a_crash),
        TEST(a_hang_ends_at_the_deadline),
        TEST(a_busy_loop_ends_at_the_cpu_limit),
        TEST(a_flood_of_output_ends_at_the_size_limit),
        TEST(the_job_may_lower_the_limits_but_not_raise_them),
        TEST(garbage_for_a_report_is_a_dead_worker),
        TEST(a_report_that_breaks_off_is_a_dead_worker),
        TEST(a_report_without_end_is_cut_off),
        TEST(no_report_is_a_dead_worker),
        TEST(a_missing_program_is_our_own_trouble),
        TEST(the_child_has_its_own_fds_and_no_others),
        TEST(many_inputs_arrive_under_their_own_numbers),
        TEST(the_child_has_no_environment),
        TEST(the_child_cannot_gain_privileges_or_leave_a_core),
        TEST(a_build_leaves_the_cpu_to_others),
        TEST(a_readable_cancel_fd_ends_the_worker),
        TEST(a_worker_dies_with_the_server),
    };
    return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
