/*
 * Objects in, index out: opens the inputs, lets each source push what it has, decides which
 * function, inlined copy and line row answers at every address, and writes the index. The bytes of
 * the index depend on the inputs alone, not on how many threads made it.
 *
 * Who wins at an address: DWARF functions before ELF symbols. Among DWARF ranges that cover it the
 * smallest; among line sequences those of the function's own unit first, then the smallest. An
 * address with line rows but no DWARF function takes its name from the ELF symbols.
 *
 * Hostile bytes pass through here: call it in the worker, or in a CLI that a person runs on his
 * own file.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "debuginfo/dwarf_split.h"
#include "symbolizer/build/collection.h"
#include "symbolizer/index/index.h"
#include "symbolizer/protocol/job.h"

struct build_limits {
    uint64_t memory_max;     /* of what is collected and the writer; 0: 4 GiB */
    uint64_t index_size_max; /* 0: 4 GiB */
    uint64_t inflated_size_max;
    enum dwarf_backend dwarf_backend;
    struct dwarf_dwo_finder *dwo_finder;  /* NULL: no .dwo file is looked for by its name */
    unsigned thread_count;                /* 0: one for each processor */
    struct collection_progress *progress; /* may be NULL */
    bool without_columns;                 /* a smaller index; otherwise columns are kept */
};

/* As many as a report has room for. */
#define BUILD_MISSING_MAX 64

struct build_result {
    struct index_summary summary;
    uint64_t size;        /* of the index */
    uint64_t memory_peak; /* the most that tables took, without what reading the inputs takes */
    uint64_t missing_dwos[BUILD_MISSING_MAX]; /* DWO ids of split units that are not there */
    size_t missing_dwo_count;
};

/* Writes to out_fd (empty, seekable). ERR_MALFORMED, ERR_UNSUPPORTED, ERR_LIMIT, ERR_NO_MEMORY. */
enum err build_index(const struct job_input *inputs, size_t input_count,
                     const struct build_limits *limits, int out_fd, struct build_result *ret_result,
                     struct error *error);
