/* What a record of an interval block answers. */
#include "symbolizer/index/index_internal.h"

bool index_stretch_is_sound(const struct index *index, const struct format_stretch *stretch) {
    uint64_t blocks = index->sections[FORMAT_INTERVAL_OFFSETS].count;
    unsigned shift = (unsigned)stretch->block_shift + stretch->unit_shift;
    return stretch->base < stretch->end && shift < 64 && stretch->block_first <= blocks &&
           stretch->block_count <= blocks - stretch->block_first &&
           stretch->block_count == ((stretch->end - stretch->base - 1) >> shift) + 1;
}

uint32_t interval_block_run_count(const struct interval_block *block) {
    uint32_t count = 0;
    uint32_t record = 0;
    for (; record + 64 <= block->record_count; record += 64)
        count += bit_count_portably(bit_field_word(block->marks + record / 8));
    uint64_t rest = bit_field_word(block->marks + record / 8);
    return count + bit_count_portably(bit_field_cut(rest, block->record_count - record));
}

uint64_t interval_block_exceptions(const struct interval_block *block, uint32_t run_count) {
    return block->scopes_at + (uint64_t)run_count * block->scope_bits;
}

static bool find_exception(const struct interval_block *block, uint32_t record,
                           struct exception *ret_exception) {
    struct exception_list list;
    uint64_t at = interval_block_exceptions(block, interval_block_run_count(block));
    return exception_list_open(block->bits, at, block->bit_count, block->exception_count,
                               bit_length(block->record_count - 1), 2, &list) &&
           exception_list_find(&list, record, ret_exception);
}

bool index_exception_hit(const struct interval_block *block, uint32_t record,
                         struct index_hit *hit) {
    struct exception exception;
    bool has_scope = hit->chain.scope != 0;
    if (!find_exception(block, record, &exception) ||
        (exception.miss == SYMBOL_MISS_NO_RANGE && has_scope) ||
        (exception.miss == SYMBOL_MISS_NONE && !has_scope))
        return false;
    hit->miss = (enum symbol_miss)exception.miss;
    hit->chain.exact = true;
    hit->chain.file = exception.file;
    hit->chain.line = exception.line;
    return true;
}

bool index_record_hit(const struct index *index, const struct interval_block *block,
                      uint32_t record, uint32_t run, struct index_hit *ret_hit) {
    struct index_hit hit;
    enum record_state state =
        interval_block_answer(index, block, record, run, BIT_WAYS_PORTABLE, &hit);
    if (state == RECORD_DAMAGED ||
        (state == RECORD_EXCEPTION && !index_exception_hit(block, record, &hit)))
        return false;
    *ret_hit = hit;
    return true;
}
