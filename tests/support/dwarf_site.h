/*
 * Hand-made units: declarations, headers and DIEs, byte by byte, and the reader over them. Running
 * out of memory ends the test.
 */
#pragma once

#include "debuginfo/dwarf_info.h"
#include "tests/support/dwarf_bytes.h"

struct dwarf_site {
    struct dwarf_bytes info;
    struct dwarf_bytes types;
    struct dwarf_bytes abbrev;
    struct dwarf_bytes str;
    struct dwarf_bytes str_offsets;
    struct dwarf_bytes addr;
    struct dwarf_bytes line_str;
    struct dwarf_info *units; /* after dwarf_site_read */
};

void dwarf_site_clear(struct dwarf_site *site);

/* Of all sections; to be called first where it is not little-endian. */
void dwarf_site_set_big_endian(struct dwarf_site *site);

/* Appends a declaration; pairs of attribute and form follow, ended by 0. */
void declare(struct dwarf_site *site, uint64_t code, uint64_t tag, int children, ...);
void end_declarations(struct dwarf_site *site);

struct dwarf_site_unit {
    uint16_t version;
    uint8_t type; /* DW_UT_*, of version 5; of others DW_UT_type stands in .debug_types */
    uint8_t address_size;
    uint8_t offset_size;
    uint64_t id;
    uint64_t type_offset;
    uint64_t abbrev_offset;
};

/* Begins a unit with its header in .debug_info or .debug_types, and returns where its length is. */
size_t begin_unit(struct dwarf_site *site, const struct dwarf_site_unit *unit);
void end_unit(struct dwarf_site *site, const struct dwarf_site_unit *unit, size_t begin);

/* The usual one: version 4, addresses of 8 bytes. */
size_t begin_plain_unit(struct dwarf_site *site);
void end_plain_unit(struct dwarf_site *site, size_t begin);

/* The sections as they are now; they point into the site. */
struct dwarf_sections dwarf_site_sections(const struct dwarf_site *site);

/* Reads the units; the site must not be written to any more. */
void dwarf_site_read(struct dwarf_site *site);
