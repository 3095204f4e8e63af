/*
 * Rows that no function of their own unit answers for, of all shards: what an address outside of
 * functions answers with, and a function where its own unit has no rows. Of sequences that cover an
 * address the smallest wins, ties go to the first pushed.
 */
#pragma once

#include "symbolizer/build/collection.h"

struct line_layer {
    struct collection *collection;
    struct layer_piece *pieces;
    size_t piece_count, piece_capacity;
    struct sweep_segments segments; /* ids are positions of pieces */
    size_t hint;
};

/* Zero-initialise. The shards' orphans and rows must not change while the layer is asked. */
enum err line_layer_build(struct line_layer *layer, struct collection *collection,
                          struct error *error);
void line_layer_clear(struct line_layer *layer);

struct layer_answer {
    const struct index_place *place; /* NULL: no row here */
    uint64_t end;                    /* the answer holds up to here; > pc */
};

/* Questions in ascending order of pc are the fast ones. */
struct layer_answer line_layer_at(struct line_layer *layer, uint64_t pc);
