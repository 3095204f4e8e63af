/*
 * What symbolizer-worker is asked to do. A job travels on the worker's command line, since it
 * holds nothing but numbers and words of ours:
 *
 *     symbolizer-worker OPERATION --report=FD [--out=FD] [--section=NAME] [--memory-max=BYTES]
 *                       [--size-max=BYTES] [--dwarf-backend=NAME] [--columns=no] [--threads=N]
 *                       ROLE=FD...
 *
 * The worker reads its input only through the fds named here, writes results to --out, and its
 * report (symbolizer/protocol/report.h) to --report.
 *
 *   identify  which ids are inside the main input, and what kinds of symbol data
 *   build     an index of all inputs, to --out
 *   section   one section's inflated bytes, to --out
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

enum job_operation { JOB_IDENTIFY = 1, JOB_BUILD, JOB_SECTION };

/* Stored in catalogs and hashed into index keys: values are never reused. */
enum job_role {
    JOB_ROLE_MAIN = 1,
    JOB_ROLE_DEBUG = 2,
    JOB_ROLE_SUPPLEMENTARY = 3,
    JOB_ROLE_DWP = 4,
    JOB_ROLE_DWO = 5,
};

/* Which reader of DWARF is asked: our own or, for a second opinion, the walk over libdw. */
enum dwarf_backend { DWARF_BACKEND_NATIVE = 0, DWARF_BACKEND_LIBDW = 1 };

struct job_input {
    enum job_role role;
    int fd;
};

#define JOB_INPUT_MAX 64
#define JOB_THREAD_MAX 256u

struct job {
    enum job_operation operation;
    struct job_input inputs[JOB_INPUT_MAX];
    size_t input_count;
    int out_fd; /* -1: none */
    int report_fd;
    const char *section; /* JOB_SECTION; NULL otherwise */
    uint64_t memory_max; /* 0: the operation's default */
    uint64_t size_max;   /* of the output; 0: default */
    enum dwarf_backend dwarf_backend;
    bool without_columns;  /* JOB_BUILD: columns are left out, which makes a smaller index */
    unsigned thread_count; /* JOB_BUILD: that read the inputs; 0: one */
};

const char *job_operation_name(enum job_operation operation);
const char *job_role_name(enum job_role role);
bool job_role_from_name(struct span name, enum job_role *ret_role);

/* "native", "libdw". */
const char *job_dwarf_backend_name(enum dwarf_backend backend);
bool job_dwarf_backend_from_name(struct span name, enum dwarf_backend *ret_backend);

/*
 * Builds argv (NULL-terminated, argv[0] = program) inside `storage`, and the other way round.
 * ERR_INVALID says what is wrong. A job has one to JOB_INPUT_MAX inputs and a report fd; --out goes
 * with build and section, --section with section alone, --dwarf-backend with build alone. Nothing
 * may be given twice. The section name read by job_from_arguments lies in `arguments`.
 */
#define JOB_ARGUMENT_MAX (JOB_INPUT_MAX + 10)
#define JOB_STORAGE_SIZE 8192
enum err job_to_arguments(const struct job *job, const char *program,
                          char storage[static JOB_STORAGE_SIZE],
                          const char *ret_arguments[static JOB_ARGUMENT_MAX], struct error *error);
enum err job_from_arguments(int argument_count, char *const *arguments, struct job *ret_job,
                            struct error *error);
