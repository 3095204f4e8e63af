/* What the steps of flattening share: the numbers that the writer gave, and the answers found. */
#pragma once

#include "symbolizer/build/flatten.h"
#include "symbolizer/build/line_map.h"
#include "symbolizer/build/sweep.h"
#include "symbolizer/build/symbol_model_internal.h"

/* --- locations: the model's numbers turned into the writer's, each once --- */

struct location_maker {
    struct symbol_model *model;
    struct index_writer *writer;
    struct sweep_segments symbols; /* who answers among the symbols; ids are positions */
    uint32_t *files;               /* per file number */
    uint32_t *functions;           /* per function number */
    uint32_t *symbol_functions;    /* per symbol */
    uint32_t *callers;             /* per node: the location of the frame it is inlined into */
    uint8_t *demangles;            /* per name number: enum name_state */
    size_t file_capacity, function_capacity, symbol_capacity, caller_capacity, name_capacity;
    uint64_t symbol_function_count;
    uint32_t path[FRAME_COUNT_MAX];
    uint32_t nameless; /* function of rows that nothing names; 0: not made yet */
};

/* Zero-initialise. Sweeps the symbols and makes the tables. */
enum err location_maker_start(struct location_maker *maker, struct symbol_model *model,
                              struct index_writer *writer, struct error *error);
void location_maker_clear(struct location_maker *maker);

/* The innermost frame in `node` at a row (NULL: none), and those around it. */
enum err location_of_node(struct location_maker *maker, uint32_t node, const struct model_row *row,
                          uint32_t *ret_location, struct error *error);

/* A symbol's frame; MODEL_NONE: a frame without a name. */
enum err location_of_symbol(struct location_maker *maker, uint32_t symbol,
                            const struct model_row *row, uint32_t *ret_location,
                            struct error *error);

bool location_node_is_named(const struct location_maker *maker, uint32_t node);

/* The symbol that answers at pc and up to where (if none, where the next begins). */
uint32_t location_symbol_at(const struct location_maker *maker, uint64_t pc, uint64_t *ret_end);

/* --- answers --- */

struct flat_interval {
    uint64_t begin;
    uint64_t end;
    uint32_t location;
    uint8_t miss; /* enum symbol_miss */
    bool named;
};

struct flat_intervals {
    struct flat_interval *list;
    size_t count;
    size_t capacity;
};

/* What DWARF functions cover, in no order. all_lines maps the sequences of all units. */
enum err flatten_functions(struct location_maker *maker, struct line_map *all_lines,
                           struct flat_intervals *intervals, uint64_t *ret_damage,
                           struct error *error);
