#include "tests/support/push_model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum record_kind { RECORD_UNIT, RECORD_FUNCTION, RECORD_INLINED, RECORD_ROW, RECORD_DAMAGE };

struct record {
    enum record_kind kind;
    size_t unit;   /* position of its unit's record */
    size_t parent; /* of an inlined copy: the record; SIZE_MAX in functions */
    size_t depth;
    struct sink_unit unit_data;
    struct sink_subject subject; /* of a function or copy; its strings belong to the model */
    struct pc_range *ranges;     /* likewise; owned */
    size_t range_count;
    struct sink_inlined inlined;
    struct sink_line row;
    size_t sequence; /* of a row */
    char *text;      /* of a damage */
};

struct push_model {
    struct symbol_sink sink;
    struct record *records;
    size_t count;
    size_t capacity;
    size_t unit;
    size_t sequence_count;
    struct sink_subject *subjects;
    size_t subject_count;
    char **files;
    size_t file_count;
    size_t damage_count;
};

static void *checked(void *pointer) {
    if (!pointer)
        abort();
    return pointer;
}

static struct span copy_span(struct span span) {
    char *copy = checked(malloc(span.size + 1));
    if (span.size)
        memcpy(copy, span.data, span.size);
    copy[span.size] = '\0';
    return span_of(copy, span.size);
}

static struct record *add_record(struct push_model *model, enum record_kind kind) {
    if (model->count == model->capacity) {
        model->capacity = model->capacity ? 2 * model->capacity : 1024;
        model->records =
            checked(realloc(model->records, model->capacity * sizeof(*model->records)));
    }
    struct record *record = &model->records[model->count++];
    *record = (struct record){.kind = kind, .unit = model->unit, .parent = SIZE_MAX};
    return record;
}

static enum err take_unit(struct symbol_sink *sink, const struct sink_unit *unit,
                          struct error *error) {
    (void)error;
    struct push_model *model = (struct push_model *)sink;
    model->unit = model->count;
    model->sequence_count = 0;
    add_record(model, RECORD_UNIT)->unit_data = *unit;
    return ERR_OK;
}

static enum err take_file(struct symbol_sink *sink, struct span path, uint32_t *ret_file,
                          struct error *error) {
    (void)error;
    struct push_model *model = (struct push_model *)sink;
    size_t position = 0;
    while (position < model->file_count && !span_equal_cstr(path, model->files[position]))
        position++;
    if (position == model->file_count) {
        model->files = checked(realloc(model->files, (position + 1) * sizeof(*model->files)));
        model->files[model->file_count++] = (char *)copy_span(path).data;
    }
    *ret_file = (uint32_t)position + 1;
    return ERR_OK;
}

static enum err take_subject(struct symbol_sink *sink, const struct sink_subject *subject,
                             uint32_t *ret_subject, struct error *error) {
    (void)error;
    struct push_model *model = (struct push_model *)sink;
    size_t size = (model->subject_count + 1) * sizeof(*model->subjects);
    model->subjects = checked(realloc(model->subjects, size));
    struct sink_subject *kept = &model->subjects[model->subject_count++];
    *kept = *subject;
    kept->name = copy_span(subject->name);
    kept->short_name = copy_span(subject->short_name);
    *ret_subject = (uint32_t)model->subject_count;
    return ERR_OK;
}

static enum err keep_code(struct push_model *model, struct record *record, uint32_t subject,
                          const struct pc_range *ranges, size_t range_count, struct error *error) {
    if (subject == 0 || subject > model->subject_count)
        return error_set(error, ERR_INTERNAL, "no such subject");
    record->subject = model->subjects[subject - 1];
    size_t size = range_count * sizeof(*ranges);
    record->ranges = memcpy(checked(malloc(size + 1)), ranges, size);
    record->range_count = range_count;
    return ERR_OK;
}

static enum err take_function(struct symbol_sink *sink, const struct sink_function *function,
                              uint32_t *ret_node, struct error *error) {
    struct push_model *model = (struct push_model *)sink;
    *ret_node = (uint32_t)model->count;
    return keep_code(model, add_record(model, RECORD_FUNCTION), function->subject, function->ranges,
                     function->range_count, error);
}

static enum err take_inlined(struct symbol_sink *sink, const struct sink_inlined *inlined,
                             uint32_t *ret_node, struct error *error) {
    struct push_model *model = (struct push_model *)sink;
    if (inlined->parent <= model->unit || inlined->parent >= model->count)
        return error_set(error, ERR_INTERNAL, "a copy's parent is not of its unit");
    *ret_node = (uint32_t)model->count;
    struct record *record = add_record(model, RECORD_INLINED);
    record->parent = inlined->parent;
    record->depth = model->records[inlined->parent].depth + 1;
    record->inlined = *inlined;
    return keep_code(model, record, inlined->subject, inlined->ranges, inlined->range_count, error);
}

static enum err take_sequence(struct symbol_sink *sink, const struct sink_line *rows, size_t count,
                              struct error *error) {
    struct push_model *model = (struct push_model *)sink;
    if (count < 2)
        return error_set(error, ERR_INTERNAL, "a sequence has at least two rows");
    for (size_t i = 0; i < count; i++) {
        if (rows[i].end_sequence != (i + 1 == count))
            return error_set(error, ERR_INTERNAL, "the last row of a sequence ends it");
        if (i > 0 && rows[i].address < rows[i - 1].address)
            return error_set(error, ERR_INTERNAL, "rows ascend");
        struct record *record = add_record(model, RECORD_ROW);
        record->row = rows[i];
        record->sequence = model->sequence_count;
    }
    model->sequence_count++;
    return ERR_OK;
}

static enum err take_symbol(struct symbol_sink *sink, const struct sink_symbol *symbol,
                            struct error *error) {
    (void)sink, (void)symbol;
    return error_set(error, ERR_INTERNAL, "a DWARF source pushes no symbols");
}

static void take_damage(struct symbol_sink *sink, const char *what) {
    struct push_model *model = (struct push_model *)sink;
    add_record(model, RECORD_DAMAGE)->text = checked(strdup(what));
    model->damage_count++;
}

static const struct symbol_sink_ops model_ops = {
    .unit = take_unit,
    .file = take_file,
    .subject = take_subject,
    .function = take_function,
    .inlined = take_inlined,
    .sequence = take_sequence,
    .symbol = take_symbol,
    .damage = take_damage,
};

struct push_model *push_model_new(void) {
    struct push_model *model = checked(calloc(1, sizeof(*model)));
    model->sink.ops = &model_ops;
    return model;
}

void push_model_free(struct push_model *model) {
    if (!model)
        return;
    for (size_t i = 0; i < model->count; i++) {
        free(model->records[i].ranges);
        free(model->records[i].text);
    }
    for (size_t i = 0; i < model->subject_count; i++) {
        free((char *)model->subjects[i].name.data);
        free((char *)model->subjects[i].short_name.data);
    }
    free(model->subjects);
    for (size_t i = 0; i < model->file_count; i++)
        free(model->files[i]);
    free(model->files);
    free(model->records);
    free(model);
}

struct symbol_sink *push_model_sink(struct push_model *model) {
    return &model->sink;
}

size_t push_model_damage_count(const struct push_model *model) {
    return model->damage_count;
}

static bool covers(const struct record *record, uint64_t pc, uint64_t *ret_size) {
    bool found = false;
    for (size_t i = 0; i < record->range_count; i++) {
        struct pc_range range = record->ranges[i];
        if (pc < range.begin || pc >= range.end)
            continue;
        if (!found || range.end - range.begin < *ret_size)
            *ret_size = range.end - range.begin;
        found = true;
    }
    return found;
}

static const struct record *find_function(const struct push_model *model, uint64_t pc) {
    const struct record *best = NULL;
    uint64_t best_size = 0;
    uint64_t size = 0;
    for (size_t i = 0; i < model->count; i++) {
        const struct record *record = &model->records[i];
        if (record->kind != RECORD_FUNCTION || !covers(record, pc, &size))
            continue;
        if (!best || size < best_size) {
            best = record;
            best_size = size;
        }
    }
    return best;
}

/* Of the copies directly in `parent` the one with the smallest range that covers pc. */
static const struct record *find_copy(const struct push_model *model, const struct record *parent,
                                      uint64_t pc) {
    const struct record *best = NULL;
    uint64_t best_size = 0;
    uint64_t size = 0;
    for (size_t i = 0; i < model->count; i++) {
        const struct record *record = &model->records[i];
        if (record->kind != RECORD_INLINED || &model->records[record->parent] != parent ||
            !covers(record, pc, &size))
            continue;
        if (!best || size < best_size) {
            best = record;
            best_size = size;
        }
    }
    return best;
}

static const struct record *find_leaf(const struct push_model *model, const struct record *function,
                                      uint64_t pc) {
    const struct record *leaf = function;
    for (const struct record *copy; (copy = find_copy(model, leaf, pc)); leaf = copy)
        ;
    return leaf;
}

/* unit SIZE_MAX: of any unit. */
static const struct sink_line *find_row(const struct push_model *model, size_t unit, uint64_t pc) {
    const struct sink_line *best = NULL;
    uint64_t best_size = UINT64_MAX;
    const struct sink_line *first = NULL;
    const struct sink_line *candidate = NULL;
    for (size_t i = 0; i < model->count; i++) {
        const struct record *record = &model->records[i];
        if (record->kind != RECORD_ROW || (unit != SIZE_MAX && record->unit != unit))
            continue;
        if (!first)
            first = &record->row;
        if (record->row.address <= pc && !record->row.end_sequence)
            candidate = &record->row;
        if (!record->row.end_sequence)
            continue;
        uint64_t size = record->row.address - first->address;
        if (candidate && pc < record->row.address && size < best_size) {
            best = candidate;
            best_size = size;
        }
        first = candidate = NULL;
    }
    return best;
}

static struct span file_path(const struct push_model *model, uint32_t file) {
    return span_cstr(file ? model->files[file - 1] : "");
}

static void fill_row(const struct push_model *model, const struct sink_line *row,
                     struct symbol_frame *frame) {
    if (!row)
        return;
    frame->file = file_path(model, row->file);
    frame->line = row->line;
    frame->column = row->column;
}

static enum err add_chain(const struct push_model *model, const struct record *leaf,
                          const struct sink_line *row, struct frame_list *frames,
                          struct error *error) {
    const struct record *callee = NULL;
    for (const struct record *record = leaf; record;
         record = record->parent == SIZE_MAX ? NULL : &model->records[record->parent]) {
        struct symbol_frame frame = {
            .name = record->subject.name,
            .short_name = record->subject.short_name,
            .start_file = file_path(model, record->subject.decl_file),
            .start_line = record->subject.decl_line,
        };
        if (callee) {
            frame.file = file_path(model, callee->inlined.call_file);
            frame.line = callee->inlined.call_line;
            frame.column = callee->inlined.call_column;
        } else {
            fill_row(model, row, &frame);
        }
        enum err err = frame_list_add(frames, &frame, error);
        if (err)
            return err;
        callee = record;
    }
    return ERR_OK;
}

enum err push_model_resolve(const struct push_model *model, uint64_t pc, struct frame_list *frames,
                            struct error *error) {
    frames->count = 0;
    const struct record *function = find_function(model, pc);
    const struct sink_line *row = function ? find_row(model, function->unit, pc) : NULL;
    if (!row)
        row = find_row(model, SIZE_MAX, pc);
    if (function)
        return add_chain(model, find_leaf(model, function, pc), row, frames, error);
    if (!row)
        return ERR_OK;
    struct symbol_frame frame = {0};
    fill_row(model, row, &frame);
    return frame_list_add(frames, &frame, error);
}

static void print_function(const struct push_model *model, const struct record *record, FILE *out) {
    const struct sink_subject *subject = &record->subject;
    fprintf(out, "%*s%s %.*s decl %s:%" PRIu32, (int)record->depth + 1, "",
            record->kind == RECORD_FUNCTION ? "function" : "inlined", (int)subject->name.size,
            subject->name.data, file_path(model, subject->decl_file).data, subject->decl_line);
    if (record->kind == RECORD_INLINED)
        fprintf(out, " call %s:%" PRIu32 ":%" PRIu32,
                file_path(model, record->inlined.call_file).data, record->inlined.call_line,
                record->inlined.call_column);
    for (size_t i = 0; i < record->range_count; i++)
        fprintf(out, " [0x%" PRIx64 ",0x%" PRIx64 ")", record->ranges[i].begin,
                record->ranges[i].end);
    fprintf(out, "\n");
}

void push_model_print(const struct push_model *model, FILE *out) {
    for (size_t i = 0; i < model->count; i++) {
        const struct record *record = &model->records[i];
        switch (record->kind) {
        case RECORD_UNIT:
            fprintf(out, "unit 0x%" PRIx64 " language %" PRIu32 "\n", record->unit_data.offset,
                    record->unit_data.language);
            break;
        case RECORD_FUNCTION:
        case RECORD_INLINED:
            print_function(model, record, out);
            break;
        case RECORD_ROW:
            fprintf(out, " row %zu 0x%" PRIx64 " %s:%" PRIu32 ":%" PRIu32 "%s\n", record->sequence,
                    record->row.address, file_path(model, record->row.file).data, record->row.line,
                    record->row.column, record->row.end_sequence ? " end" : "");
            break;
        case RECORD_DAMAGE:
            fprintf(out, "damage %s\n", record->text);
            break;
        }
    }
}
