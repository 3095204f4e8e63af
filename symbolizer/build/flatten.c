#include "symbolizer/build/flatten.h"

#include <stdlib.h>

#include "symbolizer/build/flatten_internal.h"

/* The intervals of functions in order, and what lies between them, into the writer. */
struct emission {
    struct location_maker maker;
    struct flat_intervals intervals;
    struct line_map lines;
    const struct flatten_extents *extents;
    size_t extent; /* the first that does not end before what is written next */
    uint64_t covered_bytes;
};

static void cleanup_emission(struct emission *emission) {
    if (emission->maker.model)
        BUDGET_FREE(&emission->maker.model->budget, emission->intervals.list,
                    emission->intervals.capacity);
    line_map_clear(&emission->lines);
    location_maker_clear(&emission->maker);
}

static int compare_begin(const void *left, const void *right) {
    const struct flat_interval *a = left;
    const struct flat_interval *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void sort(struct flat_intervals *intervals) {
    for (size_t i = 1; i < intervals->count; i++) {
        if (intervals->list[i - 1].begin > intervals->list[i].begin) {
            qsort(intervals->list, intervals->count, sizeof(*intervals->list), compare_begin);
            return;
        }
    }
}

static void count_covered(struct emission *emission, uint64_t begin, uint64_t end) {
    const struct flatten_extents *extents = emission->extents;
    while (emission->extent < extents->count && extents->list[emission->extent].end <= begin)
        emission->extent++;
    for (size_t i = emission->extent; i < extents->count && extents->list[i].begin < end; i++) {
        uint64_t from = extents->list[i].begin > begin ? extents->list[i].begin : begin;
        uint64_t to = extents->list[i].end < end ? extents->list[i].end : end;
        emission->covered_bytes += to - from;
    }
}

static enum err write_interval(struct emission *emission, const struct flat_interval *interval,
                               struct error *error) {
    if (interval->named)
        count_covered(emission, interval->begin, interval->end);
    return index_writer_interval(emission->maker.writer,
                                 (struct pc_range){interval->begin, interval->end},
                                 interval->location, (enum symbol_miss)interval->miss, error);
}

/* Addresses that no function covers: symbols, and rows on their own. */
static enum err write_gap(struct emission *emission, uint64_t begin, uint64_t end,
                          struct error *error) {
    static const struct line_context no_function;
    uint64_t pc = begin;
    while (pc < end) {
        uint64_t symbol_end;
        uint32_t symbol = location_symbol_at(&emission->maker, pc, &symbol_end);
        struct line_answer answer = line_map_at(&emission->lines, pc, &no_function);
        struct flat_interval interval = {
            .begin = pc, .end = end, .miss = SYMBOL_MISS_NO_LINE, .named = symbol != MODEL_NONE};
        if (symbol_end < interval.end)
            interval.end = symbol_end;
        if (answer.end < interval.end)
            interval.end = answer.end;
        pc = interval.end;
        bool has_line = answer.row && answer.row->line;
        /* Neither a name nor a line is no answer. */
        if (!interval.named && !has_line)
            continue;
        if (has_line)
            interval.miss = SYMBOL_MISS_NONE;
        enum err err =
            location_of_symbol(&emission->maker, symbol, answer.row, &interval.location, error);
        if (err == ERR_OK)
            err = write_interval(emission, &interval, error);
        if (err)
            return err;
    }
    return ERR_OK;
}

static enum err write_all(struct emission *emission, struct error *error) {
    uint64_t pc = 0;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < emission->intervals.count; i++) {
        const struct flat_interval *interval = &emission->intervals.list[i];
        err = write_gap(emission, pc, interval->begin, error);
        if (err == ERR_OK)
            err = write_interval(emission, interval, error);
        pc = interval->end;
    }
    return err ? err : write_gap(emission, pc, UINT64_MAX, error);
}

enum err flatten(struct symbol_model *model, const struct flatten_extents *extents,
                 struct index_writer *writer, struct flatten_result *ret_result,
                 struct error *error) {
    CLEANUP(cleanup_free) struct emission *emission = calloc(1, sizeof(*emission));
    if (!emission)
        return error_set(error, ERR_NO_MEMORY, "no memory to flatten symbols with");
    emission->extents = extents;
    uint64_t damage = 0;
    enum err err = location_maker_start(&emission->maker, model, writer, error);
    if (err == ERR_OK)
        err = line_map_build(&emission->lines, model, 0, (uint32_t)model->sequence_count, error);
    if (err == ERR_OK)
        err = flatten_functions(&emission->maker, &emission->lines, &emission->intervals, &damage,
                                error);
    if (err == ERR_OK) {
        sort(&emission->intervals);
        err = write_all(emission, error);
    }
    if (err == ERR_OK)
        *ret_result =
            (struct flatten_result){.covered_bytes = emission->covered_bytes,
                                    .symbol_functions = emission->maker.symbol_function_count,
                                    .damage = damage};
    cleanup_emission(emission);
    return err;
}
