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

static enum err open_input(const struct job_input *input, const struct elf_limits *limits,
                           struct elf_file **ret_file, struct error *error) {
    enum err err = elf_file_open_fd(input->fd, limits, ret_file, error);
    if (err)
        error_prefix(error, "%s input", job_role_name(input->role));
    return err;
}

/* The file of a role that may be there once; *ret_file stays as it is when there is none. */
static enum err open_role(const struct job_input *list, size_t count, enum job_role role,
                          const struct elf_limits *limits, struct elf_file **ret_file,
                          struct error *error) {
    const struct job_input *input;
    enum err err = find_role(list, count, role, &input, error);
    return err || !input ? err : open_input(input, limits, ret_file, error);
}

/* One of the files that addresses are asked of. */
static enum err open_object(struct object_inputs *inputs, const struct job_input *list,
                            size_t count, enum job_role role, const struct elf_limits *limits,
                            struct error *error) {
    struct elf_file **file = &inputs->files[inputs->file_count];
    enum err err = open_role(list, count, role, limits, file, error);
    inputs->file_count += *file != NULL;
    return err;
}

/* The files that DWARF is spread over besides. */
static enum err open_others(struct object_inputs *inputs, const struct job_input *list,
                            size_t count, const struct elf_limits *limits, struct error *error) {
    enum err err =
        open_role(list, count, JOB_ROLE_SUPPLEMENTARY, limits, &inputs->supplement, error);
    if (!err)
        err = open_role(list, count, JOB_ROLE_DWP, limits, &inputs->package, error);
    for (size_t i = 0; !err && i < count; i++) {
        if (list[i].role != JOB_ROLE_DWO)
            continue;
        err = open_input(&list[i], limits, &inputs->dwos[inputs->dwo_count], error);
        inputs->dwo_count += !err;
    }
    return err;
}

enum err object_inputs_open_files(struct object_inputs *inputs, const struct job_input *list,
                                  size_t count, uint64_t inflated_size_max, struct error *error) {
    *inputs = (struct object_inputs){0};
    struct elf_limits limits = {.inflated_size_max = inflated_size_max};
    enum err err = open_object(inputs, list, count, JOB_ROLE_MAIN, &limits, error);
    if (err == ERR_OK)
        err = open_object(inputs, list, count, JOB_ROLE_DEBUG, &limits, error);
    if (err == ERR_OK)
        err = open_others(inputs, list, count, &limits, error);
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
                          const struct object_inputs_options *options, struct error *error) {
    const struct dwarf_files files = {
        .main = file,
        .supplement = inputs->supplement,
        .split = {.package = inputs->package,
                  .dwos = inputs->dwos,
                  .dwo_count = inputs->dwo_count,
                  .finder = options->dwo_finder},
    };
    inputs->dwarf_is_native = options->backend == DWARF_BACKEND_NATIVE;
    if (inputs->dwarf_is_native)
        return dwarf_source_new_spread(&files, &inputs->dwarf, error);
    enum err err = libdw_source_new(file, &inputs->dwarf, error);
    if (elf_file_debug_damage(file))
        inputs->damage++;
    return err;
}

/* The DWARF of the first file that has any we can read. One that we cannot read is damage, and the
 * symbols still answer; running out of bounds is not. */
static enum err open_dwarf(struct object_inputs *inputs,
                           const struct object_inputs_options *options, struct error *error) {
    for (size_t i = 0; i < inputs->file_count && !inputs->dwarf; i++) {
        struct error reason = {0};
        enum err err = new_dwarf(inputs, inputs->files[i], options, &reason);
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
                            size_t count, const struct object_inputs_options *options,
                            struct error *error) {
    enum err err = object_inputs_open_files(inputs, list, count, options->inflated_size_max, error);
    if (err == ERR_OK)
        err = open_dwarf(inputs, options, error);
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
    for (size_t i = 0; i < inputs->dwo_count; i++)
        elf_file_free(inputs->dwos[i]);
    elf_file_free(inputs->supplement);
    elf_file_free(inputs->package);
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

size_t object_inputs_missing_dwos(const struct object_inputs *inputs, uint64_t *ret_ids,
                                  size_t count_max) {
    if (!inputs->dwarf || !inputs->dwarf_is_native)
        return 0;
    return dwarf_source_missing_dwos(inputs->dwarf, ret_ids, count_max);
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
