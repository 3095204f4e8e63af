/*
 * The scopes that a function was declared in, for those without a linkage name. A DIE does not know
 * its parent: it is looked for from the unit DIE downwards. The children of a DIE are listed when
 * an answer first lies below it, which steps over what siblings say can be; so a question looks at
 * a small part of its unit, and the next one in it at less. For one thread.
 */
#pragma once

#include "base/buffer.h"
#include "debuginfo/dwarf_die.h"

struct dwarf_scopes;

/* NULL: no memory. */
struct dwarf_scopes *dwarf_scopes_new(void);
void dwarf_scopes_free(struct dwarf_scopes *scopes);
DEFINE_CLEANUP(dwarf_scopes, struct dwarf_scopes, dwarf_scopes_free)

/* Appends "scope::" for each scope of the DIE that declares a function, outermost first. What
 * cannot be read is left out; fails only for lack of memory. */
enum err dwarf_scopes_append(struct dwarf_scopes *scopes, const struct dwarf_place *declaration,
                             struct buffer *text, struct error *error);
