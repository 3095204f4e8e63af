/*
 * The sections that one DWARF file brings along, as plain bytes, and how its numbers are written.
 * One file is an object or separate debug file, a .dwo, one unit's share of a .dwp, or a
 * supplementary file (.gnu_debugaltlink, .debug_sup); a section that is not there is empty.
 *
 * The bytes are hostile and immutable: any number of threads may read them at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "debuginfo/elf_file.h"

struct dwarf_sections {
    struct span info;
    struct span types; /* .debug_types of DWARF 4 */
    struct span abbrev;
    struct span line;
    struct span str;
    struct span line_str;
    struct span str_offsets;
    struct span addr; /* of the skeleton's file where this is a .dwo */
    struct span ranges;
    struct span rnglists;
    bool big_endian;
    uint8_t address_size; /* 4 or 8, by the ELF class: for tables without one of their own */
};

/* How one unit writes its numbers (DWARF 5, section 7.4 and 7.5). */
struct dwarf_encoding {
    uint16_t version; /* 2 to 5 */
    uint8_t address_size;
    uint8_t offset_size; /* 4 or 8: 32-bit and 64-bit DWARF */
    bool big_endian;
};

/* What the readers of a unit's tables have to know of the unit. A base that was not stated is that
 * of the first table in its section (DWARF 5, 7.26 to 7.29); has_* tell what was stated. */
struct dwarf_unit_bases {
    struct dwarf_encoding encoding;
    uint64_t low_pc; /* the base of its range lists; 0 if it has none */
    uint64_t str_offsets_base;
    uint64_t addr_base;
    uint64_t rnglists_base; /* of DW_FORM_rnglistx */
    uint64_t
        gnu_ranges_base; /* DW_AT_GNU_ranges_base of a version 4 skeleton; applies in the .dwo */
    bool has_low_pc;
    bool has_rnglists_base;
};

/*
 * The sections of an ELF file, inflated where they are compressed. ERR_NOT_FOUND: it has no
 * .debug_info. Other failures tell why .debug_info or .debug_abbrev cannot be had; any other
 * section that cannot is empty, and *ret_damage says why the first of them is (its code is ERR_OK
 * if there is none). The bytes belong to the file.
 */
enum err dwarf_sections_read(struct elf_file *file, struct dwarf_sections *ret_sections,
                             struct error *ret_damage, struct error *error);

/* The same of a .dwo or .dwp file, whose sections have names that end in .dwo. The skeletons' file
 * has the addresses and, in version 4, the range lists. */
enum err dwarf_sections_read_split(struct elf_file *file, const struct dwarf_sections *skeletons,
                                   struct dwarf_sections *ret_sections, struct error *ret_damage,
                                   struct error *error);
