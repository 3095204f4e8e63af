#include "debuginfo/dwarf_unit_read.h"

#include <dwarf.h>

#include "base/cursor.h"
#include "debuginfo/dwarf_die.h"
#include "debuginfo/dwarf_info.h"

/* --- the header ------------------------------------------------------------------------------- */

static uint64_t read_offset(struct cursor *cursor, const struct dwarf_encoding *encoding) {
    return encoding->offset_size == 8 ? cursor_u64(cursor) : cursor_u32(cursor);
}

/* The initial length (DWARF 5, 7.4): 0xffffffff says that a 64-bit length follows; the other values
 * from 0xfffffff0 on are reserved. */
static uint64_t read_length(struct cursor *cursor, struct dwarf_encoding *encoding) {
    uint64_t length = cursor_u32(cursor);
    encoding->offset_size = 4;
    if (length == UINT32_MAX) {
        encoding->offset_size = 8;
        length = cursor_u64(cursor);
    } else if (length >= 0xfffffff0) {
        cursor->failed = true;
    }
    return length;
}

static void read_type_fields(struct cursor *cursor, struct dwarf_unit *unit) {
    unit->has_id = true;
    unit->id = cursor_u64(cursor);
    unit->type_offset = read_offset(cursor, &unit->bases.encoding);
}

/* What follows the version, in the order that it has before DWARF 5. */
static void read_old_fields(struct cursor *cursor, struct dwarf_unit *unit) {
    unit->abbrev_offset = read_offset(cursor, &unit->bases.encoding);
    unit->bases.encoding.address_size = cursor_u8(cursor);
    unit->type = unit->in_types ? DW_UT_type : DW_UT_compile;
    if (unit->in_types)
        read_type_fields(cursor, unit);
}

static void read_new_fields(struct cursor *cursor, struct dwarf_unit *unit) {
    unit->type = cursor_u8(cursor);
    unit->bases.encoding.address_size = cursor_u8(cursor);
    unit->abbrev_offset = read_offset(cursor, &unit->bases.encoding);
    if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile) {
        unit->has_id = true;
        unit->id = cursor_u64(cursor);
    } else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type) {
        read_type_fields(cursor, unit);
    }
}

static const char *fault_of(const struct dwarf_sections *sections, const struct dwarf_unit *unit) {
    uint8_t address_size = unit->bases.encoding.address_size;
    if (address_size != 2 && address_size != 4 && address_size != 8)
        return "its addresses have an unknown size";
    if (unit->type < DW_UT_compile || unit->type > DW_UT_split_type)
        return "it is of an unknown type";
    if (unit->abbrev_offset >= sections->abbrev.size)
        return "it has no abbreviations";
    return NULL;
}

/* The fields behind the length, which is known to lie inside the section. */
static const char *read_fields(const struct dwarf_sections *sections, struct cursor *cursor,
                               struct dwarf_unit *unit) {
    unit->bases.encoding.version = cursor_u16(cursor);
    if (unit->bases.encoding.version < 2 || unit->bases.encoding.version > 5)
        return "its version is unknown";
    if (unit->bases.encoding.version >= 5)
        read_new_fields(cursor, unit);
    else
        read_old_fields(cursor, unit);
    if (cursor_failed(cursor))
        return "its header is cut short";
    unit->root = cursor->position;
    return fault_of(sections, unit);
}

enum dwarf_header_verdict dwarf_unit_read_header(const struct dwarf_sections *sections,
                                                 bool in_types, uint64_t offset,
                                                 struct dwarf_unit *unit, uint64_t *ret_next) {
    struct span section = in_types ? sections->types : sections->info;
    struct cursor cursor = cursor_of(section, sections->big_endian, ".debug_info");
    cursor_seek(&cursor, offset);
    unit->header = cursor.position;
    unit->offset = offset;
    unit->in_types = in_types;
    unit->bases.encoding.big_endian = sections->big_endian;
    uint64_t length = read_length(&cursor, &unit->bases.encoding);
    if (length > cursor_left(&cursor) || cursor_failed(&cursor))
        return DWARF_HEADER_LAST;
    unit->end = cursor.position + length;
    *ret_next = cursor_offset(&cursor) + length;
    if (length == 0)
        return DWARF_HEADER_PADDING;
    cursor.end = unit->end;
    unit->damage = read_fields(sections, &cursor, unit);
    return unit->damage ? DWARF_HEADER_BROKEN : DWARF_HEADER_READ;
}

/* --- the unit DIE ----------------------------------------------------------------------------- */

static bool find_declaration(struct dwarf_unit *unit, uint64_t code, struct dwarf_root_memo *memo,
                             uint64_t *io_budget) {
    if (memo->is_known && memo->abbrev_offset == unit->abbrev_offset &&
        memo->declaration.code == code)
        return true;
    memo->abbrev_offset = unit->abbrev_offset;
    memo->is_known = dwarf_declaration_find(dwarf_info_sections(unit->info)->abbrev,
                                            unit->abbrev_offset, code, io_budget,
                                            &memo->declaration);
    return memo->is_known;
}

static bool take_values(struct dwarf_declaration declaration, const uint8_t *position,
                        struct dwarf_die *die) {
    struct dwarf_specification specification;
    bool damaged = false;
    while (dwarf_declaration_next(&declaration, &specification, &damaged)) {
        struct dwarf_value value;
        position = dwarf_form_read(specification.form, specification.implicit_const, position,
                                   die->unit->end, &die->unit->bases.encoding, &value);
        if (!position)
            return false;
        enum dwarf_slot slot = dwarf_slot_of(declaration.tag, specification.attribute);
        if (slot == DWARF_SLOT_COUNT || dwarf_die_has(die, slot))
            continue;
        die->values[slot] = value;
        die->present |= 1u << slot;
    }
    return !damaged;
}

/* A base that is not stated is that of the section's first table, behind its header (DWARF 5, 7.26
 * and 7.27); the tables of split DWARF 4 have no header. */
static uint64_t base_of(const struct dwarf_die *die, enum dwarf_slot slot) {
    const struct dwarf_encoding *encoding = &die->unit->bases.encoding;
    uint64_t base;
    if (dwarf_die_unsigned(die, slot, &base))
        return base;
    if (encoding->version < 5)
        return 0;
    return encoding->offset_size == 8 ? 16 : 8;
}

static void read_bases(const struct dwarf_die *die, struct dwarf_unit *unit) {
    struct dwarf_unit_bases *bases = &unit->bases;
    bases->str_offsets_base = unit->str_offsets_part + base_of(die, DWARF_SLOT_STR_OFFSETS_BASE);
    bases->addr_base = base_of(die, DWARF_SLOT_ADDR_BASE);
    bases->has_rnglists_base =
        dwarf_die_unsigned(die, DWARF_SLOT_RNGLISTS_BASE, &bases->rnglists_base);
    if (unit->in_package) {
        if (!bases->has_rnglists_base)
            bases->rnglists_base = bases->encoding.offset_size == 8 ? 20 : 12;
        bases->has_rnglists_base = true;
        bases->rnglists_base += unit->rnglists_part;
    }
    dwarf_die_unsigned(die, DWARF_SLOT_GNU_RANGES_BASE, &unit->gnu_ranges_base);
    dwarf_die_range_attributes(die, &unit->ranges);
    bases->has_low_pc = unit->ranges.has_low_pc;
    bases->low_pc = unit->ranges.has_low_pc ? unit->ranges.low_pc : 0;
}

static void read_names(const struct dwarf_die *die, struct dwarf_unit *unit) {
    dwarf_die_string(die, DWARF_SLOT_NAME, &unit->name);
    dwarf_die_string(die, DWARF_SLOT_COMP_DIR, &unit->comp_dir);
    dwarf_die_string(die, DWARF_SLOT_DWO_NAME, &unit->dwo_name);
    unit->language = dwarf_die_u32(die, DWARF_SLOT_LANGUAGE);
    unit->has_line_offset = dwarf_die_unsigned(die, DWARF_SLOT_STMT_LIST, &unit->line_offset);
    unit->line_offset += unit->line_part;
}

/* Before DWARF 5 the header does not tell the kinds of units apart: the unit DIE does. */
static const char *read_type(const struct dwarf_die *die, uint64_t tag, struct dwarf_unit *unit) {
    uint64_t id;
    switch (tag) {
    case DW_TAG_partial_unit:
        if (unit->type == DW_UT_compile)
            unit->type = DW_UT_partial;
        break;
    case DW_TAG_compile_unit:
        if (unit->bases.encoding.version < 5 && dwarf_die_unsigned(die, DWARF_SLOT_DWO_ID, &id)) {
            unit->has_id = true;
            unit->id = id;
            if (unit->dwo_name.size > 0)
                unit->type = DW_UT_skeleton;
        }
        break;
    case DW_TAG_type_unit:
    case DW_TAG_skeleton_unit:
        break;
    default:
        return "it does not begin with a unit DIE";
    }
    unit->has_code = unit->type != DW_UT_type && unit->type != DW_UT_split_type;
    return NULL;
}

void dwarf_unit_read_root(struct dwarf_unit *unit, struct dwarf_root_memo *memo,
                          uint64_t *io_budget) {
    const uint8_t *position = unit->root;
    uint64_t code;
    struct dwarf_die die = {.unit = unit, .position = unit->root};
    if (!dwarf_take_uleb(&position, unit->end, &code) || code == 0) {
        unit->damage = "it has no unit DIE";
        return;
    }
    if (!find_declaration(unit, code, memo, io_budget)) {
        unit->damage = "its unit DIE has no abbreviation";
        return;
    }
    if (!take_values(memo->declaration, position, &die)) {
        unit->damage = "its unit DIE cannot be read";
        return;
    }
    read_bases(&die, unit);
    read_names(&die, unit);
    unit->damage = read_type(&die, memo->declaration.tag, unit);
}
