/*
 * Reading a unit's header and its unit DIE, for dwarf_info.h: which of them there are, and what
 * they say of themselves.
 */
#pragma once

#include "debuginfo/dwarf_unit.h"

enum dwarf_header_verdict {
    DWARF_HEADER_READ,
    DWARF_HEADER_PADDING, /* an empty unit, as some linkers fill gaps */
    DWARF_HEADER_BROKEN,  /* the unit cannot be read (unit->damage), but the next one can */
    DWARF_HEADER_LAST,    /* the length cannot be trusted: where the next one begins is unknown */
};

/* Fills in what the header says of the unit at the offset; *ret_next is where the next one begins,
 * unless the answer is DWARF_HEADER_LAST. */
enum dwarf_header_verdict dwarf_unit_read_header(const struct dwarf_sections *sections,
                                                 bool in_types, uint64_t offset,
                                                 struct dwarf_unit *unit, uint64_t *ret_next);

/* The declaration that the last unit DIE used: many units share it. */
struct dwarf_root_memo {
    struct dwarf_declaration declaration;
    uint64_t abbrev_offset;
    bool is_known;
};

/* Fills in what the unit DIE says. unit->info is set, so that strings and addresses can be read.
 * *io_budget: bytes of abbreviations that may still be looked through. */
void dwarf_unit_read_root(struct dwarf_unit *unit, struct dwarf_root_memo *memo,
                          uint64_t *io_budget);
