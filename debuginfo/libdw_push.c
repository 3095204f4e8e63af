#include <inttypes.h>
#include <stdio.h>

#include "debuginfo/libdw_internal.h"

struct push {
    struct libdw_source *source;
    struct symbol_sink *sink;
    struct libdw_unit *unit;
    struct buffer scratch; /* of a composed name */
    struct libdw_visitor functions;
    struct libdw_row_visitor rows;
    struct sink_line *sequence; /* rows of the sequence that is being gathered */
    size_t sequence_count;
    size_t sequence_capacity;
};

#define PUSH_OF(visitor, member) ((struct push *)((char *)(visitor)-offsetof(struct push, member)))

static void cleanup_push(struct push *push) {
    buffer_clear(&push->scratch);
    free(push->sequence);
}

static enum err sink_file(struct push *push, struct libdw_unit *unit, uint64_t index,
                          uint32_t *ret_number, struct error *error) {
    struct libdw_file *file;
    enum err err = libdw_file_read(push->source, unit, index, &file, error);
    if (!err && file->sink_number == 0 && file->path.size > 0)
        err = push->sink->ops->file(push->sink, file->path, &file->sink_number, error);
    if (!err)
        *ret_number = file->sink_number;
    return err;
}

/* What the copies of one function share is described anew for each of them: a second opinion need
 * not be fast, and the sink may hold equal subjects twice. */
static enum err push_subject(struct push *push, Dwarf_Die *die, uint32_t *ret_subject,
                             struct error *error) {
    struct libdw_subject read;
    enum err err = libdw_subject_read(push->source, die, &push->scratch, &read, error);
    if (err)
        return err;
    struct sink_subject subject = {
        .name = read.name,
        .short_name = read.short_name,
        .decl_line = read.decl_line,
        .origin = SYMBOL_ORIGIN_DWARF,
        .name_is_linkage = read.name_is_linkage,
    };
    if (read.decl_unit)
        err = sink_file(push, read.decl_unit, read.decl_file, &subject.decl_file, error);
    return err ? err : push->sink->ops->subject(push->sink, &subject, ret_subject, error);
}

static enum err push_function(struct libdw_visitor *visitor, Dwarf_Die *die,
                              const struct range_list *ranges, uint32_t *ret_node,
                              struct error *error) {
    struct push *push = PUSH_OF(visitor, functions);
    struct sink_function function = {.ranges = ranges->items, .range_count = ranges->count};
    function.has_entry_pc = libdw_read_entry_pc(die, &function.entry_pc);
    enum err err = push_subject(push, die, &function.subject, error);
    return err ? err : push->sink->ops->function(push->sink, &function, ret_node, error);
}

static enum err push_inlined(struct libdw_visitor *visitor, Dwarf_Die *die, uint32_t parent,
                             const struct range_list *ranges, uint32_t *ret_node,
                             struct error *error) {
    struct push *push = PUSH_OF(visitor, functions);
    struct sink_inlined inlined = {
        .parent = parent,
        .ranges = ranges->items,
        .range_count = ranges->count,
    };
    struct libdw_call call;
    libdw_call_read(die, push->unit, &call);
    inlined.call_line = call.line;
    inlined.call_column = call.column;
    enum err err = ERR_OK;
    if (call.has_file)
        err = sink_file(push, push->unit, call.file, &inlined.call_file, error);
    if (!err)
        err = push_subject(push, die, &inlined.subject, error);
    if (!err)
        err = push->sink->ops->inlined(push->sink, &inlined, ret_node, error);
    return err;
}

static enum err keep_row(struct push *push, const struct sink_line *line, struct error *error) {
    if (push->sequence_count == push->sequence_capacity) {
        size_t capacity = push->sequence_capacity ? 2 * push->sequence_capacity : 256;
        struct sink_line *grown = realloc(push->sequence, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu line rows", capacity);
        push->sequence = grown;
        push->sequence_capacity = capacity;
    }
    push->sequence[push->sequence_count++] = *line;
    return ERR_OK;
}

static enum err push_row(struct libdw_row_visitor *visitor, const struct libdw_row *row,
                         struct error *error) {
    struct push *push = PUSH_OF(visitor, rows);
    struct sink_line line = {
        .address = row->address,
        .line = row->line,
        .column = row->column,
        .discriminator = row->discriminator,
        .is_stmt = row->is_stmt,
        .end_sequence = row->end_sequence,
    };
    enum err err = sink_file(push, push->unit, row->file, &line.file, error);
    if (!err)
        err = keep_row(push, &line, error);
    if (err || !line.end_sequence)
        return err;
    size_t count = push->sequence_count;
    push->sequence_count = 0;
    return push->sink->ops->sequence(push->sink, push->sequence, count, error);
}

static void report_damage(struct push *push, const char *what) {
    char text[128];
    snprintf(text, sizeof(text), "DWARF unit at 0x%" PRIx64 ": %s", push->unit->offset, what);
    push->sink->ops->damage(push->sink, text);
}

static enum err push_unit(struct push *push, struct error *error) {
    struct sink_unit unit = {.offset = push->unit->offset, .language = push->unit->language};
    enum err err = push->sink->ops->unit(push->sink, &unit, error);
    bool damaged = false;
    if (!err)
        err = libdw_visit_functions(push->source, &push->unit->die, &push->functions, &damaged,
                                    error);
    if (damaged)
        report_damage(push, "some functions or ranges cannot be read");
    damaged = false;
    push->sequence_count = 0;
    if (!err && push->unit->has_lines)
        err = libdw_visit_rows(push->source, push->unit, &push->rows, &damaged, error);
    if (damaged)
        report_damage(push, "the line table cannot be read");
    return err;
}

/* File numbers are those of the sink of one push. */
static void forget_file_numbers(struct libdw_source *source) {
    for (size_t i = 0; i < source->unit_count; i++) {
        struct libdw_unit *unit = &source->units[i];
        for (size_t j = 0; unit->files_read && j <= unit->file_count; j++)
            unit->files[j].sink_number = 0;
    }
}

enum err libdw_push(struct symbol_source *base, struct symbol_sink *sink, struct error *error) {
    struct libdw_source *source = (struct libdw_source *)base;
    CLEANUP(cleanup_push)
    struct push push = {
        .source = source,
        .sink = sink,
        .functions = {.function = push_function, .inlined = push_inlined},
        .rows = {.row = push_row},
    };
    source->range_budget = RANGE_BUDGET;
    forget_file_numbers(source);
    for (size_t i = 0; i < source->unit_count; i++) {
        push.unit = &source->units[i];
        if (!push.unit->has_code)
            continue;
        enum err err = push_unit(&push, error);
        if (err)
            return err;
    }
    if (source->units_damaged)
        sink->ops->damage(sink, "DWARF: the list of units ends early");
    return ERR_OK;
}
