/*
 * The inputs of one job, opened: the executable (MAIN) and its separate debug file (DEBUG), either
 * of which may be all there is, and the sources that read them in order of precedence. The index
 * builder and the resolver of single addresses share it, so that both ask the same bytes.
 *
 * DWARF may be spread over more files: a supplementary one, a .dwp and .dwo files, which only our
 * own reader of DWARF reads.
 */
#pragma once

#include "base/symbol_source.h"
#include "debuginfo/dwarf_split.h"
#include "debuginfo/elf_file.h"
#include "symbolizer/index/index.h"
#include "symbolizer/protocol/job.h"

struct object_inputs {
    struct elf_file *files[2]; /* MAIN first; those that are there */
    size_t file_count;
    struct elf_file *supplement; /* NULL: none; so the next */
    struct elf_file *package;
    struct elf_file *dwos[JOB_INPUT_MAX];
    size_t dwo_count;
    struct symbol_source *dwarf;      /* NULL: there is none that can be read */
    bool dwarf_is_native;             /* read by our own reader */
    struct symbol_source *symtabs[2]; /* of the files, in their order */
    uint64_t damage;                  /* what had to be left out on opening */
    struct error dwarf_error;         /* why dwarf is NULL although a file has some; else code 0 */
};

struct object_inputs_options {
    uint64_t inflated_size_max; /* of each input; 0: the default of elf_file.h */
    enum dwarf_backend backend;
    struct dwarf_dwo_finder *dwo_finder; /* NULL: .dwo files are not looked for by their names */
};

/* ERR_INVALID: no MAIN and no DEBUG, or one of them twice; ERR_MALFORMED, ERR_UNSUPPORTED,
 * ERR_LIMIT, ERR_NO_MEMORY name the input. End it with object_inputs_clear, also after a failure.
 */
enum err object_inputs_open(struct object_inputs *inputs, const struct job_input *list,
                            size_t count, const struct object_inputs_options *options,
                            struct error *error);
void object_inputs_clear(struct object_inputs *inputs);

/* The file without sources on it, for questions that need none. */
enum err object_inputs_open_files(struct object_inputs *inputs, const struct job_input *list,
                                  size_t count, uint64_t inflated_size_max, struct error *error);

/* Ids, machine, what kinds of symbols there are, executable bytes; the counts stay as they are. */
void object_inputs_describe(const struct object_inputs *inputs, struct index_summary *summary);

/* The DWO ids of units whose split halves are not among the inputs, up to count_max of them. */
size_t object_inputs_missing_dwos(const struct object_inputs *inputs, uint64_t *ret_ids,
                                  size_t count_max);

/* Where code lies, from the file that knows best; empty when none does. */
void object_inputs_extents(const struct object_inputs *inputs, const struct pc_range **ret_extents,
                           size_t *ret_count, bool *ret_exact);
