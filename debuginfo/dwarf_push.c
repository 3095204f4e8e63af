#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "debuginfo/dwarf_names.h"
#include "debuginfo/dwarf_push_files.h"
#include "debuginfo/dwarf_source_internal.h"
#include "debuginfo/place_map.h"

/* One shard being pushed. */
struct push {
    struct dwarf_sequence_visitor rows;
    const struct dwarf_source *source;
    struct symbol_sink *sink;
    const struct dwarf_unit *unit;
    struct dwarf_code_walk code;
    struct push_files files;
    struct place_map subjects; /* by the DIE that describes them */
    struct dwarf_scopes *scopes;
    struct buffer scratch; /* of a composed name */
    struct sink_line *sequence;
    size_t sequence_capacity;
};

static void push_free(struct push *push) {
    dwarf_code_walk_clear(&push->code);
    push_files_clear(&push->files);
    place_map_clear(&push->subjects);
    dwarf_scopes_free(push->scopes);
    buffer_clear(&push->scratch);
    free(push->sequence);
    free(push);
}
DEFINE_CLEANUP(push, struct push, push_free)

static void report_damage(struct push *push, const char *what) {
    char text[160];
    snprintf(text, sizeof(text), "DWARF unit at 0x%" PRIx64 "%s: %s", push->unit->offset,
             push->unit->in_types ? " of .debug_types" : "", what);
    push->sink->ops->damage(push->sink, text);
}

/* --- functions and inlined copies ------------------------------------------------------------- */

static enum err describe_subject(struct push *push, const struct dwarf_place *place,
                                 uint32_t *ret_subject, struct error *error) {
    struct dwarf_subject read;
    enum err err = dwarf_subject_read(place, push->scopes, &push->scratch, &read, error);
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
        err = push_files_declared(&push->files, read.decl_unit, read.decl_file, &subject.decl_file,
                                  error);
    return err ? err : push->sink->ops->subject(push->sink, &subject, ret_subject, error);
}

static enum err subject_of(struct push *push, const struct dwarf_die *die, uint32_t *ret_subject,
                           struct error *error) {
    struct dwarf_place place = dwarf_subject_place(die, push->code.walk.depth);
    uint32_t *number;
    enum err err = place_map_at(&push->subjects, place.position, 0, &number, error);
    if (!err && *number == 0)
        err = describe_subject(push, &place, number, error);
    if (!err)
        *ret_subject = *number;
    return err;
}

static enum err push_function(struct push *push, struct error *error) {
    const struct dwarf_code_walk *code = &push->code;
    struct sink_function function = {
        .ranges = code->ranges.items,
        .range_count = code->ranges.count,
    };
    function.has_entry_pc = dwarf_code_entry_pc(code, &function.entry_pc);
    enum err err = subject_of(push, &code->walk.die, &function.subject, error);
    if (err)
        return err;
    return push->sink->ops->function(push->sink, &function, &push->code.walk.context, error);
}

static enum err push_inlined(struct push *push, struct error *error) {
    const struct dwarf_die *die = &push->code.walk.die;
    struct sink_inlined inlined = {
        .parent = push->code.walk.context,
        .ranges = push->code.ranges.items,
        .range_count = push->code.ranges.count,
        .call_line = dwarf_die_u32(die, DWARF_SLOT_CALL_LINE),
        .call_column = dwarf_die_u32(die, DWARF_SLOT_CALL_COLUMN),
    };
    enum err err = ERR_OK;
    uint64_t file;
    if (dwarf_die_unsigned(die, DWARF_SLOT_CALL_FILE, &file))
        err = push_files_declared(&push->files, push->unit, file, &inlined.call_file, error);
    if (!err)
        err = subject_of(push, die, &inlined.subject, error);
    if (err)
        return err;
    return push->sink->ops->inlined(push->sink, &inlined, &push->code.walk.context, error);
}

static enum err push_code(struct push *push, struct error *error) {
    struct error reason;
    const struct dwarf_unit *unit = dwarf_unit_of_code(push->unit);
    if (push->unit->split_fault)
        report_damage(push, push->unit->split_fault);
    enum err err = dwarf_code_walk_start(
        &push->code, &(struct dwarf_place){.unit = unit, .position = unit->root}, &reason);
    if (err == ERR_NO_MEMORY) {
        *error = reason;
        return err;
    }
    if (err) {
        report_damage(push, reason.text);
        return ERR_OK;
    }
    bool found = true;
    while (found) {
        err = dwarf_code_walk_next(&push->code, &found, error);
        if (!err && found)
            err = dwarf_code_is_function(&push->code) ? push_function(push, error)
                                                      : push_inlined(push, error);
        if (err)
            return err;
    }
    if (dwarf_code_is_damaged(&push->code))
        report_damage(push, "some functions or ranges cannot be read");
    return ERR_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

static enum err reserve_sequence(struct push *push, size_t count, struct error *error) {
    if (count <= push->sequence_capacity)
        return ERR_OK;
    size_t capacity = count < 256 ? 256 : 2 * count;
    struct sink_line *grown = realloc(push->sequence, capacity * sizeof(*grown));
    if (!grown)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu line rows", capacity);
    push->sequence = grown;
    push->sequence_capacity = capacity;
    return ERR_OK;
}

static enum err push_sequence(struct dwarf_sequence_visitor *visitor,
                              const struct dwarf_sequence *sequence, struct error *error) {
    struct push *push = (struct push *)visitor;
    enum err err = reserve_sequence(push, sequence->count + 1, error);
    uint32_t index = 0;
    uint32_t file = 0;
    for (size_t i = 0; !err && i < sequence->count; i++) {
        const struct dwarf_row *row = &sequence->rows[i];
        if (i == 0 || row->file != index) {
            index = row->file;
            err = push_files_number(&push->files, index, &file, error);
        }
        push->sequence[i] = (struct sink_line){
            .address = row->address,
            .file = file,
            .line = row->line,
            .column = row->column,
            .discriminator = row->discriminator,
            .is_stmt = row->is_stmt,
        };
    }
    if (err)
        return err;
    push->sequence[sequence->count] =
        (struct sink_line){.address = sequence->end, .end_sequence = true};
    return push->sink->ops->sequence(push->sink, push->sequence, sequence->count + 1, error);
}

static enum err push_rows(struct push *push, struct error *error) {
    if (!push->unit->first_rows)
        return ERR_OK;
    if (push->files.table_damaged) {
        report_damage(push, "the line table cannot be read");
        return ERR_OK;
    }
    bool damaged = false;
    enum err err =
        dwarf_line_visit(push->files.table, &push->source->extents, &push->rows, &damaged, error);
    if (!err && dwarf_line_table_files_damaged(push->files.table))
        report_damage(push, "some files of the line table cannot be read");
    if (!err && damaged)
        report_damage(push, "some of the line table cannot be read");
    return err;
}

/* --- units and shards ------------------------------------------------------------------------- */

static enum err push_unit(struct push *push, struct error *error) {
    if (push->unit->damage) {
        report_damage(push, push->unit->damage);
        return ERR_OK;
    }
    if (!push->unit->has_code)
        return ERR_OK;
    struct sink_unit unit = {.offset = push->unit->offset, .language = push->unit->language};
    enum err err = push->sink->ops->unit(push->sink, &unit, error);
    if (!err)
        err = push_files_enter(&push->files, push->unit, error);
    if (!err)
        err = push_code(push, error);
    if (!err)
        err = push_rows(push, error);
    return err;
}

static void report_whole(const struct dwarf_source *source, struct symbol_sink *sink) {
    for (size_t i = 0; i < source->damage_count; i++)
        sink->ops->damage(sink, source->damages[i].text);
    const char *list = dwarf_info_damage(source->info);
    if (!list)
        return;
    char text[160];
    snprintf(text, sizeof(text), "DWARF: %s", list);
    sink->ops->damage(sink, text);
}

/* From the first to the last of the line tables that the units' rows were read from. */
static struct span lines_of(const struct dwarf_source *source, size_t first, size_t end) {
    const struct span section = dwarf_info_sections(source->info)->line;
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    for (size_t i = first; i < end; i++) {
        const struct dwarf_unit *unit = dwarf_info_unit(source->info, i);
        if (!unit->first_rows)
            continue;
        low = unit->line_offset < low ? unit->line_offset : low;
        high = unit->line_offset > high ? unit->line_offset : high;
    }
    if (low >= high || high > section.size)
        return (struct span){NULL, 0};
    return span_of(section.data + low, high - low);
}

/* The units are done for. What other shards still want of them, names above all, comes back from
 * the page cache. */
static void release_pages(const struct dwarf_source *source, size_t first, size_t end) {
    if (first == end)
        return;
    const uint8_t *begin = dwarf_info_unit(source->info, first)->header;
    const struct dwarf_unit *last = dwarf_info_unit(source->info, end - 1);
    if (last->in_types == dwarf_info_unit(source->info, first)->in_types)
        elf_file_release(source->file, span_of(begin, (size_t)(last->end - begin)));
    elf_file_release(source->file, lines_of(source, first, end));
}

static enum err push_units(struct push *push, size_t first, size_t end, struct error *error) {
    for (size_t i = first; i < end; i++) {
        push->unit = dwarf_info_unit(push->source->info, i);
        enum err err = push_unit(push, error);
        if (err)
            return err;
    }
    return ERR_OK;
}

enum err dwarf_push_shard(struct symbol_source *base, size_t shard, struct symbol_sink *sink,
                          struct error *error) {
    const struct dwarf_source *source = (const struct dwarf_source *)base;
    CLEANUP(cleanup_push) struct push *push = calloc(1, sizeof(*push));
    if (!push)
        return error_set(error, ERR_NO_MEMORY, "no memory for a DWARF reader");
    push->source = source;
    push->scopes = dwarf_scopes_new();
    if (!push->scopes)
        return error_set(error, ERR_NO_MEMORY, "no memory for a DWARF reader");
    push->sink = sink;
    push->rows.sequence = push_sequence;
    push->files.sink = sink;
    dwarf_code_walk_init(&push->code, &source->extents);
    size_t first = source->shards[shard];
    size_t end = source->shards[shard + 1];
    enum err err = push_units(push, first, end, error);
    if (err)
        return err;
    release_pages(source, first, end);
    if (shard + 1 == source->shard_count)
        report_whole(source, sink);
    return ERR_OK;
}

enum err dwarf_push(struct symbol_source *base, struct symbol_sink *sink, struct error *error) {
    const struct dwarf_source *source = (const struct dwarf_source *)base;
    enum err err = ERR_OK;
    for (size_t i = 0; !err && i < source->shard_count; i++)
        err = dwarf_push_shard(base, i, sink, error);
    return err;
}
