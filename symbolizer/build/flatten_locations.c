#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "symbolizer/build/flatten_internal.h"
#include "symbolizer/index/demangle.h"

enum name_state { NAME_UNTRIED, NAME_DEMANGLES, NAME_PLAIN };

/* --- tables --- */

static enum err sweep_symbols(struct location_maker *maker, struct error *error) {
    struct symbol_model *model = maker->model;
    struct sweep_range *ranges = NULL;
    size_t capacity = 0;
    enum err err = BUDGET_GROW(&model->budget, ranges, capacity, model->symbol_count, error);
    for (size_t i = 0; err == ERR_OK && i < model->symbol_count; i++)
        ranges[i] = (struct sweep_range){.begin = model->symbols[i].begin,
                                         .end = model->symbols[i].end,
                                         .key = model->symbols[i].rank,
                                         .id = (uint32_t)i};
    if (err == ERR_OK)
        err = sweep(&model->budget, ranges, model->symbol_count, &maker->symbols, error);
    BUDGET_FREE(&model->budget, ranges, capacity);
    return err;
}

enum err location_maker_start(struct location_maker *maker, struct symbol_model *model,
                              struct index_writer *writer, struct error *error) {
    maker->model = model;
    maker->writer = writer;
    struct memory_budget *budget = &model->budget;
    size_t files = (size_t)string_table_count(model->files) + 1;
    size_t names = (size_t)string_table_count(model->names) + 1;
    size_t functions = (size_t)string_table_count(model->functions) + 1;
    enum err err = sweep_symbols(maker, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(budget, maker->files, maker->file_capacity, files, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(budget, maker->functions, maker->function_capacity, functions, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(budget, maker->symbol_functions, maker->symbol_capacity,
                          model->symbol_count + 1, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(budget, maker->callers, maker->caller_capacity, model->node_count + 1,
                          error);
    if (err == ERR_OK)
        err = BUDGET_GROW(budget, maker->demangles, maker->name_capacity, names, error);
    if (err)
        return err;
    memset(maker->files, 0, files * sizeof(*maker->files));
    memset(maker->functions, 0, functions * sizeof(*maker->functions));
    memset(maker->symbol_functions, 0, (model->symbol_count + 1) * sizeof(uint32_t));
    memset(maker->callers, 0, (model->node_count + 1) * sizeof(*maker->callers));
    memset(maker->demangles, NAME_UNTRIED, names);
    return ERR_OK;
}

void location_maker_clear(struct location_maker *maker) {
    if (!maker->model)
        return;
    struct memory_budget *budget = &maker->model->budget;
    sweep_segments_clear(budget, &maker->symbols);
    BUDGET_FREE(budget, maker->files, maker->file_capacity);
    BUDGET_FREE(budget, maker->functions, maker->function_capacity);
    BUDGET_FREE(budget, maker->symbol_functions, maker->symbol_capacity);
    BUDGET_FREE(budget, maker->callers, maker->caller_capacity);
    BUDGET_FREE(budget, maker->demangles, maker->name_capacity);
}

/* --- names, files, functions --- */

/* The readable form is made again when asked for; here only whether there is one. */
static bool name_demangles(struct location_maker *maker, uint32_t name) {
    if (name == 0)
        return false;
    uint8_t *state = &maker->demangles[name];
    if (*state == NAME_UNTRIED) {
        struct buffer text = {.size_max = DEMANGLE_OUTPUT_SIZE_MAX};
        bool good = demangle(string_table_get(maker->model->names, name), &text);
        buffer_clear(&text);
        *state = good ? NAME_DEMANGLES : NAME_PLAIN;
    }
    return *state == NAME_DEMANGLES;
}

static enum err file_of(struct location_maker *maker, uint32_t number, uint32_t *ret_file,
                        struct error *error) {
    if (number != 0 && maker->files[number] == 0) {
        struct span path = string_table_get(maker->model->files, number);
        enum err err = index_writer_file(maker->writer, path, &maker->files[number], error);
        if (err)
            return err;
    }
    *ret_file = number ? maker->files[number] : 0;
    return ERR_OK;
}

uint32_t location_symbol_at(const struct location_maker *maker, uint64_t pc, uint64_t *ret_end) {
    size_t at = sweep_segments_find(&maker->symbols, pc);
    if (at == maker->symbols.count) {
        *ret_end = UINT64_MAX;
        return MODEL_NONE;
    }
    const struct sweep_segment *segment = &maker->symbols.list[at];
    bool inside = segment->begin <= pc;
    *ret_end = inside ? segment->end : segment->begin;
    return inside ? segment->id : MODEL_NONE;
}

/* What a function lacks of a name is the name of the symbol at its entry, and then the answer is
 * the symbol table's. */
static void name_by_symbol(struct location_maker *maker, struct model_function *function) {
    uint64_t end;
    uint32_t symbol = function->has_entry_pc ? location_symbol_at(maker, function->entry_pc, &end)
                                             : MODEL_NONE;
    if (symbol == MODEL_NONE)
        return;
    function->name = maker->model->symbols[symbol].name;
    function->origin = maker->model->symbols[symbol].origin;
    function->name_is_linkage = 1;
}

static enum err function_of(struct location_maker *maker, uint32_t number, uint32_t *ret_function,
                            struct error *error) {
    uint32_t *known = &maker->functions[number];
    if (*known == 0) {
        struct symbol_model *model = maker->model;
        struct model_function function = symbol_model_function(model, number);
        if (function.name == 0)
            name_by_symbol(maker, &function);
        bool demangles = function.name_is_linkage && name_demangles(maker, function.name);
        struct index_function wanted = {
            .name = string_table_get(model->names, function.name),
            .start_file = string_table_get(model->files, function.start_file),
            .start_line = function.start_line,
            .flags = function.flags | (demangles ? SYMBOL_DEMANGLES : 0),
            .origin = (enum symbol_origin)function.origin,
            .entry_pc = function.entry_pc,
            .has_entry_pc = function.has_entry_pc,
        };
        enum err err = index_writer_function(maker->writer, &wanted, known, error);
        if (err)
            return err;
    }
    *ret_function = *known;
    return ERR_OK;
}

bool location_node_is_named(const struct location_maker *maker, uint32_t node) {
    struct model_function function =
        symbol_model_function(maker->model, maker->model->nodes[node].function);
    uint64_t end;
    return function.name != 0 || (function.has_entry_pc &&
                                  location_symbol_at(maker, function.entry_pc, &end) != MODEL_NONE);
}

/* --- locations --- */

/* The frame around one inlined copy: its parent's function at the place of the call. The frame
 * around the parent is known already. */
static enum err make_caller(struct location_maker *maker, uint32_t node, struct error *error) {
    const struct model_node *copy = &maker->model->nodes[node];
    const struct model_node *parent = &maker->model->nodes[copy->parent];
    struct index_location location = {
        .line = copy->call_line,
        .column = copy->call_column,
        .parent = maker->callers[copy->parent],
    };
    enum err err = function_of(maker, parent->function, &location.function, error);
    if (err == ERR_OK)
        err = file_of(maker, copy->call_file, &location.file, error);
    if (err == ERR_OK)
        err = index_writer_location(maker->writer, &location, &maker->callers[node], error);
    return err;
}

/* All frames around a node, outermost first, as far as they were not made for another one. */
static enum err make_callers(struct location_maker *maker, uint32_t node, struct error *error) {
    const struct model_node *nodes = maker->model->nodes;
    size_t count = 0;
    while (nodes[node].parent != MODEL_NONE && maker->callers[node] == 0) {
        assert(count < FRAME_COUNT_MAX);
        maker->path[count++] = node;
        node = nodes[node].parent;
    }
    enum err err = ERR_OK;
    while (err == ERR_OK && count > 0)
        err = make_caller(maker, maker->path[--count], error);
    return err;
}

static enum err at_row(struct location_maker *maker, struct index_location *location,
                       const struct model_row *row, uint32_t *ret_location, struct error *error) {
    enum err err = ERR_OK;
    if (row) {
        location->line = row->line;
        location->column = row->column;
        err = file_of(maker, row->file, &location->file, error);
    }
    if (err == ERR_OK)
        err = index_writer_location(maker->writer, location, ret_location, error);
    return err;
}

enum err location_of_node(struct location_maker *maker, uint32_t node, const struct model_row *row,
                          uint32_t *ret_location, struct error *error) {
    struct index_location location = {0};
    enum err err = make_callers(maker, node, error);
    if (err == ERR_OK)
        err = function_of(maker, maker->model->nodes[node].function, &location.function, error);
    location.parent = maker->callers[node];
    return err ? err : at_row(maker, &location, row, ret_location, error);
}

static enum err symbol_function(struct location_maker *maker, uint32_t number,
                                uint32_t *ret_function, struct error *error) {
    const struct model_symbol *symbol = &maker->model->symbols[number];
    uint32_t *known = &maker->symbol_functions[number];
    if (*known == 0) {
        struct index_function function = {
            .name = string_table_get(maker->model->names, symbol->name),
            .flags = name_demangles(maker, symbol->name) ? SYMBOL_DEMANGLES : 0,
            .origin = symbol->origin,
            .entry_pc = symbol->entry_pc,
            .has_entry_pc = true,
        };
        enum err err = index_writer_function(maker->writer, &function, known, error);
        if (err)
            return err;
        maker->symbol_function_count++;
    }
    *ret_function = *known;
    return ERR_OK;
}

static enum err nameless_function(struct location_maker *maker, uint32_t *ret_function,
                                  struct error *error) {
    struct index_function function = {.origin = SYMBOL_ORIGIN_DWARF};
    enum err err = maker->nameless
                       ? ERR_OK
                       : index_writer_function(maker->writer, &function, &maker->nameless, error);
    if (err == ERR_OK)
        *ret_function = maker->nameless;
    return err;
}

enum err location_of_symbol(struct location_maker *maker, uint32_t symbol,
                            const struct model_row *row, uint32_t *ret_location,
                            struct error *error) {
    struct index_location location = {0};
    enum err err = symbol == MODEL_NONE ? nameless_function(maker, &location.function, error)
                                        : symbol_function(maker, symbol, &location.function, error);
    return err ? err : at_row(maker, &location, row, ret_location, error);
}
