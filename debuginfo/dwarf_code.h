/*
 * The functions with live code of a unit, and the live copies that were inlined into them, in the
 * order of the file: what a push and a lookup both go by, so that they agree.
 */
#pragma once

#include "debuginfo/dwarf_walk.h"

struct dwarf_code_walk {
    struct dwarf_walk
        walk; /* walk.die is the present function or copy, walk.context the caller's */
    struct dwarf_range_reader reader;
    struct range_list ranges; /* of the present function or copy; at least one */
};

/* The extents must stay. Zero-initialised walks may be cleared; one walk is used for any number of
 * starts. */
void dwarf_code_walk_init(struct dwarf_code_walk *code, const struct dwarf_extents *extents);
void dwarf_code_walk_clear(struct dwarf_code_walk *code);

/* ERR_MALFORMED, ERR_LIMIT: nothing of the unit can be read; ERR_NO_MEMORY. */
enum err dwarf_code_walk_start(struct dwarf_code_walk *code, const struct dwarf_place *root,
                               struct error *error);

/*
 * Moves on. A function's context comes as DWARF_CONTEXT_NONE, a copy's as that of what it was
 * inlined into; what is inlined into something with the context NONE is left out. Copies without
 * code of their own are left out too, and what is in them belongs to their parent.
 */
enum err dwarf_code_walk_next(struct dwarf_code_walk *code, bool *ret_found, struct error *error);

static inline bool dwarf_code_is_function(const struct dwarf_code_walk *code) {
    return code->walk.die.abbrev->flags & DWARF_ABBREV_SUBPROGRAM;
}

/* DW_AT_low_pc, which is where a function or copy with one range is entered. One with several has
 * no such attribute. */
static inline bool dwarf_code_entry_pc(const struct dwarf_code_walk *code, uint64_t *ret_pc) {
    return dwarf_die_address(&code->walk.die, DWARF_SLOT_LOW_PC, ret_pc);
}

/* Something of what was walked so far was left out. */
static inline bool dwarf_code_is_damaged(const struct dwarf_code_walk *code) {
    return code->walk.damaged || code->reader.damaged;
}
