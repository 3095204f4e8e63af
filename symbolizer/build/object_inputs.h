/*
 * The inputs of one job, opened: the executable (MAIN) and its separate debug file (DEBUG), either
 * of which may be all there is, and the sources that read them in order of precedence. The index
 * builder and the resolver of single addresses share it, so that both ask the same bytes.
 *
 * Supplementary, .dwp and .dwo inputs are accepted and not read: the DWARF sources cannot.
 */
#pragma once

#include "base/symbol_source.h"
#include "debuginfo/elf_file.h"
#include "symbolizer/build/outer_name.h"
#include "symbolizer/index/index.h"
#include "symbolizer/protocol/job.h"

struct object_inputs {
    struct elf_file *files[2]; /* MAIN first; those that are there */
    size_t file_count;
    struct symbol_source *dwarf;      /* NULL: there is none that can be read */
    struct symbol_source *symtabs[2]; /* of the files, in their order */
    uint64_t damage;                  /* what had to be left out on opening */
    struct error dwarf_error;         /* why dwarf is NULL although a file has some; else code 0 */
};

/* ERR_INVALID: no MAIN and no DEBUG, or one of them twice; ERR_MALFORMED, ERR_UNSUPPORTED,
 * ERR_LIMIT, ERR_NO_MEMORY name the input. End it with object_inputs_clear, also after a failure.
 */
enum err object_inputs_open(struct object_inputs *inputs, const struct job_input *list,
                            size_t count, uint64_t inflated_size_max, enum dwarf_backend backend,
                            struct error *error);
void object_inputs_clear(struct object_inputs *inputs);

/* The file without sources on it, for questions that need none. */
enum err object_inputs_open_files(struct object_inputs *inputs, const struct job_input *list,
                                  size_t count, uint64_t inflated_size_max, struct error *error);

/* Ids, machine, what kinds of symbols there are, executable bytes; the counts stay as they are. */
void object_inputs_describe(const struct object_inputs *inputs, struct index_summary *summary);

/* Where code lies, from the file that knows best; empty when none does. */
void object_inputs_extents(const struct object_inputs *inputs, const struct pc_range **ret_extents,
                           size_t *ret_count, bool *ret_exact);

/*
 * The symbol that begins where a function is entered and agrees with DWARF's name for it
 * (outer_name.h), of the first file that has one; *ret_name stays as it was when that name is to
 * stay. The name lives as long as the symbol sources, which were pushed from before or are asked by
 * one thread. ERR_NO_MEMORY, ERR_LIMIT.
 */
enum err object_inputs_outer_name(const struct object_inputs *inputs,
                                  const struct outer_name *dwarf, uint64_t entry_pc,
                                  struct span *ret_name, struct error *error);
