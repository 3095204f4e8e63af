#include "symbolizer/build/line_map.h"

#include <assert.h>

/* Functions may be as many as the twins over them; looking at all of them each time would be
 * quadratic in hostile input. */
#define TWINS_TRIED_MAX 256

/* Sorted by begin and end, twins are neighbours in order of their ids, and the sweep lets the
 * first of them win. */
static void link_twins(struct line_map *map, size_t count) {
    assert(count == 0 || map->ranges);
    for (size_t i = 0; i < count; i++) {
        const struct sweep_range *a = &map->ranges[i];
        const struct sweep_range *b = i + 1 < count ? &map->ranges[i + 1] : NULL;
        bool twins = b && a->begin == b->begin && a->end == b->end;
        map->twins[a->id] = twins ? b->id : UNIT_NONE;
    }
}

enum err line_map_build(struct line_map *map, const struct unit *unit, struct error *error) {
    size_t count = unit->sequence_count;
    map->unit = unit;
    map->segments.count = 0;
    map->segment_hint = 0;
    map->row_hint = 0;
    enum err err = BUDGET_GROW(unit->budget, map->ranges, map->range_capacity, count, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(unit->budget, map->twins, map->twin_capacity, count, error);
    if (err)
        return err;
    for (size_t i = 0; i < count; i++) {
        const struct unit_sequence *sequence = &unit->sequences[i];
        map->ranges[i] = (struct sweep_range){.begin = sequence->begin,
                                              .end = sequence->end,
                                              .key = sequence->end - sequence->begin,
                                              .id = (uint32_t)i};
    }
    err = sweep(unit->budget, map->ranges, count, &map->segments, error);
    if (err == ERR_OK)
        link_twins(map, count);
    return err;
}

void line_map_clear(struct line_map *map) {
    if (!map->unit)
        return;
    struct memory_budget *budget = map->unit->budget;
    sweep_segments_clear(budget, &map->segments);
    BUDGET_FREE(budget, map->ranges, map->range_capacity);
    BUDGET_FREE(budget, map->twins, map->twin_capacity);
}

/* The last row at or before pc, which is not before the sequence's first. */
static uint32_t find_row(const struct line_map *map, const struct unit_sequence *sequence,
                         uint64_t pc) {
    const struct shard_row *rows = map->unit->rows;
    uint32_t low = sequence->row_first;
    uint32_t high = low + sequence->row_count;
    uint32_t hint = map->row_hint;
    if (hint >= low && hint < high && rows[hint].address <= pc) {
        low = hint;
        for (int i = 0; i < 4 && low + 1 < high && rows[low + 1].address <= pc; i++)
            low++;
        if (low + 1 == high || rows[low + 1].address > pc)
            return low;
    }
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (rows[middle].address <= pc)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool fits(const struct line_map *map, uint32_t id, const struct line_context *context) {
    const struct unit_sequence *sequence = &map->unit->sequences[id];
    uint64_t pc = context->entry_pc;
    if (pc < sequence->begin || pc >= sequence->end)
        pc = sequence->begin;
    const struct index_place *place = &map->unit->rows[find_row(map, sequence, pc)].place;
    return place->file == context->decl_file && place->line >= context->decl_line;
}

static uint32_t choose_twin(const struct line_map *map, uint32_t id,
                            const struct line_context *context) {
    if (map->twins[id] == UNIT_NONE || context->decl_file == 0)
        return id;
    uint32_t twin = id;
    for (int tried = 0; tried < TWINS_TRIED_MAX && twin != UNIT_NONE; tried++) {
        if (fits(map, twin, context))
            return twin;
        twin = map->twins[twin];
    }
    return id;
}

static size_t find_segment(struct line_map *map, uint64_t pc) {
    const struct sweep_segments *segments = &map->segments;
    size_t at = map->segment_hint;
    bool near = at < segments->count && segments->list[at].begin <= pc;
    if (near && segments->list[at].end > pc)
        return at;
    if (near && at + 1 < segments->count && segments->list[at + 1].end > pc)
        at++;
    else
        at = sweep_segments_find(segments, pc);
    map->segment_hint = at;
    return at;
}

struct line_answer line_map_at(struct line_map *map, uint64_t pc,
                               const struct line_context *context) {
    size_t at = find_segment(map, pc);
    if (at == map->segments.count)
        return (struct line_answer){.end = UINT64_MAX};
    const struct sweep_segment *segment = &map->segments.list[at];
    if (segment->begin > pc)
        return (struct line_answer){.end = segment->begin};
    uint32_t id = choose_twin(map, segment->id, context);
    const struct unit_sequence *sequence = &map->unit->sequences[id];
    const struct shard_row *rows = map->unit->rows;
    uint32_t row = find_row(map, sequence, pc);
    uint64_t end = segment->end;
    if (row + 1 < sequence->row_first + sequence->row_count && rows[row + 1].address < end)
        end = rows[row + 1].address;
    map->row_hint = row;
    return (struct line_answer){&rows[row], id, end};
}

bool line_map_fits(struct line_map *map, const struct line_context *context) {
    if (context->decl_file == 0)
        return false;
    struct line_answer answer = line_map_at(map, context->entry_pc, context);
    return answer.row && answer.row->place.file == context->decl_file &&
           answer.row->place.line >= context->decl_line;
}
