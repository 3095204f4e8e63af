/*
 * Which line row of a unit answers at an address. The smallest sequence that covers the address
 * wins (what the linker dropped leaves large dead ones over live code); in it, the last row at or
 * before the address. Among sequences of the very same range, which identical code folding leaves
 * behind, the one whose row fits the function is taken.
 */
#pragma once

#include "symbolizer/build/sweep.h"
#include "symbolizer/build/unit.h"

/* Zero-initialise; it may be built again. */
struct line_map {
    const struct unit *unit;
    struct sweep_segments segments;
    struct sweep_range *ranges; /* reused by the next line_map_build */
    size_t range_capacity;
    uint32_t *twins; /* per sequence: the next of the same range, or UNIT_NONE */
    size_t twin_capacity;
    size_t segment_hint; /* where the last question was answered; questions tend to ascend */
    uint32_t row_hint;
};

/* The unit must not change while the map is asked. */
enum err line_map_build(struct line_map *map, const struct unit *unit, struct error *error);
void line_map_clear(struct line_map *map);

/* What decides between twins. No function: zeroes. */
struct line_context {
    uint64_t entry_pc;
    uint32_t decl_file;
    uint32_t decl_line;
};

struct line_answer {
    const struct shard_row *row; /* NULL: no row here */
    uint32_t sequence;           /* position of the row's */
    uint64_t end;                /* the answer holds up to here; > pc */
};

struct line_answer line_map_at(struct line_map *map, uint64_t pc,
                               const struct line_context *context);

/* Whether the row at the function's entry is of its file and not above its first line. False where
 * either is not known. */
bool line_map_fits(struct line_map *map, const struct line_context *context);
