/* Stretches and the blocks of intervals. */
#include "symbolizer/index/index_verify_internal.h"

struct interval_walk {
    struct verify_blocks blocks;
    uint64_t end;        /* of the last stretch */
    uint64_t block_next; /* position in interval_offsets */
    uint64_t record_count;
};

/* A block whose rows are read one after another. */
struct row_walk {
    const struct interval_block *block;
    struct exception_list exceptions;
    uint32_t exception_next;
    uint32_t run;
    uint64_t upper;
    uint64_t begin;
};

/* The begin of the next record ascends and lies below `limit`. */
static bool next_begin(struct row_walk *walk, uint32_t record, uint64_t limit) {
    const struct interval_block *block = walk->block;
    while (walk->upper < block->upper_count && !interval_block_upper(block, walk->upper))
        walk->upper++;
    if (walk->upper >= block->upper_count || walk->upper < record)
        return false;
    uint64_t begin = ((walk->upper - record) << block->low_bits) |
                     interval_block_low(block, record);
    bool ascends = record == 0 ? begin == 0 : begin > walk->begin;
    walk->upper++;
    walk->begin = begin;
    return ascends && begin < limit;
}

static bool next_exception(const struct index *index, struct row_walk *walk, uint32_t record) {
    if (walk->exception_next == walk->block->exception_count)
        return false;
    struct exception exception = exception_list_get(&walk->exceptions, walk->exception_next++);
    return exception.position == record && exception.file <= index->sections[FORMAT_FILES].count;
}

static bool rows_are_sound(const struct index *index, struct row_walk *walk, uint64_t limit) {
    const struct interval_block *block = walk->block;
    for (uint32_t i = 0; i < block->record_count; i++) {
        struct index_hit hit;
        walk->run += interval_block_mark(block, i);
        if (walk->run == 0 || !next_begin(walk, i, limit) ||
            !index_record_hit(index, block, i, walk->run - 1, &hit))
            return false;
        if (hit.chain.exact && !next_exception(index, walk, i))
            return false;
    }
    for (; walk->upper < block->upper_count; walk->upper++) {
        if (interval_block_upper(block, walk->upper))
            return false;
    }
    return walk->exception_next == block->exception_count;
}

static bool block_is_sound(const struct index *index, const struct interval_block *block,
                           uint64_t limit, struct interval_walk *interval_walk) {
    struct row_walk walk = {.block = block};
    uint64_t end = interval_block_exceptions(block, interval_block_run_count(block));
    if (block->exception_count) {
        if (!exception_list_open(block->bits, end, block->bit_count, block->exception_count,
                                 bit_length(block->record_count - 1), 2, &walk.exceptions))
            return false;
        end = exception_list_end(&walk.exceptions);
    }
    interval_walk->record_count += block->record_count;
    return rows_are_sound(index, &walk, limit) &&
           verify_block_follows(index, &interval_walk->blocks,
                                block->marks - sizeof(struct format_interval_block), block->bits,
                                end);
}

/* How many units of the block lie inside its stretch. */
static uint64_t block_limit(const struct format_stretch *stretch, uint32_t block) {
    uint64_t last = (stretch->end - stretch->base - 1) >> stretch->unit_shift;
    uint64_t begin = (uint64_t)block << stretch->block_shift;
    uint64_t units = (uint64_t)1 << stretch->block_shift;
    return last - begin < units ? last - begin + 1 : units;
}

static bool stretch_is_sound(const struct index *index, const struct format_stretch *stretch,
                             struct interval_walk *walk) {
    static const uint8_t zero[sizeof(stretch->reserved)];
    bool sound = index_stretch_is_sound(index, stretch) && stretch->base >= walk->end &&
                 stretch->block_first == walk->block_next &&
                 memcmp(stretch->reserved, zero, sizeof(zero)) == 0;
    for (uint32_t i = 0; sound && i < stretch->block_count; i++) {
        struct interval_block block;
        enum interval_block_state state =
            index_interval_block(index, walk->block_next + i, stretch->block_shift, &block);
        sound = state == INTERVAL_BLOCK_EMPTY ||
                (state == INTERVAL_BLOCK_GOOD &&
                 block_is_sound(index, &block, block_limit(stretch, i), walk));
    }
    walk->end = stretch->end;
    walk->block_next += stretch->block_count;
    return sound;
}

enum err verify_intervals(const struct index *index, struct error *error) {
    struct interval_walk walk = {.blocks = {.kind = FORMAT_INTERVALS}};
    for (uint64_t i = 0; i < index->sections[FORMAT_STRETCHES].count; i++) {
        struct format_stretch stretch = index_stretch(index, i);
        if (!stretch_is_sound(index, &stretch, &walk))
            return verify_damaged_at(FORMAT_STRETCHES, i, error);
    }
    if (!verify_blocks_fill(index, &walk.blocks) ||
        walk.block_next != index->sections[FORMAT_INTERVAL_OFFSETS].count ||
        walk.record_count != index->sections[FORMAT_INTERVALS].count)
        return verify_damaged(FORMAT_INTERVALS, "they leave bytes or blocks out", error);
    return ERR_OK;
}
