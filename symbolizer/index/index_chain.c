/*
 * From a scope and a place in it to frames. There is a short way that takes what is ordinary, and a
 * long one that checks all, counts damage and takes what the short one leaves.
 */
#include "symbolizer/index/index.h"
#include "symbolizer/index/index_internal.h"

_Static_assert(INDEX_PATH_ROOM >= FORMAT_JOINED_PATH_MAX, "any path that is joined fits");

/* Which file and line the chain stands at, in this function. */
INLINED void fill_places(const struct index_chain *chain, const struct function_record *function,
                         struct index_frame *frame) {
    bool relative = !chain->exact && chain->line != 0;
    uint32_t attributes = function->attributes;
    frame->file = relative ? function->file : chain->file;
    frame->line = relative ? function->line + chain->line - 1 : chain->line;
    frame->start_file = attributes & FORMAT_ATTRIBUTE_NO_START_FILE ? 0 : function->file;
    frame->start_line = attributes & FORMAT_ATTRIBUTE_NO_START_LINE ? 0 : function->line;
}

static void fill_frame(const struct index *index, const struct index_chain *chain,
                       struct index_frame *frame) {
    struct function_record function;
    if (!index_function(index, frame->function, &function)) {
        index_note_damage(index);
        return;
    }
    frame->name = function.name;
    frame->flags = function.attributes >> FORMAT_ATTRIBUTE_FLAGS_SHIFT;
    uint32_t origin = index_attributes_origin(function.attributes);
    if (origin <= SYMBOL_ORIGIN_DYNSYM)
        frame->origin = (enum symbol_origin)origin;
    else
        index_note_damage(index);
    fill_places(chain, &function, frame);
}

/* Rare, and apart so that what others need stays small. */
static __attribute__((noinline)) bool call_exception(const struct index *index, uint32_t position,
                                                     struct index_chain *chain) {
    struct row_block block;
    struct exception_list list;
    struct exception exception;
    if (!index_scope_block(index, position / FORMAT_BLOCK_RECORDS, &block) ||
        !scope_block_exceptions(&block, &list) ||
        !exception_list_find(&list, position % FORMAT_BLOCK_RECORDS, &exception))
        return false;
    chain->exact = true;
    chain->file = exception.file;
    chain->line = exception.line;
    return true;
}

/* The long way. */
static bool next_frame(const struct index *index, struct index_chain *chain,
                       struct index_frame *ret_frame) {
    struct row_block block;
    uint32_t number = chain->scope;
    uint32_t position = number - 1;
    chain->scope = 0;
    if (position >= index->sections[FORMAT_SCOPES].count ||
        !index_scope_block(index, position / FORMAT_BLOCK_RECORDS, &block)) {
        index_note_damage(index);
        return false;
    }
    uint32_t record = position % FORMAT_BLOCK_RECORDS;
    struct scope_record scope = scope_block_get(&block, record);
    *ret_frame = (struct index_frame){.function = scope.function, .column = chain->column};
    fill_frame(index, chain, ret_frame);
    if (scope_block_entry_mask(&block) >> record & 1) {
        ret_frame->has_entry_pc = scope_block_entry(&block, record, &ret_frame->entry_pc);
        if (!ret_frame->has_entry_pc)
            index_note_damage(index);
    }
    chain->depth++;
    if (scope.parent == 0)
        return true;
    /* The place of the call in the parent. */
    chain->file = 0;
    chain->line = scope.line_code;
    chain->column = scope.column;
    chain->exact = false;
    if (scope.parent >= number || chain->depth >= FRAME_COUNT_MAX ||
        (scope_row_is_exception(&block, &scope) && !call_exception(index, position, chain)))
        index_note_damage(index);
    else
        chain->scope = number - scope.parent;
    return true;
}

/* --- the short way --- */

/* As many frames as are walked before their functions are looked at. */
#define QUICK_FRAMES 16

/* The entry pc of a scope that has one. */
INLINED bool quick_entry(const struct index *index, const struct quick_row *row, uint32_t position,
                         uint64_t mask, struct bit_ways ways, uint64_t *ret_pc) {
    unsigned width = row->header[offsetof(struct format_scope_block, entry_bits)];
    uint32_t records =
        index_block_records(index->sections[FORMAT_SCOPES].count, position / FORMAT_BLOCK_RECORDS);
    uint32_t before = ways.count(ways.cut(mask, position % FORMAT_BLOCK_RECORDS));
    uint32_t at = records * row->size + before * width;
    if (width > 57 || (at + width) / 8 > row->left)
        return false;
    *ret_pc = index_load_u64(row->header + offsetof(struct format_scope_block, entry_base)) +
              ways.cut(bit_field_shifted(row->bits, at), width);
    return true;
}

/* All of the frame but what its function tells; the chain moves on. */
INLINED bool quick_scope(const struct index *index, struct index_chain *chain, struct bit_ways ways,
                         struct index_frame *ret_frame) {
    struct quick_row row;
    uint32_t number = chain->scope;
    if (!quick_row(index, FORMAT_SCOPES, number - 1, sizeof(struct format_scope_block),
                   offsetof(struct format_scope_block, function_bits), UINT32_MAX, &row))
        return false;
    uint64_t mask = index_load_u64(row.header);
    bool has_entry = mask >> ((number - 1) % FORMAT_BLOCK_RECORDS) & 1;
    uint64_t entry_pc = 0;
    if (has_entry && !quick_entry(index, &row, number - 1, mask, ways, &entry_pc))
        return false;
    uint32_t function =
        index_load_u32(row.header + offsetof(struct format_scope_block, function_base)) +
        quick_take(&row, ways);
    uint32_t parent = quick_take(&row, ways);
    unsigned line_bits = row.widths & 0xff;
    uint32_t line_code = quick_take(&row, ways);
    uint32_t column = quick_take(&row, ways);
    if (parent >= number || chain->depth + 1 >= FRAME_COUNT_MAX)
        return false;
    quick_prefetch(index, FORMAT_FUNCTIONS, function - 1);
    ret_frame->entry_pc = entry_pc;
    ret_frame->function = function;
    ret_frame->file = chain->file;
    ret_frame->line = chain->line;
    ret_frame->column = chain->column;
    ret_frame->flags = chain->exact; /* until quick_function has used it */
    ret_frame->has_entry_pc = has_entry;
    chain->scope = parent ? number - parent : 0;
    chain->file = 0;
    chain->line = line_code;
    chain->column = column;
    chain->depth++;
    chain->exact = false;
    if (parent != 0 && __builtin_expect(line_code_is_exception(line_code, line_bits), 0) &&
        !call_exception(index, number - 1, chain)) {
        chain->scope = 0;
        index_note_damage(index);
    }
    return true;
}

INLINED bool quick_function(const struct index *index, struct bit_ways ways,
                            struct index_frame *frame) {
    struct quick_row row;
    uint32_t position = frame->function - 1;
    if (!quick_row(index, FORMAT_FUNCTIONS, position, sizeof(struct format_function_block),
                   offsetof(struct format_function_block, end_bits), UINT32_MAX, &row))
        return false;
    uint64_t begin = 0;
    if (position % FORMAT_BLOCK_RECORDS != 0)
        begin = ways.cut(bit_field_shifted(row.bits, row.at - row.size), row.widths & 0xff);
    uint64_t end = ways.cut(row.row, row.widths & 0xff);
    quick_take(&row, ways);
    uint32_t file = index_load_u32(row.header + offsetof(struct format_function_block, file_base)) +
                    quick_take(&row, ways);
    uint32_t line = quick_take(&row, ways);
    uint32_t attributes =
        index_load_u32(row.header + offsetof(struct format_function_block, attribute_base)) +
        quick_take(&row, ways);
    uint32_t origin = index_attributes_origin(attributes);
    if (!index_section_span(index, FORMAT_NAME_BYTES, index_load_u64(row.header), begin, end,
                            &frame->name) ||
        origin > SYMBOL_ORIGIN_DYNSYM)
        return false;
    __builtin_prefetch(frame->name.data);
    bool exact = frame->flags;
    frame->start_file = attributes & FORMAT_ATTRIBUTE_NO_START_FILE ? 0 : file;
    frame->start_line = attributes & FORMAT_ATTRIBUTE_NO_START_LINE ? 0 : line;
    frame->flags = attributes >> FORMAT_ATTRIBUTE_FLAGS_SHIFT;
    frame->origin = (enum symbol_origin)origin;
    if (!exact && frame->line != 0) {
        frame->file = file;
        frame->line += line - 1;
    }
    return true;
}

/* Up to QUICK_FRAMES frames: first all scopes, while the functions are on their way to the cache.
 * 0 when one is out of the ordinary; the chain then stands where it stood. */
INLINED size_t quick_frames(const struct index *index, struct index_chain *chain, size_t max,
                            struct bit_ways ways, struct index_frame *frames) {
    const struct index_chain start = *chain;
    size_t scopes = 0;
    do {
        if (!quick_scope(index, chain, ways, &frames[scopes]))
            break;
        scopes++;
    } while (chain->scope != 0 && scopes < max && scopes < QUICK_FRAMES);
    for (size_t i = 0; i < scopes; i++) {
        if (!quick_function(index, ways, &frames[i])) {
            *chain = start;
            return 0;
        }
    }
    return scopes;
}

INLINED size_t all_frames(const struct index *index, struct index_chain *chain, size_t max,
                          struct bit_ways ways, struct index_frame *frames) {
    size_t count = 0;
    while (chain->scope != 0 && count < max) {
        size_t got = quick_frames(index, chain, max - count, ways, frames + count);
        if (got == 0) {
            got = next_frame(index, chain, frames + count);
            if (got == 0)
                break;
        }
        count += got;
    }
    return count;
}

#ifdef BIT_WAYS_FAST
BIT_WAYS_FAST static size_t all_frames_fast(const struct index *index, struct index_chain *chain,
                                            size_t max, struct index_frame *frames) {
    return all_frames(index, chain, max, BIT_WAYS_OF_FAST, frames);
}
#endif

size_t index_frames(const struct index *index, struct index_chain *chain, size_t max,
                    struct index_frame *ret_frames) {
#ifdef BIT_WAYS_FAST
    if (index->processor_is_fast)
        return all_frames_fast(index, chain, max, ret_frames);
#endif
    return all_frames(index, chain, max, BIT_WAYS_PORTABLE, ret_frames);
}

/* --- paths --- */

INLINED bool quick_path(const struct index *index, uint32_t file, struct bit_ways ways, char *room,
                        struct span *ret_path) {
    struct quick_row row;
    struct file_parts parts;
    uint32_t position = file - 1;
    if (!quick_row(index, FORMAT_FILES, position, sizeof(struct format_file_block),
                   offsetof(struct format_file_block, end_bits), 0xffff, &row))
        return false;
    uint64_t begin = 0;
    if (position % FORMAT_BLOCK_RECORDS != 0)
        begin = ways.cut(bit_field_shifted(row.bits, row.at - row.size), row.widths & 0xff);
    uint64_t end = ways.cut(row.row, row.widths & 0xff);
    quick_take(&row, ways);
    uint32_t directory =
        index_load_u32(row.header + offsetof(struct format_file_block, directory_base)) +
        quick_take(&row, ways);
    return index_section_span(index, FORMAT_PATH_BYTES, index_load_u64(row.header), begin, end,
                              &parts.name) &&
           index_directory(index, directory, &parts.directory) &&
           index_join(parts.directory, parts.name, room, ret_path);
}

#ifdef BIT_WAYS_FAST
BIT_WAYS_FAST static bool quick_path_fast(const struct index *index, uint32_t file, char *room,
                                          struct span *ret_path) {
    return quick_path(index, file, BIT_WAYS_OF_FAST, room, ret_path);
}
#endif

struct span index_path(const struct index *index, uint32_t file, char *room) {
    struct span path = {NULL, 0};
    if (file == 0)
        return path;
#ifdef BIT_WAYS_FAST
    if (index->processor_is_fast && quick_path_fast(index, file, room, &path))
        return path;
#endif
    if (!index_file(index, file, room, &path))
        index_note_damage(index);
    return path;
}

bool index_chain_next(const struct index *index, struct index_chain *chain,
                      struct index_scratch *scratch, struct symbol_frame *ret_frame) {
    struct index_frame frame;
    if (index_frames(index, chain, 1, &frame) == 0)
        return false;
    *ret_frame = (struct symbol_frame){
        .name = frame.name,
        .file = index_path(index, frame.file, scratch->bytes),
        .entry_pc = frame.entry_pc,
        .line = frame.line,
        .column = frame.column,
        .start_line = frame.start_line,
        .flags = frame.flags,
        .origin = frame.origin,
        .has_entry_pc = frame.has_entry_pc,
    };
    ret_frame->start_file = ret_frame->file;
    if (frame.start_file != frame.file)
        ret_frame->start_file =
            index_path(index, frame.start_file, scratch->bytes + INDEX_PATH_ROOM);
    return true;
}
