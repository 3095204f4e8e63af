/*
 * Which line row answers at an address, for the sequences of one unit or of all. The smallest
 * sequence that covers the address wins (what the linker dropped leaves large dead ones over live
 * code); in it, the last row at or before the address. Among sequences of the very same range,
 * which identical code folding leaves behind, the one whose row fits the function is taken.
 */
#pragma once

#include "symbolizer/build/sweep.h"
#include "symbolizer/build/symbol_model_internal.h"

struct line_map {
    struct symbol_model *model;
    struct sweep_segments segments;
    struct sweep_range *ranges; /* reused by the next line_map_build */
    size_t range_capacity;
    uint32_t *twins; /* per sequence from `first`: the next of the same range, or MODEL_NONE */
    size_t twin_capacity;
    uint32_t first;
    size_t segment_hint; /* where the last question was answered; questions tend to ascend */
    uint32_t row_hint;
};

/* Maps the sequences [first, end). Zero-initialise the map; it may be built again. */
enum err line_map_build(struct line_map *map, struct symbol_model *model, uint32_t first,
                        uint32_t end, struct error *error);
void line_map_clear(struct line_map *map);

/* What decides between twins. No function: zeroes. */
struct line_context {
    uint64_t entry_pc;
    uint32_t decl_file;
    uint32_t decl_line;
};

struct line_answer {
    const struct model_row *row; /* NULL: no row here */
    uint64_t end;                /* the answer holds up to here; > pc */
};

struct line_answer line_map_at(struct line_map *map, uint64_t pc,
                               const struct line_context *context);
