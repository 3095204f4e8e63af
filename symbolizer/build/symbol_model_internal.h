/* The records of a symbol model, for what flattens it. Numbers of strings, files and function
 * descriptions count from 1; 0 is "none". All other numbers are positions in an array. */
#pragma once

#include <stdbool.h>

#include "symbolizer/build/budget.h"
#include "symbolizer/build/string_table.h"
#include "symbolizer/build/symbol_model.h"

#define MODEL_NONE UINT32_MAX

/* What frames of one function share. Interned by its bytes, so it has no padding. */
struct model_function {
    uint64_t entry_pc;
    uint32_t name;
    uint32_t start_file;
    uint32_t start_line;
    uint32_t flags;
    uint32_t origin;          /* enum symbol_origin */
    uint16_t has_entry_pc;    /* never of inlined copies: they have one each */
    uint16_t name_is_linkage; /* to be tried by demangle() */
};
_Static_assert(sizeof(struct model_function) == 32, "no padding in what is hashed");

/* A function with code of its own, or an inlined copy. */
struct model_node {
    uint32_t function; /* number in model->functions */
    uint32_t parent;   /* position of a node before this one; MODEL_NONE: a function */
    uint32_t call_file;
    uint32_t call_line;
    uint32_t call_column;
    uint32_t range_first;
    uint32_t range_count;
    uint32_t depth; /* 0: a function */
};

struct model_row {
    uint64_t address;
    uint32_t file;
    uint32_t line;
    uint32_t column;
};

struct model_sequence {
    uint64_t begin; /* of the first row; < end */
    uint64_t end;
    uint32_t row_first; /* ascending addresses, distinct, neighbours differ */
    uint32_t row_count; /* at least one */
};

struct model_symbol {
    uint64_t begin;
    uint64_t end;
    uint64_t entry_pc;
    uint32_t name;
    uint32_t rank; /* smaller wins */
    enum symbol_origin origin;
};

/* Nodes and sequences from here up to the next unit's. */
struct model_unit {
    uint32_t node_first;
    uint32_t sequence_first;
};

struct symbol_model {
    struct symbol_sink sink;
    struct memory_budget budget;
    struct string_table *names;
    struct string_table *files;
    struct string_table *functions; /* of struct model_function */

    struct model_unit *units;
    struct model_node *nodes;
    struct pc_range *ranges;
    struct model_row *rows;
    struct model_sequence *sequences;
    struct model_symbol *symbols;
    size_t unit_count, unit_capacity;
    size_t node_count, node_capacity;
    size_t range_count, range_capacity;
    size_t row_count, row_capacity;
    size_t sequence_count, sequence_capacity;
    size_t symbol_count, symbol_capacity;

    uint32_t source; /* pushes ended so far */
    struct symbol_model_counts counts;
};

struct model_function symbol_model_function(const struct symbol_model *model, uint32_t number);

static inline uint32_t model_unit_node_end(const struct symbol_model *model, size_t unit) {
    return unit + 1 < model->unit_count ? model->units[unit + 1].node_first
                                        : (uint32_t)model->node_count;
}

static inline uint32_t model_unit_sequence_end(const struct symbol_model *model, size_t unit) {
    return unit + 1 < model->unit_count ? model->units[unit + 1].sequence_first
                                        : (uint32_t)model->sequence_count;
}
