/* From addresses to hits: the stretch, the block by division, the record by its rank. */
#include "symbolizer/index/index.h"
#include "symbolizer/index/index_internal.h"

/* How set bits are counted and found: by instructions where the processor has them. */
struct bit_counting {
    unsigned (*count)(uint64_t word);
    unsigned (*select)(uint64_t word, unsigned rank);
};

/* Each pair of functions is inlined into its own copy of the search. */
#define INLINED static inline __attribute__((always_inline))

/* "Hacker's Delight", section 5-1: sums of neighbours, then of bytes. */
INLINED uint64_t byte_counts(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    return (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
}

INLINED unsigned count_portably(uint64_t word) {
    return (unsigned)(byte_counts(word) * 0x0101010101010101 >> 56);
}

/* The position of the set bit that has `rank` set bits below it; the word has more than that. */
INLINED unsigned select_portably(uint64_t word, unsigned rank) {
    uint64_t sums = byte_counts(word) * 0x0101010101010101;
    unsigned at = 0;
    while ((sums >> at & 0xff) <= rank)
        at += 8;
    rank -= at ? (unsigned)(sums >> (at - 8) & 0xff) : 0;
    for (uint64_t rest = word >> at;; rest >>= 1, at++) {
        if ((rest & 1) && rank-- == 0)
            return at;
    }
}

/* Where the clear bit with `rank` clear bits before it is in `upper`; at most upper_count. */
INLINED uint64_t find_clear(const struct interval_block *block, uint64_t rank,
                            struct bit_counting counting) {
    for (uint64_t at = 0; at < block->upper_count; at += 64) {
        uint64_t clear = ~bit_field_word(block->upper + at / 8);
        unsigned count = counting.count(clear);
        if (rank < count)
            return at + counting.select(clear, (unsigned)rank);
        rank -= count;
    }
    return block->upper_count;
}

/* How many runs begin in records 0 to `record`. */
INLINED uint32_t count_runs(const struct interval_block *block, uint32_t record,
                            struct bit_counting counting) {
    uint32_t runs = 0;
    uint32_t at = 0;
    for (; at + 64 <= record; at += 64)
        runs += counting.count(bit_field_word(block->marks + at / 8));
    uint64_t last = bit_field_word(block->marks + at / 8);
    return runs + counting.count(last << (63 - (record - at)));
}

/* The record that `offset`, in units above the block's begin, lies in; false: damage. */
INLINED bool find_record(const struct interval_block *block, uint64_t offset,
                         struct bit_counting counting, uint32_t *ret_record) {
    uint64_t cell = offset >> block->low_bits;
    uint64_t low = offset & (((uint64_t)1 << block->low_bits) - 1);
    uint64_t at = cell ? find_clear(block, cell - 1, counting) + 1 : 0;
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

INLINED struct index_hit look_up(const struct index *index, const struct format_stretch *stretch,
                                 uint64_t pc, struct bit_counting counting) {
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
    if (state == INTERVAL_BLOCK_DAMAGED || !find_record(&block, offset, counting, &record) ||
        !index_record_hit(index, &block, record, count_runs(&block, record, counting) - 1, &hit))
        index_note_damage(index);
    return hit;
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

INLINED void look_up_all(const struct index *index, const uint64_t *pcs, size_t count,
                         struct index_hit *ret_hits, struct bit_counting counting) {
    /* The addresses of a batch mostly lie in one stretch. */
    struct format_stretch stretch = {.base = 0, .end = 0};
    for (size_t i = 0; i < count; i++) {
        bool found = pcs[i] >= stretch.base && pcs[i] < stretch.end;
        if (!found)
            found = find_stretch(index, pcs[i], &stretch);
        ret_hits[i] = found ? look_up(index, &stretch, pcs[i], counting)
                            : (struct index_hit){.miss = SYMBOL_MISS_NO_RANGE};
    }
}

#ifdef __x86_64__
#define FAST __attribute__((target("popcnt,bmi,bmi2")))

FAST INLINED unsigned count_fast(uint64_t word) {
    return (unsigned)__builtin_popcountll(word);
}

FAST INLINED unsigned select_fast(uint64_t word, unsigned rank) {
    return (unsigned)__builtin_ctzll(__builtin_ia32_pdep_di((uint64_t)1 << rank, word));
}

FAST static void look_up_fast(const struct index *index, const uint64_t *pcs, size_t count,
                              struct index_hit *ret_hits) {
    look_up_all(index, pcs, count, ret_hits, (struct bit_counting){count_fast, select_fast});
}
#endif

void index_lookup(const struct index *index, const uint64_t *pcs, size_t count,
                  struct index_hit *ret_hits) {
#ifdef __x86_64__
    if (index->popcount_is_fast) {
        look_up_fast(index, pcs, count, ret_hits);
        return;
    }
#endif
    look_up_all(index, pcs, count, ret_hits,
                (struct bit_counting){count_portably, select_portably});
}
