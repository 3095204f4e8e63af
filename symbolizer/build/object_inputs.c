#include "symbolizer/build/object_inputs.h"

#include "debuginfo/contents.h"
#include "debuginfo/dwarf_source.h"
#include "debuginfo/identity.h"
#include "debuginfo/libdw_source.h"
#include "debuginfo/symtab_source.h"

/* The one input of a role; NULL when there is none. */
static enum err find_role(const struct job_input *list, size_t count, enum job_role role,
                          const struct job_input **ret_input, struct error *error) {
    *ret_input = NULL;
    for (size_t i = 0; i < count; i++) {
        if (list[i].role != role)
            continue;
        if (*ret_input)
            return error_set(error, ERR_INVALID, "more than one %s input", job_role_name(role));
        *ret_input = &list[i];
    }
    return ERR_OK;
}

static enum err open_role(struct object_inputs *inputs, const struct job_input *list, size_t count,
                          enum job_role role, const struct elf_limits *limits,
                          struct error *error) {
    const struct job_input *input;
    enum err err = find_role(list, count, role, &input, error);
    if (err || !input)
        return err;
    err = elf_file_open_fd(input->fd, limits, &inputs->files[inputs->file_count], error);
    if (err) {
        error_prefix(error, "%s input", job_role_name(role));
        return err;
    }
    inputs->file_count++;
    return ERR_OK;
}

enum err object_inputs_open_files(struct object_inputs *inputs, const struct job_input *list,
                                  size_t count, uint64_t inflated_size_max, struct error *error) {
    *inputs = (struct object_inputs){0};
    struct elf_limits limits = {.inflated_size_max = inflated_size_max};
    enum err err = open_role(inputs, list, count, JOB_ROLE_MAIN, &limits, error);
    if (err == ERR_OK)
        err = open_role(inputs, list, count, JOB_ROLE_DEBUG, &limits, error);
    if (err)
        return err;
    if (inputs->file_count == 0)
        return error_set(error, ERR_INVALID, "neither a main nor a debug input");
    if (inputs->file_count == 2 &&
        elf_file_header(inputs->files[0])->machine != elf_file_header(inputs->files[1])->machine)
        return error_set(error, ERR_MALFORMED,
                         "debug input: for another machine than the main one");
    if (inputs->file_count == 2)
        elf_file_set_beside(inputs->files[1], inputs->files[0]);
    return ERR_OK;
}

static enum err new_dwarf(struct object_inputs *inputs, struct elf_file *file,
                          enum dwarf_backend backend, struct error *error) {
    if (backend == DWARF_BACKEND_NATIVE)
        return dwarf_source_new(file, &inputs->dwarf, error);
    enum err err = libdw_source_new(file, &inputs->dwarf, error);
    if (elf_file_debug_damage(file))
        inputs->damage++;
    return err;
}

/* The DWARF of the first file that has any we can read. One that we cannot read is damage, and the
 * symbols still answer; running out of bounds is not. */
static enum err open_dwarf(struct object_inputs *inputs, enum dwarf_backend backend,
                           struct error *error) {
    for (size_t i = 0; i < inputs->file_count && !inputs->dwarf; i++) {
        struct error reason = {0};
        enum err err = new_dwarf(inputs, inputs->files[i], backend, &reason);
        if (err == ERR_NO_MEMORY || err == ERR_LIMIT) {
            *error = reason;
            return err;
        }
        if (err && err != ERR_NOT_FOUND) {
            inputs->dwarf_error = reason;
            inputs->damage++;
        }
    }
    return ERR_OK;
}

enum err object_inputs_open(struct object_inputs *inputs, const struct job_input *list,
                            size_t count, uint64_t inflated_size_max, enum dwarf_backend backend,
                            struct error *error) {
    enum err err = object_inputs_open_files(inputs, list, count, inflated_size_max, error);
    if (err == ERR_OK)
        err = open_dwarf(inputs, backend, error);
    for (size_t i = 0; err == ERR_OK && i < inputs->file_count; i++)
        err = symtab_source_new(inputs->files[i], &inputs->symtabs[i], error);
    return err;
}

void object_inputs_clear(struct object_inputs *inputs) {
    symbol_source_free(inputs->dwarf);
    for (size_t i = 0; i < inputs->file_count; i++)
        symbol_source_free(inputs->symtabs[i]);
    for (size_t i = 0; i < inputs->file_count; i++)
        elf_file_free(inputs->files[i]);
    *inputs = (struct object_inputs){0};
}

static void add_id(struct index_summary *summary, const struct binary_id *id) {
    for (size_t i = 0; i < summary->id_count; i++)
        if (binary_id_equal(&summary->ids[i], id))
            return;
    if (summary->id_count < INDEX_ID_MAX)
        summary->ids[summary->id_count++] = *id;
}

/* 0 when a last section of lost size had to be taken to reach to the end of all addresses. */
static uint64_t executable_bytes(const struct object_inputs *inputs, bool *ret_exact) {
    const struct pc_range *extents;
    size_t count;
    object_inputs_extents(inputs, &extents, &count, ret_exact);
    uint64_t last = count ? extents[count - 1].end : 0;
    if (!*ret_exact && (last == UINT64_MAX || last == (uint64_t)UINT32_MAX + 1))
        return 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += extents[i].end - extents[i].begin;
    return bytes;
}

void object_inputs_describe(const struct object_inputs *inputs, struct index_summary *summary) {
    summary->machine = elf_file_header(inputs->files[0])->machine;
    for (size_t i = 0; i < inputs->file_count; i++) {
        struct elf_identity identity;
        struct elf_contents contents;
        elf_identity_read(inputs->files[i], &identity);
        elf_contents_read(inputs->files[i], &contents);
        if (identity.has_gnu)
            add_id(summary, &identity.gnu);
        if (identity.has_go)
            add_id(summary, &identity.go);
        /* The htlhash of a debug file beside the executable names nothing that runs. */
        if (i == 0)
            add_id(summary, &identity.htlhash);
        summary->has_dwarf |= contents.has_dwarf;
        summary->has_pclntab |= contents.has_pclntab;
        summary->has_symtab |= contents.has_symtab;
        summary->has_dynsym |= contents.has_dynsym;
    }
    summary->executable_bytes = executable_bytes(inputs, &summary->extents_exact);
}

void object_inputs_extents(const struct object_inputs *inputs, const struct pc_range **ret_extents,
                           size_t *ret_count, bool *ret_exact) {
    *ret_extents = NULL;
    *ret_count = 0;
    *ret_exact = false;
    for (size_t i = 0; i < inputs->file_count && !*ret_exact; i++) {
        const struct pc_range *extents;
        size_t count;
        bool exact;
        elf_file_executable_extents(inputs->files[i], &extents, &count, &exact);
        if (count == 0 || (*ret_count > 0 && !exact))
            continue;
        *ret_extents = extents;
        *ret_count = count;
        *ret_exact = exact;
    }
}

enum err object_inputs_outer_name(const struct object_inputs *inputs,
                                  const struct outer_name *dwarf, uint64_t entry_pc,
                                  struct span *ret_name, struct error *error) {
    struct span names[SYMTAB_NAMES_MAX];
    for (size_t i = 0; i < inputs->file_count; i++) {
        size_t count = 0;
        if (!inputs->symtabs[i])
            continue;
        enum err err = symtab_source_names(inputs->symtabs[i], entry_pc, names, &count, error);
        if (err)
            return err;
        size_t chosen = outer_name_choose(dwarf, names, count);
        if (chosen == OUTER_NAME_KEEP)
            continue;
        *ret_name = names[chosen];
        return ERR_OK;
    }
    return ERR_OK;
}
