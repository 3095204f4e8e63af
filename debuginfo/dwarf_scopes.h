/*
 * The scopes that a function was declared in, for those without a linkage name. A DIE does not know
 * its parent, so the first question about a unit walks it once and keeps the parents of what can
 * need a scope or be one. Any thread may ask.
 */
#pragma once

#include "base/buffer.h"
#include "debuginfo/dwarf_die.h"

struct dwarf_scopes;

void dwarf_scopes_free(struct dwarf_scopes *scopes);
DEFINE_CLEANUP(dwarf_scopes, struct dwarf_scopes, dwarf_scopes_free)

/* Appends "scope::" for each scope of the DIE that declares a function, outermost first. What
 * cannot be read is left out; fails only for lack of memory. */
enum err dwarf_scopes_append(const struct dwarf_place *declaration, struct buffer *text,
                             struct error *error);
