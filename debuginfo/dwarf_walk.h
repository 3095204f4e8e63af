/*
 * One pass over the DIEs of a unit, or over one DIE and what lies below it, in the order of the
 * file: without recursion, without memory for each DIE, and in linear time whatever the bytes say.
 * It stops at subprograms and inlined copies that may have code and steps over all other DIEs, and
 * over what is inlined into a function whose context is NONE.
 */
#pragma once

#include "debuginfo/dwarf_die.h"

/* What lies deeper is left out, and is damage. */
#define DWARF_DEPTH_MAX 4096

#define DWARF_CONTEXT_NONE UINT32_MAX

struct dwarf_walk {
    struct dwarf_die die; /* the present one */

    /* The caller's, of the present DIE: what lies below it has it as its own until told otherwise.
     * Comes as DWARF_CONTEXT_NONE for a subprogram, else as that of the parent; a subprogram
     * without code keeps NONE. */
    uint32_t context;

    bool damaged; /* something was left out */

    const struct dwarf_abbrevs *abbrevs;
    const uint8_t *next;
    size_t depth; /* of the present DIE below the root; of the next one once it was entered */
    bool at_die;  /* the present DIE has not been left yet */
    bool at_end;
    uint32_t contexts[DWARF_DEPTH_MAX]; /* of the parents, by the depth of their children */
};

/* Starts at a DIE: the unit's root, or one inside. Failures as dwarf_unit_abbrevs. Nothing to be
 * cleared. */
enum err dwarf_walk_start(struct dwarf_walk *walk, const struct dwarf_place *root,
                          struct error *error);

/* Moves on to the next DIE that is asked for; false at the end. */
bool dwarf_walk_next(struct dwarf_walk *walk);
