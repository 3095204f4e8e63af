/* symbolizer-worker: the only program that parses uploaded bytes. One process per job. */
#include <stdio.h>
#include <string.h>

#include "symbolizer/build/worker_fault.h"
#include "symbolizer/build/worker_job.h"
#include "symbolizer/build/worker_limits.h"

#define EXIT_USAGE 2

static const char help[] =
    "usage: symbolizer-worker OPERATION --report=FD [--out=FD] [--section=NAME]\n"
    "                         [--memory-max=BYTES] [--size-max=BYTES]\n"
    "                         [--dwarf-backend=libdw] [--columns=no] [--threads=N] ROLE=FD...\n"
    "\n"
    "Reads uploaded binaries for symbolizerd, which starts one for each job. Inputs, output and\n"
    "report are file descriptors that are open already; it opens no file and no socket itself.\n"
    "\n"
    "  identify  which build IDs the inputs have, and which kinds of symbol data\n"
    "  build     a symbol index of all inputs, to --out\n"
    "  section   one section's inflated bytes, to --out\n"
    "\n"
    "ROLE is main, debug, supplementary, dwp or dwo. The report is lines of \"key value\" that "
    "end\n"
    "with \"end\"; its status is ok, malformed, unsupported, limit or failed. The exit status is "
    "0\n"
    "whenever a report was written, whatever it says.\n";

int main(int argument_count, char **arguments) {
    struct error error;
    struct job job;
    struct report report = {0};
    bool is_written = false;
    if (argument_count == 2 && strcmp(arguments[1], "--help") == 0)
        return fputs(help, stdout) < 0;
    if (job_from_arguments(argument_count, arguments, &job, &error)) {
        fprintf(stderr, "symbolizer-worker: %s\nTry --help.\n", error.text);
        return EXIT_USAGE;
    }
    if (worker_limits_apply(job.memory_max, &error))
        worker_job_failed(&error, &report);
    else if (!WORKER_FAULT(&job, &report, &is_written))
        worker_job_run(&job, &report);
    if (!is_written && report_write(&report, job.report_fd, &error)) {
        fprintf(stderr, "symbolizer-worker: %s\n", error.text);
        return 1;
    }
    return 0;
}
