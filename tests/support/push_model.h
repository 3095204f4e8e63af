/*
 * Keeps what a source pushes, as it came, and answers for an address by the rules that an index
 * builder follows: the smallest range of a function that covers pc; from there down, the copy with
 * the smallest range that covers it; the last row at or before pc in the smallest sequence, of the
 * function's own unit first. Slow and plain, so that it can be compared with the source's own
 * resolve().
 */
#pragma once

#include <stdio.h>

#include "base/symbol_source.h"

struct push_model;

struct push_model *push_model_new(void);
void push_model_free(struct push_model *model);
DEFINE_CLEANUP(push_model, struct push_model, push_model_free)

struct symbol_sink *push_model_sink(struct push_model *model);

/* Spans belong to the model. */
enum err push_model_resolve(const struct push_model *model, uint64_t pc, struct frame_list *frames,
                            struct error *error);

/* One line a record, in the order of arrival: units, functions, inlined copies, rows, damage. */
void push_model_print(const struct push_model *model, FILE *out);

size_t push_model_damage_count(const struct push_model *model);
