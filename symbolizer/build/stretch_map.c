#include "symbolizer/build/stretch_map.h"

#include <stdlib.h>
#include <string.h>

struct mapping {
    struct collection *collection;
    struct stretch_map *map;
    struct sweep_range *ranges;
    size_t range_count, range_capacity;
    uint32_t *twins; /* ids by range */
    size_t twin_capacity;
};

static void cleanup_mapping(struct mapping *mapping) {
    BUDGET_FREE(mapping->map->budget, mapping->ranges, mapping->range_capacity);
    BUDGET_FREE(mapping->map->budget, mapping->twins, mapping->twin_capacity);
}

static const struct shard_stretch *stretch_of(const struct mapping *mapping, uint32_t id) {
    const struct stretch_place *place = &mapping->map->places[id];
    return &mapping->collection->shards[place->shard].stretches[place->position];
}

static enum err take_stretches(struct mapping *mapping, struct error *error) {
    struct stretch_map *map = mapping->map;
    size_t count = 0;
    for (size_t i = 0; i < mapping->collection->shard_count; i++)
        count += mapping->collection->shards[i].stretch_count;
    if (count > SHARD_RECORDS_MAX)
        return error_set(error, ERR_LIMIT, "%zu ranges of functions are too many", count);
    enum err err = BUDGET_GROW(map->budget, map->places, map->place_capacity, count, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(map->budget, mapping->ranges, mapping->range_capacity, count, error);
    for (size_t i = 0; err == ERR_OK && i < mapping->collection->shard_count; i++) {
        const struct shard *shard = &mapping->collection->shards[i];
        for (size_t j = 0; j < shard->stretch_count; j++) {
            const struct shard_stretch *stretch = &shard->stretches[j];
            mapping->ranges[map->place_count] =
                (struct sweep_range){.begin = stretch->begin,
                                     .end = stretch->end,
                                     .key = stretch->range.end - stretch->range.begin,
                                     .id = (uint32_t)map->place_count};
            map->places[map->place_count++] = (struct stretch_place){(uint32_t)i, (uint32_t)j};
        }
    }
    mapping->range_count = count;
    return err;
}

static bool any_overlap(const struct mapping *mapping) {
    uint64_t end = 0;
    for (size_t i = 0; i < mapping->range_count; i++) {
        if (mapping->ranges[i].begin < end)
            return true;
        end = mapping->ranges[i].end;
    }
    return false;
}

/* --- functions of the same range --- */

static bool same_range(const struct shard_stretch *a, const struct shard_stretch *b) {
    return a->range.begin == b->range.begin && a->range.end == b->range.end;
}

static int compare_twins(const void *left, const void *right, void *context) {
    const struct mapping *mapping = context;
    uint32_t a_id = *(const uint32_t *)left;
    uint32_t b_id = *(const uint32_t *)right;
    const struct shard_stretch *a = stretch_of(mapping, a_id);
    const struct shard_stretch *b = stretch_of(mapping, b_id);
    if (a->range.begin != b->range.begin)
        return a->range.begin < b->range.begin ? -1 : 1;
    if (a->range.end != b->range.end)
        return a->range.end < b->range.end ? -1 : 1;
    if (a->fits != b->fits)
        return a->fits ? -1 : 1;
    return a_id < b_id ? -1 : a_id > b_id;
}

static bool same_function(const struct mapping *mapping, uint32_t a, uint32_t b) {
    return mapping->map->places[a].shard == mapping->map->places[b].shard &&
           stretch_of(mapping, a)->function == stretch_of(mapping, b)->function;
}

/* Marks the losers by an empty range; a unit has left out its own already. */
static enum err drop_twins(struct mapping *mapping, struct error *error) {
    size_t count = mapping->range_count;
    enum err err =
        BUDGET_GROW(mapping->map->budget, mapping->twins, mapping->twin_capacity, count, error);
    if (err)
        return err;
    uint32_t *twins = mapping->twins;
    uint8_t *dropped = calloc(count, 1);
    if (!dropped)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu ranges of functions", count);
    for (size_t i = 0; i < count; i++)
        twins[i] = (uint32_t)i;
    qsort_r(twins, count, sizeof(*twins), compare_twins, mapping);
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        if (!same_range(stretch_of(mapping, twins[best]), stretch_of(mapping, twins[i])))
            best = i;
        dropped[twins[i]] = !same_function(mapping, twins[best], twins[i]);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!dropped[mapping->ranges[i].id])
            mapping->ranges[kept++] = mapping->ranges[i];
    mapping->range_count = kept;
    free(dropped);
    return ERR_OK;
}

/* --- the rows of what lost --- */

/* [begin, end) of the stretch, whose rows are left to whoever needs them. */
static enum err orphan_rows(struct shard *shard, const struct shard_stretch *stretch,
                            uint64_t begin, uint64_t end, struct error *error) {
    enum err err = SHARD_RESERVE(shard, orphans, orphan_count, orphan_capacity, error);
    size_t first = shard->row_count;
    const struct shard_interval *intervals = &shard->intervals[stretch->interval_first];
    for (uint32_t i = shard_interval_at(shard, stretch, begin);
         err == ERR_OK && i < stretch->interval_count && intervals[i].begin < end; i++) {
        err = SHARD_RESERVE(shard, rows, row_count, row_capacity, error);
        if (err == ERR_OK)
            shard->rows[shard->row_count++] =
                (struct shard_row){intervals[i].begin, intervals[i].row};
    }
    if (err)
        return err;
    shard->orphans[shard->orphan_count++] = (struct shard_orphan){
        .begin = begin,
        .end = end,
        .sequence = stretch->sequence,
        .row_first = (uint32_t)first,
        .row_count = (uint32_t)(shard->row_count - first),
    };
    return ERR_OK;
}

static int compare_by_id(const void *left, const void *right) {
    const struct sweep_segment *a = left;
    const struct sweep_segment *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* What of the stretch is not among its segments, which ascend. */
static enum err orphan_lost(struct mapping *mapping, uint32_t id,
                            const struct sweep_segment *segments, size_t count,
                            struct error *error) {
    struct shard *shard = &mapping->collection->shards[mapping->map->places[id].shard];
    const struct shard_stretch *stretch = stretch_of(mapping, id);
    uint64_t pc = stretch->begin;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i <= count && stretch->sequence; i++) {
        uint64_t end = i < count ? segments[i].begin : stretch->end;
        if (pc < end)
            err = orphan_rows(shard, stretch, pc, end, error);
        pc = i < count ? segments[i].end : end;
    }
    return err;
}

static enum err orphan_losers(struct mapping *mapping, struct error *error) {
    struct stretch_map *map = mapping->map;
    struct sweep_segment *sorted = NULL;
    size_t capacity = 0;
    size_t count = map->segments.count;
    enum err err = BUDGET_GROW(map->budget, sorted, capacity, count, error);
    if (err)
        return err;
    if (count > 0) {
        memcpy(sorted, map->segments.list, count * sizeof(*sorted));
        qsort(sorted, count, sizeof(*sorted), compare_by_id);
    }
    size_t next = 0;
    for (uint32_t id = 0; err == ERR_OK && id < map->place_count; id++) {
        size_t first = next;
        while (next < count && sorted[next].id == id)
            next++;
        err = orphan_lost(mapping, id, &sorted[first], next - first, error);
    }
    BUDGET_FREE(map->budget, sorted, capacity);
    return err;
}

enum err stretch_map_build(struct stretch_map *map, struct collection *collection,
                           struct error *error) {
    map->budget = &collection->budget;
    CLEANUP(cleanup_mapping) struct mapping mapping = {.collection = collection, .map = map};
    enum err err = take_stretches(&mapping, error);
    if (err == ERR_OK)
        err = sweep_sort(map->budget, mapping.ranges, mapping.range_count, error);
    bool overlap = err == ERR_OK && any_overlap(&mapping);
    if (overlap)
        err = drop_twins(&mapping, error);
    if (err == ERR_OK)
        err = sweep(map->budget, mapping.ranges, mapping.range_count, &map->segments, error);
    if (err == ERR_OK && overlap)
        err = orphan_losers(&mapping, error);
    return err;
}

void stretch_map_clear(struct stretch_map *map) {
    if (!map->budget)
        return;
    BUDGET_FREE(map->budget, map->places, map->place_capacity);
    sweep_segments_clear(map->budget, &map->segments);
}
