/*
 * The children of one DIE that have children themselves, in the order of the file: one level of a
 * unit's tree.
 */
#pragma once

#include "debuginfo/dwarf_die.h"

struct dwarf_sibling {
    const uint8_t *position;
    const uint8_t *end;   /* behind all that lies below it */
    const uint8_t *below; /* its first child */
    bool is_scope;        /* as DWARF_ABBREV_SCOPE */
    uint32_t level;       /* the caller's; 0 at first */
};

struct dwarf_siblings {
    struct dwarf_sibling *items;
    size_t count;
    size_t capacity;
};

void dwarf_siblings_clear(struct dwarf_siblings *siblings);

/*
 * Lists the level that begins at `first`, the first child of some DIE. Where a DIE does not say
 * what its sibling is, what lies below it is walked to find it. Damage ends the list early.
 * Failures as dwarf_unit_abbrevs; zero-initialise, end with dwarf_siblings_clear.
 */
enum err dwarf_siblings_read(const struct dwarf_unit *unit, const uint8_t *first,
                             struct dwarf_siblings *siblings, struct error *error);

/* The one that covers a position, itself or below; NULL: none does. O(log n). */
struct dwarf_sibling *dwarf_siblings_at(const struct dwarf_siblings *siblings,
                                        const uint8_t *position);

/* The first child of the unit DIE; NULL when it has none or cannot be read. */
enum err dwarf_siblings_first(const struct dwarf_unit *unit, const uint8_t **ret_first,
                              struct error *error);
