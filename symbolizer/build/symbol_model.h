/*
 * Everything that the sources know of one binary, collected: the sink that the index builder
 * pushes into. Flat arrays of small records that refer to one another by number; strings are
 * interned. What is kept is what the flattening (symbolizer/build/flatten.h) needs.
 *
 * The model is filled through its sink, in any number of pushes, and then read. All memory is
 * taken from one budget; a push past it fails with ERR_LIMIT. Not thread-safe.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/symbol_source.h"

struct symbol_model;

/* memory_max bounds the model and what the flattening takes beside it. */
enum err symbol_model_new(uint64_t memory_max, struct symbol_model **ret_model,
                          struct error *error);
void symbol_model_free(struct symbol_model *model);
DEFINE_CLEANUP(symbol_model, struct symbol_model, symbol_model_free)

/* For symbol_source push. Symbols of a later push give way to those of an earlier one, and those
 * of .dynsym to those of any .symtab. */
struct symbol_sink *symbol_model_sink(struct symbol_model *model);

/* To be called after each push: the next counts as later. */
void symbol_model_end_source(struct symbol_model *model);

struct symbol_model_counts {
    uint64_t functions;
    uint64_t inlined;
    uint64_t line_rows;
    uint64_t symbols;
    uint64_t damage;
};

struct symbol_model_counts symbol_model_count(const struct symbol_model *model);
