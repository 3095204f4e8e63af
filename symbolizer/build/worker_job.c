#include "symbolizer/build/worker_job.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "symbolizer/build/build.h"
#include "symbolizer/build/object_needs.h"

static enum report_status status_of(const struct error *error) {
    switch (error->code) {
    case ERR_MALFORMED:
        return REPORT_MALFORMED;
    case ERR_UNSUPPORTED:
    case ERR_NOT_FOUND:
        return REPORT_UNSUPPORTED;
    case ERR_LIMIT:
    case ERR_NO_MEMORY:
        return REPORT_LIMIT;
    case ERR_IO:
        /* RLIMIT_FSIZE is a bound like the others; a full disk is not. */
        return error->sys_errno == EFBIG ? REPORT_LIMIT : REPORT_FAILED;
    default:
        return REPORT_FAILED;
    }
}

void worker_job_failed(const struct error *error, struct report *ret_report) {
    ret_report->status = status_of(error);
    memcpy(ret_report->reason, error->text, sizeof(ret_report->reason));
}
_Static_assert(sizeof(((struct error *)0)->text) == REPORT_REASON_SIZE, "reasons are error texts");

/* Ids, contents and needs of the inputs, which every operation reports. */
static enum err identify(const struct job *job, struct report *report, struct error *error) {
    CLEANUP(object_inputs_clear) struct object_inputs inputs = {0};
    enum err err = object_inputs_open_files(&inputs, job->inputs, job->input_count, 0, error);
    if (err)
        return err;
    object_inputs_describe(&inputs, &report->summary);
    object_needs_find(&inputs, report);
    return ERR_OK;
}

static enum err build(const struct job *job, struct report *report, struct error *error) {
    struct build_limits limits = {
        .memory_max = job->memory_max,
        .index_size_max = job->size_max,
        .dwarf_backend = job->dwarf_backend,
        .thread_count = job->thread_count ? job->thread_count : 1,
        .without_columns = job->without_columns,
    };
    struct build_result result;
    enum err err = build_index(job->inputs, job->input_count, &limits, job->out_fd, &result, error);
    if (err)
        return err;
    report->summary = result.summary;
    report->size = result.size;
    report->memory_peak = result.memory_peak;
    object_needs_add_dwos(result.missing_dwos, result.missing_dwo_count, report);
    return ERR_OK;
}

/* The section from the first input that holds bytes of it. */
static enum err find_section(const struct object_inputs *inputs, const char *name,
                             struct span *ret_bytes, struct error *error) {
    for (size_t i = 0; i < inputs->file_count; i++) {
        const struct elf_section *section = elf_file_section_by_name(inputs->files[i], name);
        struct span bytes = {NULL, 0};
        enum err err = section ? elf_file_section_data(inputs->files[i], section, &bytes, error)
                               : ERR_OK;
        if (err)
            return err;
        if (bytes.size == 0)
            continue;
        *ret_bytes = bytes;
        return ERR_OK;
    }
    return error_set(error, ERR_NOT_FOUND, "no section %.200s with bytes in it", name);
}

static enum err write_section(const struct job *job, struct report *report, struct error *error) {
    CLEANUP(object_inputs_clear) struct object_inputs inputs = {0};
    struct span bytes = {NULL, 0};
    enum err err =
        object_inputs_open_files(&inputs, job->inputs, job->input_count, job->memory_max, error);
    if (err == ERR_OK)
        err = find_section(&inputs, job->section, &bytes, error);
    if (err)
        return err;
    if (job->size_max && bytes.size > job->size_max)
        return error_set(error, ERR_LIMIT, "the section is %zu bytes: over the limit of %llu",
                         bytes.size, (unsigned long long)job->size_max);
    err = fd_write_all(job->out_fd, bytes.data, bytes.size, error);
    if (err == ERR_OK)
        report->size = bytes.size;
    return err;
}

static enum err run(const struct job *job, struct report *report, struct error *error) {
    enum err err = identify(job, report, error);
    if (err)
        return err;
    switch (job->operation) {
    case JOB_IDENTIFY:
        return ERR_OK;
    case JOB_BUILD:
        return build(job, report, error);
    case JOB_SECTION:
        return write_section(job, report, error);
    }
    return error_set(error, ERR_UNIMPLEMENTED, "operation %d", (int)job->operation);
}

void worker_job_run(const struct job *job, struct report *ret_report) {
    struct error error;
    *ret_report = (struct report){.status = REPORT_OK};
    if (run(job, ret_report, &error))
        worker_job_failed(&error, ret_report);
}
