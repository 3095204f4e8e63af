#include "debuginfo/dwarf_die.h"

#include <dwarf.h>
#include <inttypes.h>

#include "debuginfo/dwarf_info.h"

const uint8_t *dwarf_die_take_values(const struct dwarf_step *steps, size_t count,
                                     const uint8_t *position, struct dwarf_die *die) {
    const struct dwarf_encoding *encoding = &die->unit->bases.encoding;
    const uint8_t *end = die->unit->end;
    for (const struct dwarf_step *step = steps; position && step < steps + count; step++) {
        struct dwarf_value *value = &die->values[step->slot];
        switch (step->kind) {
        case DWARF_STEP_FIXED:
            position = dwarf_skip(position, end, step->size);
            break;
        case DWARF_STEP_LEB:
            position = dwarf_skip_leb(position, end);
            break;
        case DWARF_STEP_BLOCK:
            position = dwarf_skip_block(position, end);
            break;
        case DWARF_STEP_FORM:
            position = dwarf_form_skip(step->form, position, end, encoding);
            break;
        case DWARF_STEP_TAKE_FIXED:
            if (step->size > (size_t)(end - position))
                return NULL;
            value->number = dwarf_number_at(position, step->size, encoding->big_endian);
            value->bytes = NULL;
            value->form = step->form;
            position += step->size;
            die->present |= 1u << step->slot;
            break;
        default:
            position =
                dwarf_form_read(step->form, step->implicit_const, position, end, encoding, value);
            die->present |= 1u << step->slot;
            break;
        }
    }
    return position;
}

const uint8_t *dwarf_die_skip_steps(const struct dwarf_unit *unit, const struct dwarf_step *steps,
                                    size_t count, const uint8_t *position) {
    for (const struct dwarf_step *step = steps; position && step < steps + count; step++) {
        if (step->kind == DWARF_STEP_FIXED)
            position = dwarf_skip(position, unit->end, step->size);
        else if (step->kind == DWARF_STEP_LEB)
            position = dwarf_skip_leb(position, unit->end);
        else if (step->kind == DWARF_STEP_BLOCK)
            position = dwarf_skip_block(position, unit->end);
        else
            position = dwarf_form_skip(step->form, position, unit->end, &unit->bases.encoding);
    }
    return position;
}

static enum err no_die(const struct dwarf_place *place, struct error *error) {
    return error_set(error, ERR_MALFORMED,
                     "DWARF unit at 0x%" PRIx64 ": no DIE at its offset 0x%tx", place->unit->offset,
                     place->position - place->unit->header);
}

enum err dwarf_die_read(const struct dwarf_place *place, struct dwarf_die *ret_die,
                        struct error *error) {
    const struct dwarf_unit *unit = place->unit;
    const struct dwarf_abbrevs *abbrevs;
    enum err err = dwarf_unit_abbrevs(unit, &abbrevs, error);
    if (err)
        return err;
    const uint8_t *position = place->position;
    uint64_t code;
    if (!dwarf_take_uleb(&position, unit->end, &code) || code == 0)
        return no_die(place, error);
    const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(abbrevs, code);
    if (!abbrev || (abbrev->flags & DWARF_ABBREV_BROKEN))
        return no_die(place, error);
    ret_die->unit = unit;
    ret_die->abbrev = abbrev;
    ret_die->position = place->position;
    ret_die->present = 0;
    position = dwarf_die_take_values(abbrevs->steps + abbrev->take_first, abbrev->take_count,
                                     position, ret_die);
    return position ? ERR_OK : no_die(place, error);
}

bool dwarf_die_unsigned(const struct dwarf_die *die, enum dwarf_slot slot, uint64_t *ret_value) {
    if (!dwarf_die_has(die, slot))
        return false;
    const struct dwarf_value *value = &die->values[slot];
    switch (value->form) {
    case DW_FORM_sdata:
    case DW_FORM_implicit_const:
        if ((int64_t)value->number < 0)
            return false;
        break;
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_udata:
    case DW_FORM_sec_offset:
    case DW_FORM_rnglistx:
    case DW_FORM_loclistx:
        break;
    default:
        return false;
    }
    *ret_value = value->number;
    return true;
}

uint32_t dwarf_die_u32(const struct dwarf_die *die, enum dwarf_slot slot) {
    uint64_t number;
    return dwarf_die_unsigned(die, slot, &number) && number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* --- strings ---------------------------------------------------------------------------------- */

static bool string_at(struct span section, uint64_t offset, struct span *ret_text) {
    if (offset >= section.size)
        return false;
    const char *text = section.data + offset;
    size_t left = section.size - offset;
    size_t size_max = left <= DWARF_NAME_SIZE_MAX ? left : DWARF_NAME_SIZE_MAX + 1;
    size_t size = strnlen(text, size_max);
    if (size == 0 || size == size_max)
        return false;
    *ret_text = span_of(text, size);
    return true;
}

/* An entry of the unit's part of .debug_str_offsets (DWARF 5, 7.26). */
static bool indexed_string(const struct dwarf_die *die, uint64_t index, struct span *ret_text) {
    const struct dwarf_unit_bases *bases = &die->unit->bases;
    const struct dwarf_sections *sections = dwarf_info_sections(die->unit->info);
    unsigned size = bases->encoding.offset_size;
    uint64_t base = bases->str_offsets_base;
    if (base > sections->str_offsets.size || index >= (sections->str_offsets.size - base) / size)
        return false;
    const uint8_t *entry = (const uint8_t *)sections->str_offsets.data + base + index * size;
    return string_at(sections->str, dwarf_number_at(entry, size, bases->encoding.big_endian),
                     ret_text);
}

static bool supplementary_string(const struct dwarf_die *die, uint64_t offset,
                                 struct span *ret_text) {
    const struct dwarf_info *supplement = dwarf_info_supplement(die->unit->info);
    return supplement && string_at(dwarf_info_sections(supplement)->str, offset, ret_text);
}

bool dwarf_die_string(const struct dwarf_die *die, enum dwarf_slot slot, struct span *ret_text) {
    if (!dwarf_die_has(die, slot))
        return false;
    const struct dwarf_value *value = &die->values[slot];
    const struct dwarf_sections *sections = dwarf_info_sections(die->unit->info);
    switch (value->form) {
    case DW_FORM_string:
        if (value->number == 0 || value->number > DWARF_NAME_SIZE_MAX)
            return false;
        *ret_text = span_of(value->bytes, value->number);
        return true;
    case DW_FORM_strp:
        return string_at(sections->str, value->number, ret_text);
    case DW_FORM_line_strp:
        return string_at(sections->line_str, value->number, ret_text);
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
        return indexed_string(die, value->number, ret_text);
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
        return supplementary_string(die, value->number, ret_text);
    default:
        return false;
    }
}

/* --- addresses -------------------------------------------------------------------------------- */

bool dwarf_die_address(const struct dwarf_die *die, enum dwarf_slot slot, uint64_t *ret_address) {
    if (!dwarf_die_has(die, slot))
        return false;
    const struct dwarf_value *value = &die->values[slot];
    switch (value->form) {
    case DW_FORM_addr:
        *ret_address = value->number;
        return true;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
        return dwarf_address_at(dwarf_info_sections(die->unit->info), &die->unit->bases,
                                value->number, ret_address);
    default:
        return false;
    }
}

void dwarf_die_range_attributes(const struct dwarf_die *die,
                                struct dwarf_range_attributes *ret_attributes) {
    struct dwarf_range_attributes attributes = {0};
    attributes.has_low_pc = dwarf_die_address(die, DWARF_SLOT_LOW_PC, &attributes.low_pc);
    attributes.has_high_pc = dwarf_die_address(die, DWARF_SLOT_HIGH_PC, &attributes.high_pc);
    if (!attributes.has_high_pc)
        attributes.has_high_pc = attributes.high_pc_is_size =
            dwarf_die_unsigned(die, DWARF_SLOT_HIGH_PC, &attributes.high_pc);
    attributes.has_ranges = dwarf_die_unsigned(die, DWARF_SLOT_RANGES, &attributes.ranges);
    attributes.ranges_is_index = attributes.has_ranges &&
                                 die->values[DWARF_SLOT_RANGES].form == DW_FORM_rnglistx;
    *ret_attributes = attributes;
}

/* --- references ------------------------------------------------------------------------------- */

static bool place_in(const struct dwarf_unit *unit, uint64_t offset,
                     struct dwarf_place *ret_place) {
    if (!unit || unit->damage || offset >= (uint64_t)(unit->end - unit->header) ||
        unit->header + offset < unit->root)
        return false;
    *ret_place = (struct dwarf_place){.unit = unit, .position = unit->header + offset};
    return true;
}

static bool place_in_info(const struct dwarf_info *info, uint64_t offset,
                          struct dwarf_place *ret_place) {
    const struct dwarf_unit *unit = info ? dwarf_info_unit_at(info, offset) : NULL;
    return unit && place_in(unit, offset - unit->offset, ret_place);
}

bool dwarf_die_reference(const struct dwarf_die *die, enum dwarf_slot slot,
                         struct dwarf_place *ret_place) {
    if (!dwarf_die_has(die, slot))
        return false;
    const struct dwarf_unit *unit = die->unit;
    const struct dwarf_value *value = &die->values[slot];
    switch (value->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        return place_in(unit, value->number, ret_place);
    case DW_FORM_ref_addr:
        return place_in_info(unit->info, value->number, ret_place);
    case DW_FORM_ref_sig8:
        unit = dwarf_info_type_unit(unit->info, value->number);
        return unit && place_in(unit, unit->type_offset, ret_place);
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
    case DW_FORM_GNU_ref_alt:
        return place_in_info(dwarf_info_supplement(unit->info), value->number, ret_place);
    default:
        return false;
    }
}

bool dwarf_die_origin(const struct dwarf_die *die, struct dwarf_place *ret_place) {
    return dwarf_die_reference(die, DWARF_SLOT_ABSTRACT_ORIGIN, ret_place) ||
           dwarf_die_reference(die, DWARF_SLOT_SPECIFICATION, ret_place);
}
