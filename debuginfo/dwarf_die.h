/*
 * Debugging information entries: reading one where it lies, and what the values that were taken
 * from it mean (DWARF 5, 7.5). A DIE is known by the address of its first byte, which is distinct
 * over all units and files.
 */
#pragma once

#include "debuginfo/dwarf_unit.h"

/* Names over this are left out: no compiler makes them, and each may be asked for many times. */
#define DWARF_NAME_SIZE_MAX ((size_t)256 << 10)

struct dwarf_die {
    const struct dwarf_unit *unit;
    const struct dwarf_abbrev *abbrev;
    const uint8_t *position;
    uint32_t present; /* one bit for each slot that has a value */
    struct dwarf_value values[DWARF_SLOT_COUNT];
};

/* A DIE that has not been read. */
struct dwarf_place {
    const struct dwarf_unit *unit;
    const uint8_t *position;
    bool is_outermost; /* known to lie in the unit DIE, and so in no scope */
};

static inline bool dwarf_die_has(const struct dwarf_die *die, enum dwarf_slot slot) {
    return die->present & (1u << slot);
}

/* ERR_MALFORMED, ERR_LIMIT: there is no DIE, or it cannot be read; ERR_NO_MEMORY. */
enum err dwarf_die_read(const struct dwarf_place *place, struct dwarf_die *ret_die,
                        struct error *error);

/* Runs a program over the values at `position`, which sets slots of *die; what lies behind the
 * values, or NULL when they cannot be read. */
const uint8_t *dwarf_die_take_values(const struct dwarf_step *steps, size_t count,
                                     const uint8_t *position, struct dwarf_die *die);

/* Past values of which none is taken; same failure. */
const uint8_t *dwarf_die_skip_steps(const struct dwarf_unit *unit, const struct dwarf_step *steps,
                                    size_t count, const uint8_t *position);

static inline const uint8_t *dwarf_die_skip_values(const struct dwarf_unit *unit,
                                                   const struct dwarf_abbrevs *abbrevs,
                                                   const struct dwarf_abbrev *abbrev,
                                                   const uint8_t *position) {
    if (__builtin_expect(abbrev->skip_count == 0, 1))
        return dwarf_skip(position, unit->end, abbrev->fixed_size);
    return dwarf_die_skip_steps(unit, abbrevs->steps + abbrev->skip_first, abbrev->skip_count,
                                position);
}

/* The readers below answer false when the attribute is absent, of a wrong form, or leads nowhere.
 */

bool dwarf_die_unsigned(const struct dwarf_die *die, enum dwarf_slot slot, uint64_t *ret_value);

/* The same, 0 where there is none or where it does not fit. */
uint32_t dwarf_die_u32(const struct dwarf_die *die, enum dwarf_slot slot);

/* Empty strings count as absent, and so do those over DWARF_NAME_SIZE_MAX. */
bool dwarf_die_string(const struct dwarf_die *die, enum dwarf_slot slot, struct span *ret_text);
bool dwarf_die_address(const struct dwarf_die *die, enum dwarf_slot slot, uint64_t *ret_address);
bool dwarf_die_reference(const struct dwarf_die *die, enum dwarf_slot slot,
                         struct dwarf_place *ret_place);

/* What abstract_origin or else specification names. */
bool dwarf_die_origin(const struct dwarf_die *die, struct dwarf_place *ret_place);

/* The attributes that state addresses, indexes looked up. */
void dwarf_die_range_attributes(const struct dwarf_die *die,
                                struct dwarf_range_attributes *ret_attributes);
