/*
 * The addresses that a DIE covers: DW_AT_low_pc with DW_AT_high_pc, or DW_AT_ranges, which names a
 * list in .debug_ranges (DWARF 4, 2.17.3) or .debug_rnglists (DWARF 5, 2.17.3 and 7.25); and the
 * table .debug_addr, which both and the forms DW_FORM_addrx* go through (DWARF 5, 7.27).
 *
 * What is handed out begins before its end and is live (debuginfo/dwarf_extents.h). Bytes are
 * hostile: many DIEs may name one long list, so that the entries read are counted.
 *
 * A .dwo's unit is read with the sections of the .dwo, into which the skeleton's .debug_addr and,
 * in version 4, .debug_ranges were put, and with the skeleton's bases but for rnglists_base,
 * which it does not have. gnu_ranges_base is 0 in the bases of every other unit: it does not apply
 * to the skeleton that states it.
 */
#pragma once

#include "debuginfo/dwarf_extents.h"
#include "debuginfo/dwarf_sections.h"
#include "debuginfo/range_list.h"

/* Entries of range lists that one push or one lookup reads; real ones stay far below. */
#define DWARF_RANGE_BUDGET ((uint64_t)1 << 30)

/* What stands in the DIE. An address given by its index has been looked up already. */
struct dwarf_range_attributes {
    uint64_t low_pc;
    uint64_t high_pc;
    uint64_t ranges;
    bool has_low_pc;
    bool has_high_pc;
    bool has_ranges;
    bool high_pc_is_size; /* of class constant: counts from low_pc */
    bool ranges_is_index; /* DW_FORM_rnglistx */
};

struct dwarf_range_reader {
    const struct dwarf_sections *sections;
    const struct dwarf_unit_bases *bases;
    const struct dwarf_extents *extents;
    uint64_t budget; /* entries that may still be read; DWARF_RANGE_BUDGET at first */
    bool damaged;    /* set, never cleared, where something could not be read and was left out */
};

/* Replaces the contents of `list` by the live ranges of a DIE, in the order of the file. Fails only
 * for lack of memory. */
enum err dwarf_ranges_read(struct dwarf_range_reader *reader,
                           const struct dwarf_range_attributes *attributes, struct range_list *list,
                           struct error *error);

/* The address at an index of the unit's part of .debug_addr; false if there is none. */
bool dwarf_address_at(const struct dwarf_sections *sections, const struct dwarf_unit_bases *bases,
                      uint64_t index, uint64_t *ret_address);
