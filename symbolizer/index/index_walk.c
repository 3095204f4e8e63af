/* All intervals, one after another. */
#include "symbolizer/index/index.h"
#include "symbolizer/index/index_internal.h"

/* The interval at a position inside the block; false when it is damaged. */
static bool read_interval(const struct index *index, const struct format_block *block,
                          uint32_t position, struct pc_range *ret_range,
                          struct index_hit *ret_hit) {
    uint64_t first = block->interval_first;
    struct format_interval interval = index_interval(index, first + position);
    uint64_t begin = interval.begin;
    uint64_t end = block->end - block->base;
    if (position + 1 < block->interval_count)
        end = index_interval(index, first + position + 1).begin;
    if (begin >= end || end > block->end - block->base)
        return false;
    *ret_range = (struct pc_range){block->base + begin, block->base + end};
    return index_value_hit(index, interval.value, ret_hit);
}

bool index_interval_next(const struct index *index, struct index_position *position,
                         struct pc_range *ret_range, struct index_hit *ret_hit) {
    while (position->block < index->sections[FORMAT_BLOCKS].count) {
        struct format_block block = index_block(index, position->block);
        if (!index_block_is_sound(index, &block)) {
            index_note_damage(index);
            block.interval_count = 0;
        }
        while (position->interval < block.interval_count) {
            if (!read_interval(index, &block, position->interval++, ret_range, ret_hit))
                index_note_damage(index);
            else if (ret_hit->miss != SYMBOL_MISS_NO_RANGE)
                return true;
        }
        position->block++;
        position->interval = 0;
    }
    return false;
}
