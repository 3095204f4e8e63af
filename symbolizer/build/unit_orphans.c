#include <stdlib.h>

#include "symbolizer/build/unit_flatten_internal.h"

static int compare_begin(const void *left, const void *right) {
    const struct sweep_segment *a = left;
    const struct sweep_segment *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void sort_by_address(struct sweep_segments *segments) {
    for (size_t i = 1; i < segments->count; i++) {
        if (segments->list[i - 1].begin > segments->list[i].begin) {
            qsort(segments->list, segments->count, sizeof(*segments->list), compare_begin);
            return;
        }
    }
}

static enum err add_row(struct shard *shard, const struct shard_row *row, struct error *error) {
    enum err err = SHARD_RESERVE(shard, rows, row_count, row_capacity, error);
    if (err == ERR_OK)
        shard->rows[shard->row_count++] = *row;
    return err;
}

/* The rows of [begin, end), throughout which one sequence of the unit answers. */
static enum err add_orphan(struct unit_flattener *flattener, uint64_t begin, uint64_t end,
                           struct error *error) {
    static const struct line_context no_function;
    struct shard *shard = flattener->shard;
    struct shard_orphan orphan = {
        .begin = begin, .end = end, .row_first = (uint32_t)shard->row_count};
    enum err err = SHARD_RESERVE(shard, orphans, orphan_count, orphan_capacity, error);
    for (uint64_t pc = begin; err == ERR_OK && pc < end;) {
        struct line_answer answer = line_map_at(&flattener->lines, pc, &no_function);
        orphan.sequence = flattener->sequence_first + answer.sequence;
        err = add_row(shard, answer.row, error);
        pc = answer.end;
    }
    if (err)
        return err;
    orphan.row_count = (uint32_t)shard->row_count - orphan.row_first;
    shard->orphans[shard->orphan_count++] = orphan;
    return ERR_OK;
}

/* What of the segment lies outside of what is owned; *next is the first owned that may reach into
 * it. */
static enum err add_outside(struct unit_flattener *flattener, const struct sweep_segment *segment,
                            size_t *next, struct error *error) {
    const struct sweep_segments *owned = &flattener->owned;
    uint64_t pc = segment->begin;
    enum err err = ERR_OK;
    while (err == ERR_OK && pc < segment->end) {
        while (*next < owned->count && owned->list[*next].end <= pc)
            (*next)++;
        const struct sweep_segment *owner = *next < owned->count ? &owned->list[*next] : NULL;
        uint64_t end = owner && owner->begin < segment->end ? owner->begin : segment->end;
        if (pc < end)
            err = add_orphan(flattener, pc, end, error);
        pc = owner && owner->begin < segment->end ? owner->end : segment->end;
    }
    return err;
}

enum err unit_add_orphans(struct unit_flattener *flattener, struct error *error) {
    sort_by_address(&flattener->owned);
    const struct sweep_segments *lines = &flattener->lines.segments;
    size_t next = 0;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < lines->count; i++)
        err = add_outside(flattener, &lines->list[i], &next, error);
    return err;
}
