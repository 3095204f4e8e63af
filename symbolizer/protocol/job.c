#include "symbolizer/protocol/job.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "symbolizer/protocol/decimal_internal.h"

#define JOB_SECTION_SIZE_MAX ((size_t)255)

static const char *const operation_names[] = {
    [JOB_IDENTIFY] = "identify",
    [JOB_BUILD] = "build",
    [JOB_SECTION] = "section",
};

static const char *const role_names[] = {
    [JOB_ROLE_MAIN] = "main",
    [JOB_ROLE_DEBUG] = "debug",
    [JOB_ROLE_SUPPLEMENTARY] = "supplementary",
    [JOB_ROLE_DWP] = "dwp",
    [JOB_ROLE_DWO] = "dwo",
};

const char *job_operation_name(enum job_operation operation) {
    if (operation < JOB_IDENTIFY || operation > JOB_SECTION)
        return NULL;
    return operation_names[operation];
}

const char *job_role_name(enum job_role role) {
    if (role < JOB_ROLE_MAIN || role > JOB_ROLE_DWO)
        return NULL;
    return role_names[role];
}

static const char *const backend_names[] = {
    [DWARF_BACKEND_NATIVE] = "native",
    [DWARF_BACKEND_LIBDW] = "libdw",
};

const char *job_dwarf_backend_name(enum dwarf_backend backend) {
    if (backend < DWARF_BACKEND_NATIVE || backend > DWARF_BACKEND_LIBDW)
        return NULL;
    return backend_names[backend];
}

bool job_dwarf_backend_from_name(struct span name, enum dwarf_backend *ret_backend) {
    for (int backend = DWARF_BACKEND_NATIVE; backend <= DWARF_BACKEND_LIBDW; backend++) {
        if (span_equal_cstr(name, backend_names[backend])) {
            *ret_backend = (enum dwarf_backend)backend;
            return true;
        }
    }
    return false;
}

static bool operation_from_name(struct span name, enum job_operation *ret_operation) {
    for (int operation = JOB_IDENTIFY; operation <= JOB_SECTION; operation++) {
        if (span_equal_cstr(name, operation_names[operation])) {
            *ret_operation = (enum job_operation)operation;
            return true;
        }
    }
    return false;
}

bool job_role_from_name(struct span name, enum job_role *ret_role) {
    for (int role = JOB_ROLE_MAIN; role <= JOB_ROLE_DWO; role++) {
        if (span_equal_cstr(name, role_names[role])) {
            *ret_role = (enum job_role)role;
            return true;
        }
    }
    return false;
}

static bool is_section_name(const char *name) {
    size_t size = strnlen(name, JOB_SECTION_SIZE_MAX + 1);
    return size > 0 && size <= JOB_SECTION_SIZE_MAX;
}

/* What both directions demand of a whole job. */
static enum err check(const struct job *job, struct error *error) {
    const char *operation = job_operation_name(job->operation);
    if (!operation)
        return error_set(error, ERR_INVALID, "no operation: want identify, build or section");
    if (job->report_fd < 0)
        return error_set(error, ERR_INVALID, "%s needs --report=FD", operation);
    if (job->input_count == 0 || job->input_count > JOB_INPUT_MAX)
        return error_set(error, ERR_INVALID, "%s needs 1 to %d inputs as ROLE=FD", operation,
                         JOB_INPUT_MAX);
    for (size_t i = 0; i < job->input_count; i++)
        if (!job_role_name(job->inputs[i].role) || job->inputs[i].fd < 0)
            return error_set(error, ERR_INVALID, "input %zu is no ROLE=FD", i + 1);
    if ((job->out_fd >= 0) != (job->operation != JOB_IDENTIFY))
        return error_set(error, ERR_INVALID, "%s %s --out=FD", operation,
                         job->out_fd < 0 ? "needs" : "takes no");
    if ((job->section != NULL) != (job->operation == JOB_SECTION))
        return error_set(error, ERR_INVALID, "%s %s --section=NAME", operation,
                         job->section ? "takes no" : "needs");
    if (job->section && !is_section_name(job->section))
        return error_set(error, ERR_INVALID, "--section: want a name of 1 to %zu bytes",
                         JOB_SECTION_SIZE_MAX);
    if (!job_dwarf_backend_name(job->dwarf_backend) ||
        (job->dwarf_backend != DWARF_BACKEND_NATIVE && job->operation != JOB_BUILD))
        return error_set(error, ERR_INVALID, "%s takes no --dwarf-backend", operation);
    if (job->without_columns && job->operation != JOB_BUILD)
        return error_set(error, ERR_INVALID, "%s takes no --columns", operation);
    if (job->thread_count > 0 &&
        (job->operation != JOB_BUILD || job->thread_count > JOB_THREAD_MAX))
        return error_set(error, ERR_INVALID, "--threads: 1 to %u, and with build alone",
                         JOB_THREAD_MAX);
    return ERR_OK;
}

/* Argument strings laid one behind the other into the caller's storage. */
struct arguments {
    char *storage;
    size_t used;
    const char **list;
    size_t count;
    bool failed;
};

static void add(struct arguments *arguments, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct arguments *arguments, const char *format, ...) {
    char *start = arguments->storage + arguments->used;
    size_t room = JOB_STORAGE_SIZE - arguments->used;
    va_list values;
    va_start(values, format);
    int length = vsnprintf(start, room, format, values);
    va_end(values);
    if (length < 0 || (size_t)length >= room || arguments->count + 1 >= JOB_ARGUMENT_MAX) {
        arguments->failed = true;
        return;
    }
    arguments->used += (size_t)length + 1;
    arguments->list[arguments->count++] = start;
}

enum err job_to_arguments(const struct job *job, const char *program,
                          char storage[static JOB_STORAGE_SIZE],
                          const char *ret_arguments[static JOB_ARGUMENT_MAX], struct error *error) {
    enum err err = check(job, error);
    if (err)
        return err;
    struct arguments arguments = {.storage = storage, .list = ret_arguments};
    add(&arguments, "%s", program);
    add(&arguments, "%s", operation_names[job->operation]);
    add(&arguments, "--report=%d", job->report_fd);
    if (job->out_fd >= 0)
        add(&arguments, "--out=%d", job->out_fd);
    if (job->section)
        add(&arguments, "--section=%s", job->section);
    if (job->memory_max)
        add(&arguments, "--memory-max=%llu", (unsigned long long)job->memory_max);
    if (job->size_max)
        add(&arguments, "--size-max=%llu", (unsigned long long)job->size_max);
    if (job->dwarf_backend != DWARF_BACKEND_NATIVE)
        add(&arguments, "--dwarf-backend=%s", job_dwarf_backend_name(job->dwarf_backend));
    if (job->without_columns)
        add(&arguments, "--columns=no");
    if (job->thread_count > 0)
        add(&arguments, "--threads=%u", job->thread_count);
    for (size_t i = 0; i < job->input_count; i++)
        add(&arguments, "%s=%d", role_names[job->inputs[i].role], job->inputs[i].fd);
    if (arguments.failed)
        return error_set(error, ERR_INVALID, "the path of the worker program is too long");
    ret_arguments[arguments.count] = NULL;
    return ERR_OK;
}

static bool parse_fd(struct span text, int *ret_fd) {
    uint64_t number = 0;
    if (!decimal_parse(text, INT_MAX, &number))
        return false;
    *ret_fd = (int)number;
    return true;
}

static enum err add_input(struct job *job, struct span role, struct span value,
                          struct error *error) {
    struct job_input input = {0};
    if (!job_role_from_name(role, &input.role) || !parse_fd(value, &input.fd))
        return error_set(error, ERR_INVALID, "no such option or role, or no number behind it");
    if (job->input_count == JOB_INPUT_MAX)
        return error_set(error, ERR_INVALID, "more than %d inputs", JOB_INPUT_MAX);
    job->inputs[job->input_count++] = input;
    return ERR_OK;
}

/* A limit given as 0 would be "the default", and given twice would be a mistake: both refused. */
static bool set_limit(uint64_t *limit, struct span value) {
    return *limit == 0 && decimal_parse(value, UINT64_MAX, limit) && *limit != 0;
}

static bool set_thread_count(struct job *job, struct span value) {
    uint64_t count = 0;
    bool good = job->thread_count == 0 && decimal_parse(value, JOB_THREAD_MAX, &count) && count > 0;
    job->thread_count = (unsigned)count;
    return good;
}

/* The one that is taken without the option is not to be named. */
static enum err set_backend(struct job *job, struct span value, struct error *error) {
    enum dwarf_backend backend;
    if (job->dwarf_backend != DWARF_BACKEND_NATIVE ||
        !job_dwarf_backend_from_name(value, &backend) || backend == DWARF_BACKEND_NATIVE)
        return error_set(error, ERR_INVALID, "want libdw, once");
    job->dwarf_backend = backend;
    return ERR_OK;
}

/* One NAME=VALUE. */
static enum err parse_argument(struct job *job, const char *argument, struct error *error) {
    const char *equals = strchr(argument, '=');
    if (!equals)
        return error_set(error, ERR_INVALID, "want NAME=VALUE");
    struct span name = span_of(argument, (size_t)(equals - argument));
    struct span value = span_cstr(equals + 1);
    bool good;
    if (span_equal_cstr(name, "--report")) {
        good = job->report_fd < 0 && parse_fd(value, &job->report_fd);
    } else if (span_equal_cstr(name, "--out")) {
        good = job->out_fd < 0 && parse_fd(value, &job->out_fd);
    } else if (span_equal_cstr(name, "--memory-max")) {
        good = set_limit(&job->memory_max, value);
    } else if (span_equal_cstr(name, "--size-max")) {
        good = set_limit(&job->size_max, value);
    } else if (span_equal_cstr(name, "--threads")) {
        good = set_thread_count(job, value);
    } else if (span_equal_cstr(name, "--columns")) {
        good = !job->without_columns && span_equal_cstr(value, "no");
        job->without_columns = true;
    } else if (span_equal_cstr(name, "--dwarf-backend")) {
        return set_backend(job, value, error);
    } else if (span_equal_cstr(name, "--section")) {
        good = !job->section;
        job->section = value.data;
    } else {
        return add_input(job, name, value, error);
    }
    return good ? ERR_OK : error_set(error, ERR_INVALID, "want one number, once");
}

enum err job_from_arguments(int argument_count, char *const *arguments, struct job *ret_job,
                            struct error *error) {
    struct job job = {.out_fd = -1, .report_fd = -1};
    if (argument_count < 2 || !operation_from_name(span_cstr(arguments[1]), &job.operation))
        return error_set(error, ERR_INVALID, "want an operation: identify, build or section");
    for (int i = 2; i < argument_count; i++) {
        enum err err = parse_argument(&job, arguments[i], error);
        if (err) {
            error_prefix(error, "argument \"%.100s\"", arguments[i]);
            return err;
        }
    }
    enum err err = check(&job, error);
    if (err == ERR_OK)
        *ret_job = job;
    return err;
}
