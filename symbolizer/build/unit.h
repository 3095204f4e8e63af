/*
 * The unit that is being pushed: its functions, inlined copies and line sequences as they came, in
 * arrays that the next unit reuses. Positions count from 0.
 */
#pragma once

#include "symbolizer/build/shard.h"

#define UNIT_NONE UINT32_MAX

/* A function with code of its own, or an inlined copy. */
struct unit_node {
    uint32_t subject; /* of the shard, counted from 1 */
    uint32_t parent;  /* a node before this one; UNIT_NONE: a function */
    struct index_place call;
    uint32_t range_first;
    uint32_t range_count;
    uint32_t depth; /* 0: a function */
    uint32_t entry; /* of a function: position in entries; UNIT_NONE: its entry pc is not known */
};

struct unit_sequence {
    uint64_t begin; /* of the first row; < end */
    uint64_t end;
    uint32_t row_first; /* ascending addresses, distinct, neighbours differ */
    uint32_t row_count; /* at least one */
};

/* Zero-initialise with the budget. */
struct unit {
    struct memory_budget *budget;
    struct unit_node *nodes;
    uint64_t *entries;
    struct pc_range *ranges;
    struct shard_row *rows;
    struct unit_sequence *sequences;
    size_t node_count, node_capacity;
    size_t entry_count, entry_capacity;
    size_t range_count, range_capacity;
    size_t row_count, row_capacity;
    size_t sequence_count, sequence_capacity;
};

/* Makes it the empty unit, and keeps the memory. */
void unit_reset(struct unit *unit);
void unit_clear(struct unit *unit);

/* Each adds what the sink's call of that name is told (base/symbol_source.h). A copy that would be
 * in more frames than an answer may have becomes its parent: *ret_kept is false. */
enum err unit_add_function(struct unit *unit, const struct sink_function *function,
                           uint32_t *ret_node, struct error *error);
enum err unit_add_inlined(struct unit *unit, const struct sink_inlined *inlined, uint32_t *ret_node,
                          bool *ret_kept, struct error *error);
enum err unit_add_sequence(struct unit *unit, const struct sink_line *rows, size_t count,
                           struct error *error);
