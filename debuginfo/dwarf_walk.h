/*
 * One pass over the DIEs of a unit, or over one DIE and what lies below it, in the order of the
 * file: without recursion, without memory for each DIE, and in linear time whatever the bytes say.
 * It stops at the DIEs that are asked for and steps over all others.
 */
#pragma once

#include "debuginfo/dwarf_die.h"

/* What lies deeper is left out, and is damage. */
#define DWARF_DEPTH_MAX 4096

#define DWARF_CONTEXT_NONE UINT32_MAX

enum dwarf_walk_kind {
    /*
     * DW_TAG_subprogram and DW_TAG_inlined_subroutine that may have code; their values are taken.
     * What is inlined into a function whose context is NONE is stepped over. A function without
     * code has the context NONE.
     */
    DWARF_WALK_CODE,
    /* What can be somebody's scope, and subprograms; values are not taken. */
    DWARF_WALK_SCOPES,
};

struct dwarf_walk {
    struct dwarf_die die; /* the present one; with DWARF_WALK_SCOPES only unit, abbrev, position */

    /* The caller's, of the present DIE: what lies below it has it as its own until told otherwise.
     * Comes as DWARF_CONTEXT_NONE for a subprogram, else as that of the parent. */
    uint32_t context;

    bool damaged; /* something was left out */

    enum dwarf_walk_kind kind;
    const struct dwarf_abbrevs *abbrevs;
    const uint8_t *next;
    size_t depth; /* of the present DIE below the root; of the next one once it was entered */
    bool at_die;  /* the present DIE has not been left yet */
    bool at_end;
    uint32_t contexts[DWARF_DEPTH_MAX]; /* of the parents, by the depth of their children */
};

/* Starts at a DIE: the unit's root, or one inside. Failures as dwarf_unit_abbrevs. Nothing to be
 * cleared. */
enum err dwarf_walk_start(struct dwarf_walk *walk, enum dwarf_walk_kind kind,
                          const struct dwarf_place *root, struct error *error);

/* Moves on to the next DIE that is asked for; false at the end. */
bool dwarf_walk_next(struct dwarf_walk *walk);
