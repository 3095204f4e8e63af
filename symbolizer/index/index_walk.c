/* All intervals, one after another. */
#include "symbolizer/index/index.h"
#include "symbolizer/index/index_internal.h"

/* One record: a piece of an interval, or of a hole. */
struct piece {
    struct pc_range range;
    struct index_hit hit;
    bool ends_block;
};

/* A block being walked, and where in it. */
struct block_walk {
    struct format_stretch stretch;
    struct interval_block block;
    uint64_t begin; /* of the block, in units above the stretch's base */
};

/* The begin of the record whose upper bit is at *at, which moves behind it. */
static bool take_begin(const struct interval_block *block, uint32_t record, uint64_t *at,
                       uint64_t *ret_begin) {
    while (*at < block->upper_count && !interval_block_upper(block, *at))
        ++*at;
    if (*at >= block->upper_count || *at < record)
        return false;
    *ret_begin = ((*at - record) << block->low_bits) | interval_block_low(block, record);
    ++*at;
    return true;
}

/* The address of a begin of the block, at most the stretch's end. */
static uint64_t address_of(const struct block_walk *walk, uint64_t begin) {
    uint64_t length = walk->stretch.end - walk->stretch.base;
    uint64_t units = walk->begin + begin;
    return units > length >> walk->stretch.unit_shift
               ? walk->stretch.end
               : walk->stretch.base + (units << walk->stretch.unit_shift);
}

/* The record at *position, which moves on; false when it is damaged. */
static bool take_record(const struct index *index, const struct block_walk *walk,
                        struct index_position *position, struct piece *ret_piece) {
    const struct interval_block *block = &walk->block;
    uint32_t record = position->record++;
    position->run += interval_block_mark(block, record);
    uint64_t begin;
    uint64_t end = (uint64_t)1 << walk->stretch.block_shift;
    uint64_t at = position->upper;
    if (position->run == 0 || !take_begin(block, record, &at, &begin))
        return false;
    position->upper = at;
    if (record + 1 < block->record_count && !take_begin(block, record + 1, &at, &end))
        return false;
    ret_piece->ends_block = record + 1 == block->record_count;
    ret_piece->range = (struct pc_range){address_of(walk, begin), address_of(walk, end)};
    return begin < end && ret_piece->range.begin < ret_piece->range.end &&
           index_record_hit(index, block, record, position->run - 1, &ret_piece->hit);
}

/* Opens the block at the position, or moves to the next that can be opened; false at the end. */
static bool open_block(const struct index *index, struct index_position *position,
                       struct block_walk *walk) {
    for (; position->stretch < index->sections[FORMAT_STRETCHES].count; position->stretch++) {
        walk->stretch = index_stretch(index, position->stretch);
        bool sound = index_stretch_is_sound(index, &walk->stretch);
        if (!sound)
            index_note_damage(index);
        for (; sound && position->block < walk->stretch.block_count; position->block++) {
            enum interval_block_state state =
                index_interval_block(index, (uint64_t)walk->stretch.block_first + position->block,
                                     walk->stretch.block_shift, &walk->block);
            walk->begin = (uint64_t)position->block << walk->stretch.block_shift;
            if (state == INTERVAL_BLOCK_GOOD && position->record < walk->block.record_count)
                return true;
            if (state == INTERVAL_BLOCK_DAMAGED)
                index_note_damage(index);
            position->record = 0;
            position->run = 0;
            position->upper = 0;
        }
        position->block = 0;
    }
    return false;
}

/* The next piece that is sound and no hole. */
static bool next_piece(const struct index *index, struct index_position *position,
                       struct piece *ret_piece) {
    struct block_walk walk;
    while (open_block(index, position, &walk)) {
        while (position->record < walk.block.record_count) {
            if (!take_record(index, &walk, position, ret_piece))
                index_note_damage(index);
            else if (ret_piece->hit.miss != SYMBOL_MISS_NO_RANGE)
                return true;
        }
    }
    return false;
}

/* File and line told in full, so that those of different blocks can be compared. */
static bool resolve(const struct index *index, struct index_chain *chain) {
    struct row_block block;
    struct function_record function;
    uint32_t position = chain->scope - 1;
    if (chain->exact || chain->line == 0)
        return true;
    if (!index_scope_block(index, position / FORMAT_BLOCK_RECORDS, &block) ||
        !index_function(index, scope_block_get(&block, position % FORMAT_BLOCK_RECORDS).function,
                        &function))
        return false;
    chain->file = function.file;
    chain->line = function.line + chain->line - 1;
    return true;
}

static bool same_answer(const struct index *index, const struct index_hit *left,
                        const struct index_hit *right) {
    struct index_chain a = left->chain;
    struct index_chain b = right->chain;
    return left->miss == right->miss && a.scope == b.scope && a.column == b.column &&
           resolve(index, &a) && resolve(index, &b) && a.file == b.file && a.line == b.line;
}

bool index_interval_next(const struct index *index, struct index_position *position,
                         struct pc_range *ret_range, struct index_hit *ret_hit) {
    struct piece piece;
    if (!next_piece(index, position, &piece))
        return false;
    *ret_range = piece.range;
    *ret_hit = piece.hit;
    /* What a block's begin cuts is one interval. */
    for (struct index_position ahead = *position;
         piece.ends_block && next_piece(index, &ahead, &piece) &&
         piece.range.begin == ret_range->end && same_answer(index, &piece.hit, ret_hit);
         *position = ahead)
        ret_range->end = piece.range.end;
    return true;
}
