#include "symbolizer/build/symbol_model.h"

#include <assert.h>
#include <stdlib.h>

#include "symbolizer/build/symbol_model_internal.h"

#define MEMORY_DEFAULT ((uint64_t)4 << 30)

/* Positions are 32 bits wide, and the largest stands for none. */
#define RECORDS_MAX ((size_t)UINT32_MAX - 1)

/* Added to the number of the push, of which there are a handful. */
#define DYNSYM_RANK ((uint32_t)1 << 16)

static struct symbol_model *model_of(struct symbol_sink *sink) {
    return (struct symbol_model *)sink;
}

static enum err too_many(const char *what, struct error *error) {
    return error_set(error, ERR_LIMIT, "more than %zu %s", RECORDS_MAX, what);
}

static enum err push_unit(struct symbol_sink *sink, const struct sink_unit *unit,
                          struct error *error) {
    (void)unit;
    struct symbol_model *model = model_of(sink);
    enum err err = BUDGET_GROW(&model->budget, model->units, model->unit_capacity,
                               model->unit_count + 1, error);
    if (err)
        return err;
    model->units[model->unit_count++] = (struct model_unit){
        .node_first = (uint32_t)model->node_count,
        .sequence_first = (uint32_t)model->sequence_count,
    };
    return ERR_OK;
}

static enum err push_file(struct symbol_sink *sink, struct span path, uint32_t *ret_file,
                          struct error *error) {
    return string_table_intern(model_of(sink)->files, path, ret_file, error);
}

static enum err add_ranges(struct symbol_model *model, const struct pc_range *ranges, size_t count,
                           struct model_node *node, struct error *error) {
    if (count > RECORDS_MAX - model->range_count)
        return too_many("ranges", error);
    enum err err = BUDGET_GROW(&model->budget, model->ranges, model->range_capacity,
                               model->range_count + count, error);
    if (err)
        return err;
    node->range_first = (uint32_t)model->range_count;
    for (size_t i = 0; i < count; i++)
        if (ranges[i].begin < ranges[i].end)
            model->ranges[model->range_count++] = ranges[i];
    node->range_count = (uint32_t)model->range_count - node->range_first;
    return ERR_OK;
}

static enum err push_subject(struct symbol_sink *sink, const struct sink_subject *pushed,
                             uint32_t *ret_subject, struct error *error) {
    struct symbol_model *model = model_of(sink);
    struct model_function function = {
        .start_file = pushed->decl_file,
        .start_line = pushed->decl_line,
        .flags = pushed->flags,
        .origin = (uint32_t)pushed->origin,
        .name_is_linkage = pushed->name_is_linkage,
    };
    enum err err = ERR_OK;
    if (pushed->name.size > 0)
        err = string_table_intern(model->names, pushed->name, &function.name, error);
    if (err)
        return err;
    return string_table_intern(model->functions, span_of(&function, sizeof(function)), ret_subject,
                               error);
}

static enum err add_node(struct symbol_model *model, const struct model_node *node,
                         uint32_t *ret_node, struct error *error) {
    assert(model->unit_count > 0);
    if (model->node_count >= RECORDS_MAX)
        return too_many("functions", error);
    enum err err = BUDGET_GROW(&model->budget, model->nodes, model->node_capacity,
                               model->node_count + 1, error);
    if (err)
        return err;
    *ret_node = (uint32_t)model->node_count;
    model->nodes[model->node_count++] = *node;
    return ERR_OK;
}

static enum err push_function(struct symbol_sink *sink, const struct sink_function *pushed,
                              uint32_t *ret_node, struct error *error) {
    struct symbol_model *model = model_of(sink);
    struct model_node node = {.function = pushed->subject, .parent = MODEL_NONE};
    enum err err = ERR_OK;
    if (pushed->has_entry_pc) {
        struct model_function function = symbol_model_function(model, pushed->subject);
        function.entry_pc = pushed->entry_pc;
        function.has_entry_pc = true;
        err = string_table_intern(model->functions, span_of(&function, sizeof(function)),
                                  &node.function, error);
    }
    if (err == ERR_OK)
        err = add_ranges(model, pushed->ranges, pushed->range_count, &node, error);
    if (err == ERR_OK)
        err = add_node(model, &node, ret_node, error);
    if (err == ERR_OK)
        model->counts.functions++;
    return err;
}

static enum err push_inlined(struct symbol_sink *sink, const struct sink_inlined *pushed,
                             uint32_t *ret_node, struct error *error) {
    struct symbol_model *model = model_of(sink);
    assert(model->unit_count > 0 && pushed->parent < model->node_count &&
           pushed->parent >= model->units[model->unit_count - 1].node_first);
    const struct model_node *parent = &model->nodes[pushed->parent];
    if (parent->depth + 1 >= FRAME_COUNT_MAX) {
        /* No answer may have so many frames: this copy and those inside it are its parent's. */
        model->counts.damage++;
        *ret_node = pushed->parent;
        return ERR_OK;
    }
    struct model_node node = {
        .function = pushed->subject,
        .parent = pushed->parent,
        .call_file = pushed->call_file,
        .call_line = pushed->call_line,
        .call_column = pushed->call_column,
        .depth = parent->depth + 1,
    };
    enum err err = add_ranges(model, pushed->ranges, pushed->range_count, &node, error);
    if (err == ERR_OK)
        err = add_node(model, &node, ret_node, error);
    if (err == ERR_OK)
        model->counts.inlined++;
    return err;
}

/* Of several rows at one address the last one wins, and a row that repeats the place of the row
 * before it changes no answer: neither kind of loser is kept. Needs room for one row. */
static void add_row(struct symbol_model *model, size_t first, const struct sink_line *line) {
    struct model_row row = {line->address, line->file, line->line, line->column};
    if (model->row_count > first && model->rows[model->row_count - 1].address == line->address)
        model->row_count--;
    if (model->row_count > first) {
        const struct model_row *last = &model->rows[model->row_count - 1];
        if (last->file == row.file && last->line == row.line && last->column == row.column)
            return;
    }
    model->rows[model->row_count++] = row;
}

static enum err reserve_sequence(struct symbol_model *model, size_t row_count,
                                 struct error *error) {
    if (model->sequence_count >= RECORDS_MAX)
        return too_many("line sequences", error);
    if (row_count > RECORDS_MAX - model->row_count)
        return too_many("line rows", error);
    enum err err = BUDGET_GROW(&model->budget, model->sequences, model->sequence_capacity,
                               model->sequence_count + 1, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(&model->budget, model->rows, model->row_capacity,
                          model->row_count + row_count, error);
    return err;
}

static enum err push_sequence(struct symbol_sink *sink, const struct sink_line *rows, size_t count,
                              struct error *error) {
    struct symbol_model *model = model_of(sink);
    assert(model->unit_count > 0 && count >= 2 && rows[count - 1].end_sequence);
    uint64_t end = rows[count - 1].address;
    model->counts.line_rows += count - 1;
    if (rows[0].address >= end)
        return ERR_OK;
    enum err err = reserve_sequence(model, count - 1, error);
    if (err)
        return err;
    size_t first = model->row_count;
    for (size_t i = 0; i + 1 < count; i++) {
        assert(rows[i].address <= rows[i + 1].address);
        add_row(model, first, &rows[i]);
    }
    model->sequences[model->sequence_count++] = (struct model_sequence){
        .begin = rows[0].address,
        .end = end,
        .row_first = (uint32_t)first,
        .row_count = (uint32_t)(model->row_count - first),
    };
    return ERR_OK;
}

static enum err push_symbol(struct symbol_sink *sink, const struct sink_symbol *pushed,
                            struct error *error) {
    struct symbol_model *model = model_of(sink);
    if (pushed->begin >= pushed->end)
        return ERR_OK;
    if (model->symbol_count >= RECORDS_MAX)
        return too_many("symbols", error);
    struct model_symbol symbol = {
        .begin = pushed->begin,
        .end = pushed->end,
        .entry_pc = pushed->entry_pc,
        .rank = model->source + (pushed->origin == SYMBOL_ORIGIN_SYMTAB ? 0 : DYNSYM_RANK),
        .origin = pushed->origin,
    };
    enum err err = BUDGET_GROW(&model->budget, model->symbols, model->symbol_capacity,
                               model->symbol_count + 1, error);
    if (err == ERR_OK)
        err = string_table_intern(model->names, pushed->name, &symbol.name, error);
    if (err)
        return err;
    model->symbols[model->symbol_count++] = symbol;
    model->counts.symbols++;
    return ERR_OK;
}

static void note_damage(struct symbol_sink *sink, const char *what) {
    (void)what;
    model_of(sink)->counts.damage++;
}

static const struct symbol_sink_ops sink_ops = {
    .unit = push_unit,
    .file = push_file,
    .subject = push_subject,
    .function = push_function,
    .inlined = push_inlined,
    .sequence = push_sequence,
    .symbol = push_symbol,
    .damage = note_damage,
};

enum err symbol_model_new(uint64_t memory_max, struct symbol_model **ret_model,
                          struct error *error) {
    CLEANUP(cleanup_symbol_model) struct symbol_model *model = calloc(1, sizeof(*model));
    if (!model)
        return error_set(error, ERR_NO_MEMORY, "no memory for a symbol model");
    model->sink.ops = &sink_ops;
    model->budget.max = memory_max ? memory_max : MEMORY_DEFAULT;
    enum err err = string_table_new(&model->budget, &model->names, error);
    if (err == ERR_OK)
        err = string_table_new(&model->budget, &model->files, error);
    if (err == ERR_OK)
        err = string_table_new(&model->budget, &model->functions, error);
    if (err == ERR_OK)
        *ret_model = TAKE(model);
    return err;
}

void symbol_model_free(struct symbol_model *model) {
    if (!model)
        return;
    struct memory_budget *budget = &model->budget;
    string_table_free(model->names);
    string_table_free(model->files);
    string_table_free(model->functions);
    BUDGET_FREE(budget, model->units, model->unit_capacity);
    BUDGET_FREE(budget, model->nodes, model->node_capacity);
    BUDGET_FREE(budget, model->ranges, model->range_capacity);
    BUDGET_FREE(budget, model->rows, model->row_capacity);
    BUDGET_FREE(budget, model->sequences, model->sequence_capacity);
    BUDGET_FREE(budget, model->symbols, model->symbol_capacity);
    assert(budget->used == 0);
    free(model);
}

struct symbol_sink *symbol_model_sink(struct symbol_model *model) {
    return &model->sink;
}

void symbol_model_end_source(struct symbol_model *model) {
    model->source++;
}

struct symbol_model_counts symbol_model_count(const struct symbol_model *model) {
    return model->counts;
}

struct model_function symbol_model_function(const struct symbol_model *model, uint32_t number) {
    struct model_function function;
    struct span bytes = string_table_get(model->functions, number);
    assert(bytes.size == sizeof(function));
    memcpy(&function, bytes.data, sizeof(function));
    return function;
}
