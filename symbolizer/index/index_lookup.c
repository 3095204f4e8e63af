/* From addresses to hits: the block, its bucket, then a binary search over a few intervals. */
#include "symbolizer/index/index.h"
#include "symbolizer/index/index_internal.h"

bool index_block_is_sound(const struct index *index, const struct format_block *block) {
    uint64_t intervals = index->sections[FORMAT_INTERVALS].count;
    uint64_t buckets = index->sections[FORMAT_BUCKETS].count;
    return block->base < block->end && block->interval_count > 0 && block->bucket_shift < 32 &&
           block->bucket_count != 1 && block->interval_first < intervals &&
           block->interval_count <= intervals - block->interval_first &&
           block->bucket_first <= buckets && block->bucket_count <= buckets - block->bucket_first;
}

/* The block that holds pc; false when none does or it is damaged. */
static bool find_block(const struct index *index, uint64_t pc, struct format_block *ret_block) {
    uint64_t low = 0;
    uint64_t high = index->sections[FORMAT_BLOCKS].count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (index_block(index, middle).base <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    struct format_block block = index_block(index, low - 1);
    if (pc >= block.end)
        return false;
    if (!index_block_is_sound(index, &block)) {
        index_note_damage(index);
        return false;
    }
    *ret_block = block;
    return true;
}

/*
 * The bounds, within the block, between which the first interval with a begin above `offset` lies:
 * it is at least *ret_low and at most *ret_high.
 */
static bool bucket_bounds(const struct index *index, const struct format_block *block,
                          uint32_t offset, uint32_t *ret_low, uint32_t *ret_high) {
    *ret_low = 0;
    *ret_high = block->interval_count;
    if (block->bucket_count == 0)
        return true;
    uint32_t bucket = offset >> block->bucket_shift;
    if (bucket > block->bucket_count - 2)
        bucket = block->bucket_count - 2;
    *ret_low = index_bucket(index, (uint64_t)block->bucket_first + bucket);
    *ret_high = index_bucket(index, (uint64_t)block->bucket_first + bucket + 1);
    return *ret_low <= *ret_high && *ret_high <= block->interval_count;
}

static bool find_value(const struct index *index, const struct format_block *block, uint64_t pc,
                       uint32_t *ret_value) {
    uint64_t distance = pc - block->base;
    /* Begins are 32 bits; only the last interval of a block reaches further than that. */
    uint32_t offset = distance > UINT32_MAX ? UINT32_MAX : (uint32_t)distance;
    uint32_t low;
    uint32_t high;
    if (!bucket_bounds(index, block, offset, &low, &high))
        return false;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (index_interval(index, (uint64_t)block->interval_first + middle).begin <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    struct format_interval found = index_interval(index, (uint64_t)block->interval_first + low - 1);
    *ret_value = found.value;
    return found.begin <= offset;
}

static enum symbol_miss value_miss(uint32_t value) {
    switch (value & FORMAT_VALUE_MISS_MASK) {
    case FORMAT_VALUE_HOLE:
        return SYMBOL_MISS_NO_RANGE;
    case FORMAT_VALUE_NO_LINE:
        return SYMBOL_MISS_NO_LINE;
    case FORMAT_VALUE_NO_INLINE:
        return SYMBOL_MISS_INLINE_UNAVAILABLE;
    default:
        return SYMBOL_MISS_NONE;
    }
}

bool index_value_hit(const struct index *index, uint32_t value, struct index_hit *ret_hit) {
    struct index_hit hit = {.chain.scope = value & FORMAT_LOCATION_MAX, .miss = value_miss(value)};
    if (hit.chain.scope > index->sections[FORMAT_LOCATIONS].count ||
        (hit.miss == SYMBOL_MISS_NONE && hit.chain.scope == 0) ||
        (hit.miss == SYMBOL_MISS_NO_RANGE && hit.chain.scope != 0))
        return false;
    *ret_hit = hit;
    return true;
}

static struct index_hit look_up(const struct index *index, const struct format_block *block,
                                uint64_t pc) {
    uint32_t value = 0;
    struct index_hit hit = {.miss = SYMBOL_MISS_NO_RANGE};
    if (!find_value(index, block, pc, &value) || !index_value_hit(index, value, &hit))
        index_note_damage(index);
    return hit;
}

void index_lookup(const struct index *index, const uint64_t *pcs, size_t count,
                  struct index_hit *ret_hits) {
    /* The addresses of a batch mostly lie in one block. */
    struct format_block block = {.base = 0, .end = 0};
    for (size_t i = 0; i < count; i++) {
        bool found = pcs[i] >= block.base && pcs[i] < block.end;
        if (!found)
            found = find_block(index, pcs[i], &block);
        ret_hits[i] = found ? look_up(index, &block, pcs[i])
                            : (struct index_hit){.miss = SYMBOL_MISS_NO_RANGE};
    }
}
