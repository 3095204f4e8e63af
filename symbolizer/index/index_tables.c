/* What blocks of scopes hold beside their rows, and the exceptions of all blocks. */
#include <assert.h>

#include "symbolizer/index/index_internal.h"

/* --- exceptions --- */

#define WIDTH_BITS 6

bool exception_list_open(const uint8_t *bits, uint64_t at, uint64_t bit_count, uint32_t count,
                         unsigned position_bits, unsigned miss_bits,
                         struct exception_list *ret_list) {
    if (at > bit_count || bit_count - at < 2 * (uint64_t)WIDTH_BITS)
        return false;
    struct exception_list list = {
        .bits = bits,
        .at = at + 2 * (uint64_t)WIDTH_BITS,
        .count = count,
        .position_bits = (uint8_t)position_bits,
        .miss_bits = (uint8_t)miss_bits,
        .file_bits = (uint8_t)bit_field(bits, at, WIDTH_BITS),
        .line_bits = (uint8_t)bit_field(bits, at + WIDTH_BITS, WIDTH_BITS),
    };
    if (list.file_bits > 32 || list.line_bits > 32 || exception_list_end(&list) > bit_count)
        return false;
    *ret_list = list;
    return true;
}

struct exception exception_list_get(const struct exception_list *list, uint32_t number) {
    assert(number < list->count);
    uint64_t at = list->at + (uint64_t)number * (list->position_bits + list->miss_bits +
                                                 (unsigned)list->file_bits + list->line_bits);
    struct exception exception;
    exception.position = (uint32_t)bit_field(list->bits, at, list->position_bits);
    at += list->position_bits;
    exception.miss = (uint32_t)bit_field(list->bits, at, list->miss_bits);
    at += list->miss_bits;
    exception.file = (uint32_t)bit_field(list->bits, at, list->file_bits);
    at += list->file_bits;
    exception.line = (uint32_t)bit_field(list->bits, at, list->line_bits);
    return exception;
}

bool exception_list_find(const struct exception_list *list, uint32_t position,
                         struct exception *ret_exception) {
    uint32_t low = 0;
    uint32_t high = list->count;
    unsigned size = list->position_bits + list->miss_bits + (unsigned)list->file_bits +
                    list->line_bits;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint64_t at = list->at + (uint64_t)middle * size;
        if (bit_field(list->bits, at, list->position_bits) < position)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == list->count)
        return false;
    *ret_exception = exception_list_get(list, low);
    return ret_exception->position == position;
}

/* --- scopes --- */

static unsigned entry_bits(const struct row_block *block) {
    return block->header[offsetof(struct format_scope_block, entry_bits)];
}

uint64_t scope_block_entries_end(const struct row_block *block) {
    uint64_t count = bit_count_portably(scope_block_entry_mask(block));
    uint64_t end = row_block_end(block) + count * entry_bits(block);
    return entry_bits(block) <= 64 && end <= block->bit_count ? end : UINT64_MAX;
}

bool scope_block_entry(const struct row_block *block, uint32_t record, uint64_t *ret_pc) {
    uint64_t before = bit_field_cut(scope_block_entry_mask(block), record);
    uint64_t at = row_block_end(block) + (uint64_t)bit_count_portably(before) * entry_bits(block);
    if (scope_block_entries_end(block) == UINT64_MAX)
        return false;
    *ret_pc = index_load_u64(block->header + offsetof(struct format_scope_block, entry_base)) +
              bit_field_wide(block->bits, at, entry_bits(block));
    return true;
}

bool scope_block_exceptions(const struct row_block *block, struct exception_list *ret_list) {
    uint64_t at = scope_block_entries_end(block);
    uint32_t count = block->header[offsetof(struct format_scope_block, exception_count)];
    if (at == UINT64_MAX)
        return false;
    if (count == 0) {
        *ret_list = (struct exception_list){.bits = block->bits, .at = at};
        return true;
    }
    return exception_list_open(block->bits, at, block->bit_count, count,
                               bit_length(FORMAT_BLOCK_RECORDS - 1), 0, ret_list);
}
