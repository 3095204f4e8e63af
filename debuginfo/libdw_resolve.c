#include <stdlib.h>

#include "debuginfo/libdw_internal.h"

/* The function or a copy in it that covers pc, as do all it is inlined into. */
struct resolve_node {
    Dwarf_Die die;
    uint32_t parent;     /* NODE_NONE in the function itself */
    uint32_t child;      /* the copy in it with the smallest range that covers pc; or NODE_NONE */
    uint64_t child_size; /* of that range */
};

struct inline_finder {
    struct libdw_visitor visitor;
    uint64_t pc;
    struct resolve_node *nodes; /* the function, then its copies, parents first */
    size_t count;
    size_t capacity;
    uint64_t first_pc; /* where the function's first range begins */
};

static void cleanup_inline_finder(struct inline_finder *finder) {
    free(finder->nodes);
}

static enum err add_node(struct inline_finder *finder, Dwarf_Die *die, uint32_t parent,
                         uint32_t *ret_node, struct error *error) {
    if (finder->count == finder->capacity) {
        size_t capacity = finder->capacity ? 2 * finder->capacity : 32;
        struct resolve_node *grown = NULL;
        if (capacity < NODE_NONE)
            grown = realloc(finder->nodes, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu inlined copies", capacity);
        finder->nodes = grown;
        finder->capacity = capacity;
    }
    finder->nodes[finder->count] =
        (struct resolve_node){.die = *die, .parent = parent, .child = NODE_NONE};
    *ret_node = (uint32_t)finder->count++;
    return ERR_OK;
}

/* The function comes first; functions nested in it answer for themselves, so their copies do not
 * matter here. */
static enum err find_in_function(struct libdw_visitor *visitor, Dwarf_Die *die,
                                 const struct range_list *ranges, uint32_t *ret_node,
                                 struct error *error) {
    struct inline_finder *finder = (struct inline_finder *)visitor;
    if (finder->count > 0)
        return ERR_OK;
    finder->first_pc = ranges->items[0].begin;
    return add_node(finder, die, NODE_NONE, ret_node, error);
}

/* A copy counts only where its parent does; of those in one parent the smallest range wins, then
 * the first. */
static enum err find_in_inlined(struct libdw_visitor *visitor, Dwarf_Die *die, uint32_t parent,
                                const struct range_list *ranges, uint32_t *ret_node,
                                struct error *error) {
    struct inline_finder *finder = (struct inline_finder *)visitor;
    struct pc_range covering;
    *ret_node = NODE_NONE;
    if (!range_list_find(ranges, finder->pc, &covering))
        return ERR_OK;
    enum err err = add_node(finder, die, parent, ret_node, error);
    if (err)
        return err;
    struct resolve_node *in = &finder->nodes[parent];
    uint64_t size = covering.end - covering.begin;
    if (in->child == NODE_NONE || size < in->child_size) {
        in->child = *ret_node;
        in->child_size = size;
    }
    return ERR_OK;
}

static uint32_t innermost(const struct inline_finder *finder) {
    uint32_t node = 0;
    while (finder->nodes[node].child != NODE_NONE)
        node = finder->nodes[node].child;
    return node;
}

struct resolve {
    struct libdw_source *source;
    uint64_t pc;
    struct libdw_place place;
    struct buffer scratch; /* of a composed name */
};

static void cleanup_resolve(struct resolve *resolve) {
    buffer_clear(&resolve->scratch);
}

static enum err fill_path(struct resolve *resolve, struct libdw_unit *unit, uint64_t index,
                          struct span *ret_path, struct error *error) {
    struct libdw_file *file;
    enum err err = libdw_file_read(resolve->source, unit, index, &file, error);
    if (!err)
        *ret_path = file->path;
    return err;
}

static enum err fill_row(struct resolve *resolve, struct symbol_frame *frame, struct error *error) {
    const struct libdw_row *row = resolve->place.row;
    if (!row)
        return ERR_OK;
    frame->line = row->line;
    frame->column = row->column;
    frame->discriminator = row->discriminator;
    return fill_path(resolve, resolve->place.row_unit, row->file, &frame->file, error);
}

static enum err fill_call(struct resolve *resolve, Dwarf_Die *inlined, struct symbol_frame *frame,
                          struct error *error) {
    struct libdw_call call;
    libdw_call_read(inlined, resolve->place.unit, &call);
    frame->line = call.line;
    frame->column = call.column;
    frame->discriminator = call.discriminator;
    if (!call.has_file)
        return ERR_OK;
    return fill_path(resolve, resolve->place.unit, call.file, &frame->file, error);
}

static enum err fill_subject(struct resolve *resolve, Dwarf_Die *die, struct symbol_frame *frame,
                             struct error *error) {
    struct libdw_subject subject;
    enum err err = libdw_subject_read(resolve->source, die, &resolve->scratch, &subject, error);
    if (!err)
        err = string_pool_intern(resolve->source->strings, subject.name, &frame->name, error);
    if (err)
        return err;
    frame->short_name = subject.short_name;
    frame->start_line = subject.decl_line;
    frame->has_entry_pc = libdw_read_entry_pc(die, &frame->entry_pc);
    if (!subject.decl_unit)
        return ERR_OK;
    return fill_path(resolve, subject.decl_unit, subject.decl_file, &frame->start_file, error);
}

static enum err add_frames(struct resolve *resolve, struct inline_finder *finder,
                           struct frame_list *frames, struct error *error) {
    Dwarf_Die *callee = NULL;
    for (uint32_t i = innermost(finder); i != NODE_NONE; i = finder->nodes[i].parent) {
        Dwarf_Die *die = &finder->nodes[i].die;
        struct symbol_frame frame = {.origin = SYMBOL_ORIGIN_DWARF};
        enum err err = fill_subject(resolve, die, &frame, error);
        if (!err)
            err = callee ? fill_call(resolve, callee, &frame, error)
                         : fill_row(resolve, &frame, error);
        if (!err)
            err = frame_list_add(frames, &frame, error);
        if (err)
            return err;
        callee = die;
    }
    return ERR_OK;
}

static enum err resolve_function(struct resolve *resolve, struct frame_list *frames,
                                 struct error *error) {
    Dwarf_Die die;
    if (!dwarf_die_addr_die(resolve->source->dwarf, resolve->place.function->die_address, &die))
        return ERR_OK;
    CLEANUP(cleanup_inline_finder)
    struct inline_finder finder = {
        .visitor = {.function = find_in_function, .inlined = find_in_inlined}, .pc = resolve->pc};
    bool damaged = false;
    enum err err = libdw_visit_functions(resolve->source, &die, &finder.visitor, &damaged, error);
    if (err || finder.count == 0)
        return err;
    err = add_frames(resolve, &finder, frames, error);
    if (!err)
        frames->frames[frames->count - 1].first_pc = finder.first_pc;
    return err;
}

/* Code that no function covers, such as an assembler's: the row alone. */
static enum err resolve_row(struct resolve *resolve, struct frame_list *frames,
                            struct error *error) {
    struct symbol_frame frame = {.origin = SYMBOL_ORIGIN_DWARF};
    enum err err = fill_row(resolve, &frame, error);
    if (!err)
        err = frame_list_add(frames, &frame, error);
    return err;
}

enum err libdw_resolve(struct symbol_source *base, uint64_t pc, struct frame_list *frames,
                       struct error *error) {
    struct libdw_source *source = (struct libdw_source *)base;
    frames->count = 0;
    source->range_budget = RANGE_BUDGET;
    if (!elf_file_is_executable(source->file, pc))
        return ERR_OK;
    CLEANUP(cleanup_resolve) struct resolve resolve = {.source = source, .pc = pc};
    enum err err = libdw_find_place(source, pc, &resolve.place, error);
    if (err)
        return err;
    if (resolve.place.function)
        return resolve_function(&resolve, frames, error);
    if (resolve.place.row)
        return resolve_row(&resolve, frames, error);
    return ERR_OK;
}
