/*
 * The numbers that scopes, functions and files get in the index file, once all are there: only
 * those that an interval needs, in the orders that symbolizer/index/format.h gives reasons for.
 * They follow from the order of the writer's calls alone.
 */
#pragma once

#include "symbolizer/build/index_writer_internal.h"

/* A function in its final place. */
struct numbered_function {
    uint32_t subject; /* one of those with these contents */
    uint32_t file;    /* string: where line codes refer to */
    uint32_t line;
};

/* Zero-initialise. All arrays are paid from the writer's budget. */
struct index_numbering {
    struct memory_budget *budget;
    uint32_t *scopes;      /* number of the writer's scope n at [n]; 0: not needed */
    uint32_t *scope_order; /* the writer's scope with number n at [n - 1] */
    size_t scope_capacity;
    size_t scope_order_capacity;
    size_t scope_count;
    uint32_t *functions; /* number of the writer's subject n at [n] */
    size_t function_capacity;
    struct record_array function_order; /* struct numbered_function */
    uint32_t *files;                    /* number of string n at [n]; 0: no file of the index */
    size_t file_capacity;
    struct record_array file_order; /* uint32_t: string */
};

enum err index_numbering_make(struct index_numbering *numbering, struct index_writer *writer,
                              struct error *error);
void index_numbering_clear(struct index_numbering *numbering);

static inline const struct numbered_function *
index_numbering_function(const struct index_numbering *numbering, uint32_t number) {
    return record_array_at(&numbering->function_order, number - 1);
}

/* The function of the writer's scope. */
static inline uint32_t index_numbering_function_of(const struct index_numbering *numbering,
                                                   const struct index_writer *writer,
                                                   uint32_t scope) {
    return numbering->functions[writer_scope(writer, scope)->subject];
}
