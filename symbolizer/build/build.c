#include "symbolizer/build/build.h"

#include "symbolizer/build/flatten.h"
#include "symbolizer/build/index_writer.h"
#include "symbolizer/build/object_inputs.h"
#include "symbolizer/build/symbol_model.h"

#define MEMORY_DEFAULT ((uint64_t)4 << 30)
#define INDEX_SIZE_DEFAULT ((uint64_t)4 << 30)

struct build {
    struct object_inputs inputs;
    struct symbol_model *model;
    struct index_writer *writer;
    struct index_summary summary;
};

static void cleanup_build(struct build *build) {
    symbol_model_free(build->model);
    index_writer_free(build->writer);
    object_inputs_clear(&build->inputs);
}

/* A source is done for once it has pushed: its memory goes before the model grows on. */
static enum err push_and_free(struct build *build, struct symbol_source **source,
                              struct error *error) {
    CLEANUP(cleanup_symbol_source) struct symbol_source *pushing = TAKE(*source);
    if (!pushing)
        return ERR_OK;
    enum err err = pushing->ops->push(pushing, symbol_model_sink(build->model), error);
    symbol_model_end_source(build->model);
    return err;
}

static enum err collect(struct build *build, struct error *error) {
    struct object_inputs *inputs = &build->inputs;
    enum err err = push_and_free(build, &inputs->dwarf, error);
    for (size_t i = 0; err == ERR_OK && i < inputs->file_count; i++)
        err = push_and_free(build, &inputs->symtabs[i], error);
    return err;
}

/* An index of nothing would hide why there is nothing. */
static enum err check_collected(const struct build *build, struct error *error) {
    struct symbol_model_counts counts = symbol_model_count(build->model);
    if (counts.functions > 0 || counts.line_rows > 0 || counts.symbols > 0)
        return ERR_OK;
    if (build->inputs.dwarf_error.code != ERR_OK) {
        *error = build->inputs.dwarf_error;
        return error->code;
    }
    if (counts.damage > 0)
        return error_set(error, ERR_MALFORMED, "no symbol data in it can be read");
    if (build->summary.has_pclntab)
        return error_set(error, ERR_UNSUPPORTED,
                         "no DWARF and no ELF symbols; a Go pclntab, which is not read yet");
    return error_set(error, ERR_UNSUPPORTED, "no DWARF and no ELF symbols");
}

static enum err write_segments(struct build *build, struct error *error) {
    const struct object_inputs *inputs = &build->inputs;
    bool written = false;
    for (size_t i = 0; i < inputs->file_count && !written; i++) {
        size_t count = elf_file_segment_count(inputs->files[i]);
        for (size_t j = 0; j < count; j++) {
            const struct elf_segment *segment = elf_file_segment(inputs->files[i], j);
            if (segment->type != PT_LOAD)
                continue;
            struct index_segment kept = {
                .offset = segment->offset,
                .address = segment->address,
                .file_size = segment->file_size,
                .memory_size = segment->memory_size,
                .flags = segment->flags,
            };
            enum err err = index_writer_segment(build->writer, &kept, error);
            if (err)
                return err;
            written = true;
        }
    }
    return ERR_OK;
}

static enum err flatten_collected(struct build *build, struct error *error) {
    static const struct pc_range everywhere = {0, UINT64_MAX};
    struct flatten_extents extents;
    bool exact;
    object_inputs_extents(&build->inputs, &extents.list, &extents.count, &exact);
    if (extents.count == 0)
        extents = (struct flatten_extents){&everywhere, 1};
    struct flatten_result result;
    enum err err = flatten(build->model, &extents, build->writer, &result, error);
    if (err)
        return err;
    struct symbol_model_counts counts = symbol_model_count(build->model);
    struct index_summary *summary = &build->summary;
    summary->function_count = counts.functions + result.symbol_functions;
    summary->inlined_count = counts.inlined;
    summary->line_row_count = counts.line_rows;
    summary->damage_count = counts.damage + result.damage + build->inputs.damage;
    summary->interval_count = index_writer_interval_count(build->writer);
    summary->location_count = index_writer_location_count(build->writer);
    summary->covered_bytes = result.covered_bytes;
    /* The model is done for; the writer needs room for its last tables. */
    symbol_model_free(build->model);
    build->model = NULL;
    return ERR_OK;
}

enum err build_index(const struct job_input *inputs, size_t input_count,
                     const struct build_limits *limits, int out_fd,
                     struct index_summary *ret_summary, uint64_t *ret_size, struct error *error) {
    CLEANUP(cleanup_build) struct build build = {0};
    uint64_t memory_max = limits->memory_max ? limits->memory_max : MEMORY_DEFAULT;
    uint64_t size_max = limits->index_size_max ? limits->index_size_max : INDEX_SIZE_DEFAULT;
    /* Half each: what the model holds of a string or location the writer holds again. */
    if (size_max > memory_max / 2)
        size_max = memory_max / 2;
    uint64_t size = 0;
    enum err err = object_inputs_open(&build.inputs, inputs, input_count, limits->inflated_size_max,
                                      limits->dwarf_backend, error);
    if (err == ERR_OK) {
        object_inputs_describe(&build.inputs, &build.summary);
        err = symbol_model_new(memory_max / 2, &build.model, error);
    }
    if (err == ERR_OK)
        err = index_writer_new(size_max, &build.writer, error);
    if (err == ERR_OK)
        err = collect(&build, error);
    if (err == ERR_OK)
        err = check_collected(&build, error);
    if (err == ERR_OK)
        err = write_segments(&build, error);
    if (err == ERR_OK)
        err = flatten_collected(&build, error);
    if (err == ERR_OK)
        err = index_writer_finish(build.writer, &build.summary, out_fd, &size, error);
    if (err)
        return err;
    *ret_summary = build.summary;
    *ret_size = size;
    return ERR_OK;
}
