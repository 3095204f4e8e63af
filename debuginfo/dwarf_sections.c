#include "debuginfo/dwarf_sections.h"

#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"

struct wanted_section {
    const char *name;
    size_t member; /* of struct dwarf_sections */
    bool is_required;
    bool has_units;
};

#define WANTED(section_name, member_name, required, units)                                         \
    { section_name, offsetof(struct dwarf_sections, member_name), required, units }

/* What symbolization reads. The rest (locations, macros, name tables) is not touched: inflating is
 * the slowest stage of a build. */
static const struct wanted_section wanted_sections[] = {
    WANTED(".debug_info", info, true, true),
    WANTED(".debug_abbrev", abbrev, true, false),
    WANTED(".debug_types", types, false, true),
    WANTED(".debug_line", line, false, false),
    WANTED(".debug_str", str, false, false),
    WANTED(".debug_line_str", line_str, false, false),
    WANTED(".debug_str_offsets", str_offsets, false, false),
    WANTED(".debug_addr", addr, false, false),
    WANTED(".debug_ranges", ranges, false, false),
    WANTED(".debug_rnglists", rnglists, false, false),
};

/* A section of a .dwo or .dwp has ".dwo" behind its name. Units may lie in several sections. */
static enum err read_section(struct elf_file *file, const struct wanted_section *wanted,
                             bool is_split, struct span *ret_bytes, struct error *error) {
    char split_name[32];
    snprintf(split_name, sizeof(split_name), "%s.dwo", wanted->name);
    const char *name = is_split ? split_name : wanted->name;
    if (wanted->has_units)
        return elf_file_joined_data(file, name, ret_bytes, error);
    const struct elf_section *section = elf_file_section_by_name(file, name);
    return section ? elf_file_section_data(file, section, ret_bytes, error) : ERR_OK;
}

static enum err read_sections(struct elf_file *file, bool is_split,
                              struct dwarf_sections *ret_sections, struct error *ret_damage,
                              struct error *error) {
    const struct elf_header *header = elf_file_header(file);
    struct dwarf_sections sections = {
        .big_endian = header->big_endian,
        .address_size = header->is_64 ? 8 : 4,
    };
    struct error damage = {.code = ERR_OK};
    for (size_t i = 0; i < ARRAY_SIZE(wanted_sections); i++) {
        const struct wanted_section *wanted = &wanted_sections[i];
        struct error reason;
        struct span *bytes = (struct span *)((char *)&sections + wanted->member);
        enum err err = read_section(file, wanted, is_split, bytes, &reason);
        if (err && (wanted->is_required || err == ERR_NO_MEMORY)) {
            *error = reason;
            return err;
        }
        if (err && damage.code == ERR_OK)
            damage = reason;
    }
    if (sections.info.size == 0)
        return error_set(error, ERR_NOT_FOUND, "the file has no .debug_info%s",
                         is_split ? ".dwo" : "");
    *ret_sections = sections;
    *ret_damage = damage;
    return ERR_OK;
}

enum err dwarf_sections_read(struct elf_file *file, struct dwarf_sections *ret_sections,
                             struct error *ret_damage, struct error *error) {
    return read_sections(file, false, ret_sections, ret_damage, error);
}

enum err dwarf_sections_read_split(struct elf_file *file, const struct dwarf_sections *skeletons,
                                   struct dwarf_sections *ret_sections, struct error *ret_damage,
                                   struct error *error) {
    enum err err = read_sections(file, true, ret_sections, ret_damage, error);
    if (err)
        return err;
    ret_sections->addr = skeletons->addr;
    ret_sections->ranges = skeletons->ranges;
    return ERR_OK;
}
