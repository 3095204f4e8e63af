#include <stdlib.h>

#include "debuginfo/dwarf_lookup.h"
#include "debuginfo/dwarf_names.h"
#include "debuginfo/dwarf_source_internal.h"

/* The function or a copy in it that covers pc, as do all it is inlined into. */
struct resolve_node {
    struct dwarf_place place;
    uint32_t parent;     /* DWARF_CONTEXT_NONE in the function itself */
    uint32_t child;      /* the copy in it with the smallest range that covers pc; or NONE */
    uint64_t child_size; /* of that range */
};

struct resolve {
    struct dwarf_source *source;
    struct dwarf_lookup *lookup;
    uint64_t pc;
    struct resolve_node *nodes; /* the function, then its copies, parents first */
    size_t count;
    size_t capacity;
    uint64_t first_pc;     /* where the function's first range begins */
    struct buffer scratch; /* of a composed name */
};

static void resolve_clear(struct resolve *resolve) {
    free(resolve->nodes);
    buffer_clear(&resolve->scratch);
}

/* --- which copies cover pc -------------------------------------------------------------------- */

static enum err add_node(struct resolve *resolve, struct dwarf_walk *walk, struct error *error) {
    if (resolve->count == resolve->capacity) {
        size_t capacity = resolve->capacity ? 2 * resolve->capacity : 32;
        struct resolve_node *grown = NULL;
        if (capacity < DWARF_CONTEXT_NONE)
            grown = realloc(resolve->nodes, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu inlined copies", capacity);
        resolve->nodes = grown;
        resolve->capacity = capacity;
    }
    resolve->nodes[resolve->count] = (struct resolve_node){
        .place = {.unit = walk->die.unit, .position = walk->die.position},
        .parent = walk->context,
        .child = DWARF_CONTEXT_NONE,
    };
    walk->context = (uint32_t)resolve->count++;
    return ERR_OK;
}

/* A copy counts only where its parent does; of those in one parent the smallest range wins, then
 * the first. */
static enum err add_copy(struct resolve *resolve, struct dwarf_code_walk *code,
                         struct error *error) {
    struct pc_range covering;
    uint32_t parent = code->walk.context;
    if (!range_list_find(&code->ranges, resolve->pc, &covering)) {
        code->walk.context = DWARF_CONTEXT_NONE;
        return ERR_OK;
    }
    enum err err = add_node(resolve, &code->walk, error);
    if (err)
        return err;
    struct resolve_node *in = &resolve->nodes[parent];
    uint64_t size = covering.end - covering.begin;
    if (in->child == DWARF_CONTEXT_NONE || size < in->child_size) {
        in->child = code->walk.context;
        in->child_size = size;
    }
    return ERR_OK;
}

static enum err add_function(struct resolve *resolve, struct dwarf_code_walk *code,
                             struct error *error) {
    resolve->first_pc = code->ranges.items[0].begin;
    return add_node(resolve, &code->walk, error);
}

/* The function comes first. Functions nested in it answer for themselves: their context stays NONE.
 */
static enum err find_nodes(struct resolve *resolve, const struct dwarf_place *function,
                           struct error *error) {
    struct dwarf_code_walk *code = dwarf_lookup_code(resolve->lookup);
    enum err err = dwarf_code_walk_start(code, function, error);
    bool found = !err;
    while (!err && found) {
        err = dwarf_code_walk_next(code, &found, error);
        if (err || !found)
            break;
        if (!dwarf_code_is_function(code))
            err = add_copy(resolve, code, error);
        else if (resolve->count == 0)
            err = add_function(resolve, code, error);
    }
    return err == ERR_NO_MEMORY ? err : ERR_OK;
}

/* --- filling in frames ------------------------------------------------------------------------ */

static enum err fill_subject(struct resolve *resolve, const struct dwarf_die *die,
                             struct symbol_frame *frame, struct error *error) {
    struct dwarf_place place = dwarf_subject_place(die, 0);
    struct dwarf_subject subject;
    enum err err =
        dwarf_subject_read(&place, resolve->source->scopes, &resolve->scratch, &subject, error);
    if (!err)
        err = string_pool_intern(resolve->source->strings, subject.name, &frame->name, error);
    if (err)
        return err;
    frame->short_name = subject.short_name;
    frame->start_line = subject.decl_line;
    frame->has_entry_pc = dwarf_die_address(die, DWARF_SLOT_LOW_PC, &frame->entry_pc);
    if (!subject.decl_unit)
        return ERR_OK;
    return dwarf_lookup_declared(resolve->lookup, subject.decl_unit, subject.decl_file,
                                 &frame->start_file, error);
}

static enum err fill_call(struct resolve *resolve, const struct dwarf_die *inlined,
                          struct symbol_frame *frame, struct error *error) {
    frame->line = dwarf_die_u32(inlined, DWARF_SLOT_CALL_LINE);
    frame->column = dwarf_die_u32(inlined, DWARF_SLOT_CALL_COLUMN);
    frame->discriminator = dwarf_die_u32(inlined, DWARF_SLOT_DISCRIMINATOR);
    uint64_t file;
    if (!dwarf_die_unsigned(inlined, DWARF_SLOT_CALL_FILE, &file))
        return ERR_OK;
    return dwarf_lookup_declared(resolve->lookup, inlined->unit, file, &frame->file, error);
}

/* The row at pc; *ret_found is false when there is none. */
static enum err fill_row(struct resolve *resolve, const struct dwarf_row_context *context,
                         struct symbol_frame *frame, bool *ret_found, struct error *error) {
    struct dwarf_row_answer answer;
    enum err err = dwarf_lookup_row(resolve->lookup, resolve->pc, context, &answer, error);
    *ret_found = !err && answer.unit;
    if (err || !answer.unit)
        return err;
    frame->line = answer.row.line;
    frame->column = answer.row.column;
    frame->discriminator = answer.row.discriminator;
    return dwarf_lookup_path(resolve->lookup, answer.unit, answer.row.file, &frame->file, error);
}

static uint32_t innermost(const struct resolve *resolve) {
    uint32_t node = 0;
    while (resolve->nodes[node].child != DWARF_CONTEXT_NONE)
        node = resolve->nodes[node].child;
    return node;
}

/* All frames but for the row of the innermost. Each gets the place of the call in it from the copy
 * that it calls. */
static enum err add_frames(struct resolve *resolve, struct frame_list *frames,
                           struct error *error) {
    struct dwarf_die callee;
    bool has_callee = false;
    for (uint32_t i = innermost(resolve); i != DWARF_CONTEXT_NONE; i = resolve->nodes[i].parent) {
        struct symbol_frame frame = {.origin = SYMBOL_ORIGIN_DWARF};
        struct dwarf_die die;
        enum err err = dwarf_die_read(&resolve->nodes[i].place, &die, error);
        if (!err)
            err = fill_subject(resolve, &die, &frame, error);
        if (!err && has_callee)
            err = fill_call(resolve, &callee, &frame, error);
        if (!err)
            err = frame_list_add(frames, &frame, error);
        if (err)
            return err;
        callee = die;
        has_callee = true;
    }
    return ERR_OK;
}

/* What the function says of itself decides between rows of folded code. */
static enum err resolve_function(struct resolve *resolve, const struct dwarf_place *function,
                                 struct frame_list *frames, bool *ret_row, struct error *error) {
    enum err err = find_nodes(resolve, function, error);
    if (err || resolve->count == 0)
        return err;
    err = add_frames(resolve, frames, error);
    if (err)
        return err;
    struct symbol_frame *outermost = &frames->frames[frames->count - 1];
    outermost->first_pc = resolve->first_pc;
    const struct dwarf_row_context context = {
        .unit = function->unit,
        .entry_pc = outermost->has_entry_pc ? outermost->entry_pc : 0,
        .decl_file = outermost->start_file,
        .decl_line = outermost->start_line,
    };
    return fill_row(resolve, &context, &frames->frames[0], ret_row, error);
}

/* Code that no function covers, such as an assembler's: the row alone. */
static enum err resolve_row(struct resolve *resolve, struct frame_list *frames, bool *ret_row,
                            struct error *error) {
    struct symbol_frame frame = {.origin = SYMBOL_ORIGIN_DWARF};
    const struct dwarf_row_context context = {.unit = NULL};
    enum err err = fill_row(resolve, &context, &frame, ret_row, error);
    if (err || !*ret_row)
        return err;
    return frame_list_add(frames, &frame, error);
}

/* *ret_row: a row answered, so that there is nothing left to be found. */
static enum err resolve_known(struct resolve *resolve, struct frame_list *frames, bool *ret_row,
                              struct error *error) {
    frames->count = 0;
    resolve->count = 0;
    *ret_row = false;
    struct dwarf_place function;
    enum err err = dwarf_lookup_function(resolve->lookup, resolve->pc, &function, error);
    if (err)
        return err;
    if (function.unit)
        return resolve_function(resolve, &function, frames, ret_row, error);
    return resolve_row(resolve, frames, ret_row, error);
}

static enum err open_lookup(struct dwarf_source *source, struct error *error) {
    enum err err =
        dwarf_lookup_new(source->info, &source->extents, source->strings, &source->lookup, error);
    if (err == ERR_OK && source->paths_are_relative)
        dwarf_lookup_use_relative_paths(source->lookup);
    return err;
}

enum err dwarf_resolve(struct symbol_source *base, uint64_t pc, struct frame_list *frames,
                       struct error *error) {
    struct dwarf_source *source = (struct dwarf_source *)base;
    frames->count = 0;
    if (!elf_file_is_executable(source->file, pc))
        return ERR_OK;
    enum err err = source->lookup ? ERR_OK : open_lookup(source, error);
    if (err)
        return err;
    CLEANUP(resolve_clear)
    struct resolve resolve = {.source = source, .lookup = source->lookup, .pc = pc};
    bool row;
    bool surveyed = false;
    err = resolve_known(&resolve, frames, &row, error);
    if (!err && !row)
        err = dwarf_lookup_survey(source->lookup, &surveyed, error);
    if (!err && surveyed)
        err = resolve_known(&resolve, frames, &row, error);
    return err;
}
