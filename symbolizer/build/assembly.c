#include "symbolizer/build/assembly.h"

#include <stdlib.h>

#include "symbolizer/build/line_layer.h"
#include "symbolizer/build/stretch_map.h"
#include "symbolizer/build/written_records.h"

struct assembly {
    struct collection *collection;
    struct stretch_map functions;
    struct line_layer lines; /* of nobody */
    struct written_records records;
    const struct assembly_extents *extents;
    size_t extent; /* the first that does not end before what is written next */
    uint64_t covered_bytes;
};

static void assembly_free(struct assembly *assembly) {
    stretch_map_clear(&assembly->functions);
    line_layer_clear(&assembly->lines);
    written_records_clear(&assembly->records);
    free(assembly);
}
DEFINE_CLEANUP(assembly, struct assembly, assembly_free)

static void count_covered(struct assembly *assembly, struct pc_range range) {
    const struct assembly_extents *extents = assembly->extents;
    while (assembly->extent < extents->count && extents->list[assembly->extent].end <= range.begin)
        assembly->extent++;
    for (size_t i = assembly->extent; i < extents->count && extents->list[i].begin < range.end;
         i++) {
        uint64_t from = extents->list[i].begin > range.begin ? extents->list[i].begin : range.begin;
        uint64_t to = extents->list[i].end < range.end ? extents->list[i].end : range.end;
        assembly->covered_bytes += to - from;
    }
}

static enum err write_interval(struct assembly *assembly, struct pc_range range, uint32_t scope,
                               const struct index_place *row, enum symbol_miss miss,
                               struct error *error) {
    struct index_place place = *row;
    enum err err = written_file(&assembly->records, row->file, &place.file, error);
    return err ? err
               : index_writer_stretch(assembly->records.writer, range, scope, &place, miss, error);
}

/* --- functions --- */

static enum err write_row(struct assembly *assembly, struct shard *shard,
                          const struct shard_stretch *stretch, struct pc_range range,
                          const struct shard_interval *interval, struct error *error) {
    uint32_t scope;
    const struct shard_subject *subject =
        &shard->subjects[shard->scopes[interval->scope - 1].subject - 1];
    enum symbol_miss miss = interval->row.line ? SYMBOL_MISS_NONE : SYMBOL_MISS_NO_LINE;
    if (stretch->unpainted)
        miss = SYMBOL_MISS_INLINE_UNAVAILABLE;
    if (subject->name)
        count_covered(assembly, range);
    enum err err = written_scope(&assembly->records, shard, interval->scope, &scope, error);
    return err ? err : write_interval(assembly, range, scope, &interval->row, miss, error);
}

/* The function's own unit has no row here: those of others. */
static enum err write_rows_of_others(struct assembly *assembly, struct shard *shard,
                                     const struct shard_stretch *stretch, struct pc_range range,
                                     const struct shard_interval *interval, struct error *error) {
    enum err err = ERR_OK;
    while (err == ERR_OK && range.begin < range.end) {
        struct layer_answer answer = line_layer_at(&assembly->lines, range.begin);
        struct shard_interval found = *interval;
        if (answer.place)
            found.row = *answer.place;
        uint64_t end = answer.end < range.end ? answer.end : range.end;
        err =
            write_row(assembly, shard, stretch, (struct pc_range){range.begin, end}, &found, error);
        range.begin = end;
    }
    return err;
}

/* What of a stretch is not covered by a smaller one. */
static enum err write_stretch(struct assembly *assembly, const struct sweep_segment *segment,
                              struct error *error) {
    const struct stretch_place *place = &assembly->functions.places[segment->id];
    struct shard *shard = &assembly->collection->shards[place->shard];
    const struct shard_stretch *stretch = &shard->stretches[place->position];
    const struct shard_interval *intervals = &shard->intervals[stretch->interval_first];
    uint64_t pc = segment->begin;
    enum err err = ERR_OK;
    for (uint32_t i = shard_interval_at(shard, stretch, pc); err == ERR_OK && pc < segment->end;
         i++) {
        uint64_t end = i + 1 < stretch->interval_count ? intervals[i + 1].begin : stretch->end;
        struct pc_range range = {pc, end < segment->end ? end : segment->end};
        err = stretch->sequence
                  ? write_row(assembly, shard, stretch, range, &intervals[i], error)
                  : write_rows_of_others(assembly, shard, stretch, range, &intervals[i], error);
        pc = range.end;
    }
    return err;
}

/* --- what no function covers --- */

/* Symbols, and rows on their own. */
static enum err write_gap(struct assembly *assembly, uint64_t begin, uint64_t end,
                          struct error *error) {
    static const struct index_place nowhere;
    enum err err = ERR_OK;
    struct pc_range range = {begin, begin};
    for (; err == ERR_OK && range.begin < end; range.begin = range.end) {
        uint64_t symbol_end;
        uint32_t symbol = symbol_map_at(&assembly->collection->symbols, range.begin, &symbol_end);
        struct layer_answer answer = line_layer_at(&assembly->lines, range.begin);
        range.end = symbol_end < end ? symbol_end : end;
        if (answer.end < range.end)
            range.end = answer.end;
        bool has_line = answer.place && answer.place->line;
        /* Neither a name nor a line is no answer. */
        if (symbol == SYMBOL_NONE && !has_line)
            continue;
        uint32_t scope;
        if (symbol != SYMBOL_NONE)
            count_covered(assembly, range);
        err = written_symbol(&assembly->records, symbol, &scope, error);
        if (err == ERR_OK)
            err = write_interval(assembly, range, scope, answer.place ? answer.place : &nowhere,
                                 has_line ? SYMBOL_MISS_NONE : SYMBOL_MISS_NO_LINE, error);
    }
    return err;
}

static enum err write_all(struct assembly *assembly, struct error *error) {
    const struct sweep_segments *segments = &assembly->functions.segments;
    uint64_t pc = 0;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < segments->count; i++) {
        err = write_gap(assembly, pc, segments->list[i].begin, error);
        if (err == ERR_OK)
            err = write_stretch(assembly, &segments->list[i], error);
        pc = segments->list[i].end;
    }
    return err ? err : write_gap(assembly, pc, UINT64_MAX, error);
}

enum err assemble(struct collection *collection, const struct assembly_extents *extents,
                  struct index_writer *writer, struct assembly_result *ret_result,
                  struct error *error) {
    CLEANUP(cleanup_assembly) struct assembly *assembly = calloc(1, sizeof(*assembly));
    if (!assembly)
        return error_set(error, ERR_NO_MEMORY, "no memory to assemble an index");
    assembly->collection = collection;
    assembly->extents = extents;
    written_records_init(&assembly->records, collection, writer);
    enum err err = stretch_map_build(&assembly->functions, collection, error);
    if (err == ERR_OK)
        err = line_layer_build(&assembly->lines, collection, error);
    if (err == ERR_OK)
        err = write_all(assembly, error);
    if (err == ERR_OK)
        *ret_result =
            (struct assembly_result){.covered_bytes = assembly->covered_bytes,
                                     .symbol_functions = assembly->records.symbol_functions};
    return err;
}
