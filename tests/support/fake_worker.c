#include "tests/support/fake_worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "symbolizer/protocol/job.h"
#include "symbolizer/protocol/report.h"
#include "tests/support/index_fixture.h"

struct fake {
    struct job job;
    struct report report;
};

const char *fake_worker_program(void) {
    return "/proc/self/exe";
}

static void append_line(const char *path, const char *line) {
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dprintf(fd, "%s\n", line);
    fd_close(fd);
}

static void await(const struct fake *fake, const char *path) {
    if (fake->job.operation == JOB_BUILD)
        fd_close(open(path, O_RDONLY | O_CLOEXEC));
}

static void add_id(struct fake *fake, const char *text) {
    struct index_summary *summary = &fake->report.summary;
    char kind[16];
    char value[BINARY_ID_TEXT_MAX + 1];
    struct error error;
    enum binary_id_kind number;
    if (sscanf(text, "%15s %255s", kind, value) != 2 ||
        !binary_id_kind_from_name(span_cstr(kind), &number) ||
        binary_id_parse(number, span_cstr(value), &summary->ids[summary->id_count], &error))
        abort();
    summary->id_count++;
}

static void set_contents(struct fake *fake, const char *text) {
    fake->report.summary.has_dwarf = strstr(text, "dwarf") != NULL;
    fake->report.summary.has_pclntab = strstr(text, "pclntab") != NULL;
    fake->report.summary.has_symtab = strstr(text, "symtab") != NULL;
    fake->report.summary.has_dynsym = strstr(text, "dynsym") != NULL;
}

/* The rest of the line if it begins with the word. */
static const char *after(const char *line, const char *word) {
    size_t size = strlen(word);
    return strncmp(line, word, size) == 0 && line[size] == ' ' ? line + size + 1 : NULL;
}

static void behave(struct fake *fake, const char *how) {
    const char *flag = after(how, "failed_until");
    if (flag && access(flag, F_OK) != 0) {
        append_line(flag, "");
        fake->report.status = REPORT_FAILED;
    }
    static const enum report_status ends[] = {REPORT_MALFORMED, REPORT_UNSUPPORTED, REPORT_LIMIT,
                                              REPORT_FAILED};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (strcmp(how, report_status_name(ends[i])) == 0)
            fake->report.status = ends[i];
    if (fake->report.status != REPORT_OK)
        snprintf(fake->report.reason, sizeof(fake->report.reason), "the input says %s", how);
    if (strcmp(how, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    while (strcmp(how, "hang") == 0)
        pause();
    if (strcmp(how, "garbage") == 0)
        dprintf(fake->job.out_fd, "garbage");
}

static void write_index(struct fake *fake) {
    struct span bytes = index_fixture_example();
    struct error error;
    if (fd_write_all(fake->job.out_fd, bytes.data, bytes.size, &error) != ERR_OK)
        abort();
    fake->report.size = bytes.size;
    free((void *)bytes.data);
}

static void obey(struct fake *fake, const char *line) {
    const char *operation = job_operation_name(fake->job.operation);
    const char *rest;
    if ((rest = after(line, "id")))
        add_id(fake, rest);
    else if ((rest = after(line, "contents")))
        set_contents(fake, rest);
    else if ((rest = after(line, "log")))
        append_line(rest, operation);
    else if ((rest = after(line, "await")))
        await(fake, rest);
    else if ((rest = after(line, operation)))
        behave(fake, rest);
}

void fake_worker_main(int argument_count, char **arguments) {
    struct fake fake = {.report = {.status = REPORT_OK}};
    struct error error;
    if (argument_count < 2 ||
        job_from_arguments(argument_count, arguments, &fake.job, &error) != ERR_OK)
        return;
    char text[4096] = "";
    size_t size = 0;
    if (fd_read_full(fake.job.inputs[0].fd, text, sizeof(text) - 1, &size, &error) != ERR_OK)
        abort();
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));)
        obey(&fake, line);
    bool wrote = fake.job.out_fd >= 0 && lseek(fake.job.out_fd, 0, SEEK_CUR) > 0;
    if (fake.job.operation == JOB_BUILD && fake.report.status == REPORT_OK && !wrote)
        write_index(&fake);
    exit(report_write(&fake.report, fake.job.report_fd, &error) == ERR_OK ? 0 : 1);
}
