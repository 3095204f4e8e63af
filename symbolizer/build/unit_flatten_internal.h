/* What unit_flatten.c (who answers), unit_functions.c (which range wins) and unit_orphans.c (rows
 * of nobody) share. */
#pragma once

#include "symbolizer/build/inline_paint.h"
#include "symbolizer/build/line_map.h"
#include "symbolizer/build/scope_table.h"
#include "symbolizer/build/unit_flatten.h"

/* A range of a function and how it stands against others of the same. */
struct unit_claim {
    struct pc_range range;
    uint32_t node;
    bool fits; /* as in struct shard_stretch */
};

struct unit_flattener {
    struct memory_budget *budget;
    const struct symbol_map *symbols;
    const struct unit *unit;
    struct shard *shard;
    uint32_t sequence_first; /* of the shard: number of the unit's sequence 0 */

    struct line_map lines;
    struct inline_paint *paint;
    struct scope_table scopes_told;
    struct sweep_segments owned; /* what each claim answers for, by claim and address */
    struct sweep_range *ranges;  /* of claims */
    struct unit_claim *claims;   /* in the order of nodes */
    uint32_t *scopes;            /* per node: its scope, or 0 */
    size_t range_capacity;
    size_t claim_count, claim_capacity;
    size_t scope_capacity;
    uint32_t path[FRAME_COUNT_MAX];
    struct line_context context; /* of the function at hand */
};

/* The function's entry, or where its first range begins. */
uint64_t unit_function_entry(const struct unit *unit, uint32_t node, bool *ret_known);

/* The symbol at the function's entry, or else where its first range begins. */
uint32_t unit_function_symbol(const struct unit_flattener *flattener, uint32_t node,
                              bool *ret_known);

/* True, with the name to take, if the symbol at the function's entry has one that agrees with the
 * function's own and differs (outer_name.h). */
bool unit_function_name(const struct unit_flattener *flattener, uint32_t node, uint32_t symbol,
                        uint32_t *ret_name);

struct line_context unit_function_context(const struct unit_flattener *flattener, uint32_t node);

/* Fills claims and owned. */
enum err unit_claim_functions(struct unit_flattener *flattener, struct error *error);

/* Adds the orphans. Needs lines and owned, which it sorts by address. */
enum err unit_add_orphans(struct unit_flattener *flattener, struct error *error);
