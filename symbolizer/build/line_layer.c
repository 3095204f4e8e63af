#include "symbolizer/build/line_layer.h"

#include <stdlib.h>

/* An orphan, by where it is. Ordered by when its sequence was pushed. */
struct layer_piece {
    uint32_t shard;
    uint32_t sequence;
    uint32_t orphan;
};

static int compare_pieces(const void *left, const void *right) {
    const struct layer_piece *a = left;
    const struct layer_piece *b = right;
    if (a->shard != b->shard)
        return a->shard < b->shard ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return a->orphan < b->orphan ? -1 : a->orphan > b->orphan;
}

static void sort_pieces(struct line_layer *layer) {
    for (size_t i = 1; i < layer->piece_count; i++) {
        if (compare_pieces(&layer->pieces[i - 1], &layer->pieces[i]) > 0) {
            qsort(layer->pieces, layer->piece_count, sizeof(*layer->pieces), compare_pieces);
            return;
        }
    }
}

static enum err add_pieces(struct line_layer *layer, uint32_t number, struct error *error) {
    const struct shard *shard = &layer->collection->shards[number];
    enum err err = BUDGET_GROW(&layer->collection->budget, layer->pieces, layer->piece_capacity,
                               layer->piece_count + shard->orphan_count, error);
    if (err)
        return err;
    for (size_t i = 0; i < shard->orphan_count; i++)
        layer->pieces[layer->piece_count++] =
            (struct layer_piece){number, shard->orphans[i].sequence, (uint32_t)i};
    return ERR_OK;
}

static const struct shard_orphan *orphan_of(const struct line_layer *layer, size_t position) {
    const struct layer_piece *piece = &layer->pieces[position];
    return &layer->collection->shards[piece->shard].orphans[piece->orphan];
}

static enum err sweep_pieces(struct line_layer *layer, struct error *error) {
    struct memory_budget *budget = &layer->collection->budget;
    struct sweep_range *ranges = NULL;
    size_t capacity = 0;
    enum err err = BUDGET_GROW(budget, ranges, capacity, layer->piece_count, error);
    for (size_t i = 0; err == ERR_OK && i < layer->piece_count; i++) {
        const struct layer_piece *piece = &layer->pieces[i];
        const struct shard *shard = &layer->collection->shards[piece->shard];
        const struct pc_range *sequence = &shard->sequences[piece->sequence - 1];
        const struct shard_orphan *orphan = &shard->orphans[piece->orphan];
        ranges[i] = (struct sweep_range){.begin = orphan->begin,
                                         .end = orphan->end,
                                         .key = sequence->end - sequence->begin,
                                         .id = (uint32_t)i};
    }
    if (err == ERR_OK)
        err = sweep(budget, ranges, layer->piece_count, &layer->segments, error);
    BUDGET_FREE(budget, ranges, capacity);
    return err;
}

enum err line_layer_build(struct line_layer *layer, struct collection *collection,
                          struct error *error) {
    layer->collection = collection;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < collection->shard_count; i++)
        err = add_pieces(layer, (uint32_t)i, error);
    if (err)
        return err;
    sort_pieces(layer);
    return sweep_pieces(layer, error);
}

void line_layer_clear(struct line_layer *layer) {
    if (!layer->collection)
        return;
    struct memory_budget *budget = &layer->collection->budget;
    BUDGET_FREE(budget, layer->pieces, layer->piece_capacity);
    sweep_segments_clear(budget, &layer->segments);
}

static size_t find_segment(struct line_layer *layer, uint64_t pc) {
    const struct sweep_segments *segments = &layer->segments;
    size_t at = layer->hint;
    bool after = at == 0 || segments->list[at - 1].end <= pc;
    for (int tried = 0; after && tried < 4 && at < segments->count; tried++, at++) {
        if (segments->list[at].end > pc) {
            layer->hint = at;
            return at;
        }
    }
    layer->hint = sweep_segments_find(segments, pc);
    return layer->hint;
}

struct layer_answer line_layer_at(struct line_layer *layer, uint64_t pc) {
    size_t at = find_segment(layer, pc);
    if (at == layer->segments.count)
        return (struct layer_answer){NULL, UINT64_MAX};
    const struct sweep_segment *segment = &layer->segments.list[at];
    if (segment->begin > pc)
        return (struct layer_answer){NULL, segment->begin};
    const struct shard_orphan *orphan = orphan_of(layer, segment->id);
    const struct shard_row *rows = layer->collection->shards[layer->pieces[segment->id].shard].rows;
    size_t low = orphan->row_first;
    size_t high = low + orphan->row_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].address <= pc)
            low = middle;
        else
            high = middle;
    }
    uint64_t end = segment->end;
    if (low + 1 < (size_t)orphan->row_first + orphan->row_count && rows[low + 1].address < end)
        end = rows[low + 1].address;
    return (struct layer_answer){&rows[low].place, end};
}
