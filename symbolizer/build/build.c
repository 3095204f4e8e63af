#include "symbolizer/build/build.h"

#include <malloc.h>

#include "symbolizer/build/assembly.h"
#include "symbolizer/build/collection.h"
#include "symbolizer/build/index_writer.h"
#include "symbolizer/build/object_inputs.h"

#define MEMORY_DEFAULT ((uint64_t)4 << 30)
#define INDEX_SIZE_DEFAULT ((uint64_t)4 << 30)

struct build {
    struct object_inputs inputs;
    struct collection collection;
    struct index_writer *writer;
    const struct build_limits *limits;
    struct index_summary summary;
};

static void cleanup_build(struct build *build) {
    collection_clear(&build->collection);
    index_writer_free(build->writer);
    object_inputs_clear(&build->inputs);
}

/* Symbols come first: they name functions, and decide between those that were folded. A source is
 * done for once it has pushed, and its memory goes. */
static enum err collect(struct build *build, struct error *error) {
    struct object_inputs *inputs = &build->inputs;
    struct collection *collection = &build->collection;
    const struct build_limits *limits = build->limits;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < inputs->file_count; i++) {
        CLEANUP(cleanup_symbol_source) struct symbol_source *symtab = TAKE(inputs->symtabs[i]);
        if (symtab)
            err = symtab->ops->push(symtab, &collection->symbols.sink, error);
        symbol_map_end_source(&collection->symbols);
    }
    CLEANUP(cleanup_symbol_source) struct symbol_source *dwarf = TAKE(inputs->dwarf);
    if (err == ERR_OK)
        err = collection_push(collection, dwarf, limits->thread_count, limits->progress, error);
    if (err == ERR_OK)
        collection_try_names(collection, limits->thread_count);
    symbol_source_free(TAKE(dwarf));
    /* What the reader held while it read is free by now, but in every thread's heap. */
    malloc_trim(0);
    return err;
}

/* An index of nothing would hide why there is nothing. */
static enum err check_collected(const struct build *build, struct error *error) {
    struct shard_counts counts = collection_count(&build->collection);
    if (counts.functions > 0 || counts.line_rows > 0 || build->collection.symbols.count > 0)
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

static enum err assemble_collected(struct build *build, struct error *error) {
    static const struct pc_range everywhere = {0, UINT64_MAX};
    struct assembly_extents extents;
    bool exact;
    object_inputs_extents(&build->inputs, &extents.list, &extents.count, &exact);
    if (extents.count == 0)
        extents = (struct assembly_extents){&everywhere, 1};
    struct assembly_result result;
    enum err err = assemble(&build->collection, &extents, build->writer, &result, error);
    if (err)
        return err;
    struct shard_counts counts = collection_count(&build->collection);
    struct index_summary *summary = &build->summary;
    summary->function_count = counts.functions + result.symbol_functions;
    summary->inlined_count = counts.inlined;
    summary->line_row_count = counts.line_rows;
    summary->damage_count = counts.damage + build->inputs.damage;
    summary->interval_count = index_writer_interval_count(build->writer);
    summary->location_count = index_writer_location_count(build->writer);
    summary->covered_bytes = result.covered_bytes;
    return ERR_OK;
}

enum err build_index(const struct job_input *inputs, size_t input_count,
                     const struct build_limits *limits, int out_fd, struct build_result *ret_result,
                     struct error *error) {
    CLEANUP(cleanup_build) struct build build = {.limits = limits};
    uint64_t memory_max = limits->memory_max ? limits->memory_max : MEMORY_DEFAULT;
    uint64_t size_max = limits->index_size_max ? limits->index_size_max : INDEX_SIZE_DEFAULT;
    /* Half each: what the collection holds of a string or scope the writer holds again. */
    if (size_max > memory_max / 2)
        size_max = memory_max / 2;
    struct build_result result = {.size = 0};
    const struct object_inputs_options options = {
        .inflated_size_max = limits->inflated_size_max,
        .backend = limits->dwarf_backend,
        .dwo_finder = limits->dwo_finder,
    };
    enum err err = object_inputs_open(&build.inputs, inputs, input_count, &options, error);
    if (err == ERR_OK) {
        object_inputs_describe(&build.inputs, &build.summary);
        result.missing_dwo_count =
            object_inputs_missing_dwos(&build.inputs, result.missing_dwos, BUILD_MISSING_MAX);
        err = collection_init(&build.collection, memory_max / 2, error);
    }
    if (err == ERR_OK)
        err = index_writer_new(size_max, &build.writer, error);
    if (err == ERR_OK && limits->without_columns)
        index_writer_leave_out_columns(build.writer);
    if (err == ERR_OK)
        err = collect(&build, error);
    if (err == ERR_OK)
        err = check_collected(&build, error);
    if (err == ERR_OK)
        err = write_segments(&build, error);
    if (err == ERR_OK)
        err = assemble_collected(&build, error);
    if (err)
        return err;
    result.memory_peak = build.collection.budget.peak;
    /* The collection is done for; the writer needs room for its last tables. */
    collection_clear(&build.collection);
    err = index_writer_finish(build.writer, &build.summary, out_fd, &result.size, error);
    if (err)
        return err;
    result.memory_peak += index_writer_memory_peak(build.writer);
    result.summary = build.summary;
    *ret_result = result;
    return ERR_OK;
}
