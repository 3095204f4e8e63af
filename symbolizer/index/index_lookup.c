/* From addresses to hits: the stretch, the block by division, the record by its rank. */
#include "symbolizer/index/index.h"
#include "symbolizer/index/index_internal.h"

/* Where the clear bit with `rank` clear bits before it is in `upper`; at most upper_count. */
INLINED uint64_t find_clear(const struct interval_block *block, uint64_t rank,
                            struct bit_ways ways) {
    for (uint64_t at = 0; at < block->upper_count; at += 64) {
        uint64_t clear = ~bit_field_word(block->upper + at / 8);
        unsigned count = ways.count(clear);
        if (rank < count)
            return at + ways.select(clear, (unsigned)rank);
        rank -= count;
    }
    return block->upper_count;
}

/* How many runs begin in records 0 to `record`. */
INLINED uint32_t count_runs(const struct interval_block *block, uint32_t record,
                            struct bit_ways ways) {
    uint32_t runs = 0;
    uint32_t at = 0;
    for (; at + 64 <= record; at += 64)
        runs += ways.count(bit_field_word(block->marks + at / 8));
    uint64_t last = bit_field_word(block->marks + at / 8);
    return runs + ways.count(last << (63 - (record - at)));
}

/* The record that `offset`, in units above the block's begin, lies in; false: damage. */
INLINED bool find_record(const struct interval_block *block, uint64_t offset, struct bit_ways ways,
                         uint32_t *ret_record) {
    uint64_t cell = offset >> block->low_bits;
    uint64_t low = ways.cut(offset, block->low_bits);
    uint64_t at = cell ? find_clear(block, cell - 1, ways) + 1 : 0;
    uint64_t record = at - cell;
    while (at < block->upper_count && record < block->record_count &&
           interval_block_upper(block, at) && interval_block_low(block, (uint32_t)record) <= low) {
        at++;
        record++;
    }
    if (record - 1 >= block->record_count)
        return false;
    *ret_record = (uint32_t)record - 1;
    return true;
}

/* Apart, so that the block need not be in memory for all others. */
static __attribute__((noinline)) bool look_up_exception(const struct index *index,
                                                        const struct format_stretch *stretch,
                                                        uint64_t block_number, uint32_t record,
                                                        struct index_hit *hit) {
    struct interval_block block;
    return index_interval_block(index, stretch->block_first + block_number, stretch->block_shift,
                                &block) == INTERVAL_BLOCK_GOOD &&
           index_exception_hit(&block, record, hit);
}

/* Asks for the cache lines of the block that holds pc. */
INLINED void prefetch_block(const struct index *index, const struct format_stretch *stretch,
                            uint64_t pc) {
    const struct index_section *section = &index->sections[FORMAT_INTERVALS];
    uint64_t units = (pc - stretch->base) >> stretch->unit_shift;
    uint64_t number = stretch->block_first + (units >> stretch->block_shift);
    uint64_t offset = units & (((uint64_t)1 << stretch->block_shift) - 1);
    const uint8_t *offsets = index->sections[FORMAT_INTERVAL_OFFSETS].bytes;
    uint32_t at = index_load_u32(offsets + number * sizeof(uint32_t));
    const uint8_t *block = section->bytes + at - 1;
    __builtin_prefetch(block);
    __builtin_prefetch(block + 64);
    __builtin_prefetch(block + 128 + (offset << 7 >> stretch->block_shift));
}

INLINED struct index_hit look_up(const struct index *index, const struct format_stretch *stretch,
                                 uint64_t pc, struct bit_ways ways) {
    struct index_hit hit = {.miss = SYMBOL_MISS_NO_RANGE};
    uint64_t units = (pc - stretch->base) >> stretch->unit_shift;
    uint64_t block_number = units >> stretch->block_shift;
    uint64_t offset = units & (((uint64_t)1 << stretch->block_shift) - 1);
    struct interval_block block;
    enum interval_block_state state = index_interval_block(
        index, stretch->block_first + block_number, stretch->block_shift, &block);
    uint32_t record;
    if (state == INTERVAL_BLOCK_EMPTY)
        return hit;
    if (state == INTERVAL_BLOCK_DAMAGED || !find_record(&block, offset, ways, &record)) {
        index_note_damage(index);
        return hit;
    }
    uint32_t run = count_runs(&block, record, ways) - 1;
    enum record_state answer = interval_block_answer(index, &block, record, run, ways, &hit);
    if (answer == RECORD_EXCEPTION &&
        !look_up_exception(index, stretch, block_number, record, &hit))
        answer = RECORD_DAMAGED;
    if (answer != RECORD_DAMAGED)
        return hit;
    index_note_damage(index);
    return (struct index_hit){.miss = SYMBOL_MISS_NO_RANGE};
}

/* The stretch that holds pc; false when none does or it is damaged. */
static bool find_stretch(const struct index *index, uint64_t pc,
                         struct format_stretch *ret_stretch) {
    uint64_t low = 0;
    uint64_t high = index->sections[FORMAT_STRETCHES].count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (index_stretch(index, middle).base <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    struct format_stretch stretch = index_stretch(index, low - 1);
    if (pc >= stretch.end)
        return false;
    if (!index_stretch_is_sound(index, &stretch)) {
        index_note_damage(index);
        return false;
    }
    *ret_stretch = stretch;
    return true;
}

/* As many addresses as are looked up while their blocks come to the cache. */
#define GROUP 16

INLINED void look_up_all(const struct index *index, const uint64_t *pcs, size_t count,
                         struct index_hit *ret_hits, struct bit_ways ways) {
    /* Addresses mostly lie in the largest stretch, else in that of the one before. */
    struct format_stretch stretch = index->first;
    for (size_t i = 0; i < count; i++) {
        if (i % GROUP == 0) {
            for (size_t j = i; j < i + GROUP && j < count; j++) {
                if (pcs[j] >= stretch.base && pcs[j] < stretch.end)
                    prefetch_block(index, &stretch, pcs[j]);
            }
        }
        bool found = pcs[i] >= stretch.base && pcs[i] < stretch.end;
        if (!found)
            found = find_stretch(index, pcs[i], &stretch);
        ret_hits[i] = found ? look_up(index, &stretch, pcs[i], ways)
                            : (struct index_hit){.miss = SYMBOL_MISS_NO_RANGE};
        quick_prefetch(index, FORMAT_SCOPES, ret_hits[i].chain.scope - 1);
    }
}

#ifdef BIT_WAYS_FAST
BIT_WAYS_FAST static void look_up_fast(const struct index *index, const uint64_t *pcs, size_t count,
                                       struct index_hit *ret_hits) {
    look_up_all(index, pcs, count, ret_hits, BIT_WAYS_OF_FAST);
}
#endif

void index_lookup(const struct index *index, const uint64_t *pcs, size_t count,
                  struct index_hit *ret_hits) {
#ifdef BIT_WAYS_FAST
    if (index->processor_is_fast) {
        look_up_fast(index, pcs, count, ret_hits);
        return;
    }
#endif
    look_up_all(index, pcs, count, ret_hits, BIT_WAYS_PORTABLE);
}
