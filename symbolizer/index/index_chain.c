/* From a scope and a place in it to frames. */
#include "symbolizer/index/index.h"
#include "symbolizer/index/index_internal.h"

_Static_assert(sizeof(((struct index_scratch *)0)->bytes) >= 2 * FORMAT_JOINED_PATH_MAX,
               "the scratch holds both paths of a frame");

static struct span path_or_empty(const struct index *index, uint32_t number, char *room) {
    struct span path;
    if (!index_file(index, number, room, &path))
        index_note_damage(index);
    return path;
}

static void fill_places(const struct index *index, const struct index_chain *chain,
                        const struct function_record *function, struct index_scratch *scratch,
                        struct symbol_frame *frame) {
    uint32_t file = chain->file;
    frame->line = chain->line;
    if (!chain->exact && chain->line != 0) {
        file = function->file;
        frame->line = function->line + chain->line - 1;
    }
    uint32_t start_file = function->attributes & FORMAT_ATTRIBUTE_NO_START_FILE ? 0
                                                                                : function->file;
    frame->start_line = function->attributes & FORMAT_ATTRIBUTE_NO_START_LINE ? 0 : function->line;
    frame->file = path_or_empty(index, file, scratch->bytes);
    frame->start_file = start_file == file ? frame->file
                                           : path_or_empty(index, start_file,
                                                           scratch->bytes + FORMAT_JOINED_PATH_MAX);
}

static void fill_frame(const struct index *index, const struct index_chain *chain,
                       uint32_t function_number, struct index_scratch *scratch,
                       struct symbol_frame *ret_frame) {
    struct function_record function = {0};
    *ret_frame = (struct symbol_frame){.column = chain->column};
    if (!index_function(index, function_number, &function)) {
        index_note_damage(index);
        return;
    }
    ret_frame->name = function.name;
    ret_frame->flags = function.attributes >> FORMAT_ATTRIBUTE_FLAGS_SHIFT;
    uint32_t origin = index_attributes_origin(function.attributes);
    if (origin <= SYMBOL_ORIGIN_DYNSYM)
        ret_frame->origin = (enum symbol_origin)origin;
    else
        index_note_damage(index);
    fill_places(index, chain, &function, scratch, ret_frame);
}

/* The place of the call in the parent. */
static bool call_place(const struct scope_block *block, uint32_t record,
                       const struct scope_record *scope, struct index_chain *chain) {
    chain->file = 0;
    chain->line = scope->line_code;
    chain->column = scope->column;
    chain->exact = line_code_is_exception(scope->line_code, block->line_bits);
    if (!chain->exact)
        return true;
    struct exception_list list;
    struct exception exception;
    if (!exception_list_open(block->bits, block->tail_at, block->bit_count, block->exception_count,
                             bit_length(FORMAT_BLOCK_RECORDS - 1), 0, &list) ||
        !exception_list_find(&list, record, &exception))
        return false;
    chain->file = exception.file;
    chain->line = exception.line;
    return true;
}

bool index_chain_next(const struct index *index, struct index_chain *chain,
                      struct index_scratch *scratch, struct symbol_frame *ret_frame) {
    uint32_t number = chain->scope;
    chain->scope = 0;
    if (number == 0)
        return false;
    struct scope_block block;
    if (number > index->sections[FORMAT_SCOPES].count ||
        !index_scope_block(index, (number - 1) / FORMAT_BLOCK_RECORDS, &block)) {
        index_note_damage(index);
        return false;
    }
    uint32_t record = (number - 1) % FORMAT_BLOCK_RECORDS;
    struct scope_record scope = scope_block_get(&block, record);
    fill_frame(index, chain, scope.function, scratch, ret_frame);
    ret_frame->has_entry_pc = block.entry_mask >> record & 1;
    if (ret_frame->has_entry_pc)
        ret_frame->entry_pc = scope_block_entry(&block, record);
    chain->depth++;
    if (scope.parent == 0)
        return true;
    if (scope.parent >= number || chain->depth >= FRAME_COUNT_MAX ||
        !call_place(&block, record, &scope, chain))
        index_note_damage(index);
    else
        chain->scope = number - scope.parent;
    return true;
}
