/* From a location to frames. */
#include "symbolizer/index/index.h"
#include "symbolizer/index/index_internal.h"

/* The caller's location, or 0 at the outermost frame or when the reference is damaged. */
static uint32_t checked_parent(const struct index *index, uint32_t number,
                               struct format_location location) {
    uint32_t depth = index_location_depth(location);
    if (location.parent == 0 && depth == 1)
        return 0;
    /* The depth falls by one with each step, so that no chain is longer than its first depth. */
    if (location.parent != 0 && location.parent < number &&
        index_location_depth(index_location(index, location.parent - 1)) + 1 == depth)
        return location.parent;
    index_note_damage(index);
    return 0;
}

static struct span text_or_empty(const struct index *index, uint32_t number) {
    struct span text = {NULL, 0};
    if (!index_string(index, number, &text))
        index_note_damage(index);
    return text;
}

static void fill_function(const struct index *index, uint32_t number, struct symbol_frame *frame) {
    if (number == 0)
        return;
    if (number > index->sections[FORMAT_FUNCTIONS].count) {
        index_note_damage(index);
        return;
    }
    struct format_function function = index_function(index, number - 1);
    frame->name = text_or_empty(index, function.name);
    frame->start_file = text_or_empty(index, function.start_file);
    frame->start_line = function.start_line;
    frame->entry_pc = function.entry_pc;
    frame->has_entry_pc = function.has_entry_pc != 0;
    frame->flags = function.flags;
    if (function.origin <= SYMBOL_ORIGIN_DYNSYM)
        frame->origin = (enum symbol_origin)function.origin;
    else
        index_note_damage(index);
}

bool index_chain_next(const struct index *index, struct index_chain *chain,
                      struct index_scratch *scratch, struct symbol_frame *ret_frame) {
    (void)scratch; /* every string of this version is stored in one piece */
    uint32_t number = chain->scope;
    chain->scope = 0;
    if (number == 0)
        return false;
    if (number > index->sections[FORMAT_LOCATIONS].count) {
        index_note_damage(index);
        return false;
    }
    struct format_location record = index_location(index, number - 1);
    *ret_frame = (struct symbol_frame){
        .file = text_or_empty(index, record.file),
        .line = record.line,
        .column = record.column_depth >> FORMAT_DEPTH_BITS,
    };
    fill_function(index, record.function, ret_frame);
    chain->scope = checked_parent(index, number, record);
    return true;
}
