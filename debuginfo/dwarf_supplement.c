#include "debuginfo/dwarf_supplement.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "debuginfo/identity.h"

#define SUP_VERSION 5

static bool open_section(struct elf_file *file, const char *name, struct cursor *ret_cursor) {
    const struct elf_section *section = elf_file_section_by_name(file, name);
    struct span bytes = {NULL, 0};
    struct error ignored;
    if (!section || elf_file_section_data(file, section, &bytes, &ignored) || bytes.size == 0)
        return false;
    *ret_cursor = cursor_of(bytes, elf_file_header(file)->big_endian, name);
    return true;
}

/* Version, whether this file is the supplementary one, the other's name, the checksum. */
static bool read_sup(struct elf_file *file, bool *ret_is_supplement,
                     struct dwarf_supplement_link *ret_link) {
    struct cursor cursor;
    if (!open_section(file, ".debug_sup", &cursor) || cursor_u16(&cursor) != SUP_VERSION)
        return false;
    *ret_is_supplement = cursor_u8(&cursor) != 0;
    ret_link->path = cursor_cstring(&cursor);
    uint64_t size = cursor_uleb128(&cursor);
    if (size > cursor_left(&cursor))
        return false;
    ret_link->id = cursor_bytes(&cursor, (size_t)size);
    ret_link->is_standard = true;
    return !cursor_failed(&cursor) && ret_link->id.size > 0;
}

bool dwarf_supplement_link_read(struct elf_file *file, struct dwarf_supplement_link *ret_link) {
    struct dwarf_supplement_link link;
    struct cursor cursor;
    bool is_supplement = false;
    if (open_section(file, ".gnu_debugaltlink", &cursor)) {
        link.path = cursor_cstring(&cursor);
        link.id = cursor_bytes(&cursor, cursor_left(&cursor));
        link.is_standard = false;
        if (cursor_failed(&cursor) || link.id.size == 0)
            return false;
    } else if (!read_sup(file, &is_supplement, &link) || is_supplement) {
        return false;
    }
    *ret_link = link;
    return true;
}

static bool has_build_id(struct elf_file *file, struct span id) {
    struct elf_identity identity;
    struct binary_id wanted;
    struct error ignored;
    elf_identity_read(file, &identity);
    return identity.has_gnu && !binary_id_from_gnu_note(id, &wanted, &ignored) &&
           binary_id_equal(&identity.gnu, &wanted);
}

bool dwarf_supplement_fits(struct elf_file *supplement, const struct dwarf_supplement_link *link) {
    if (!link->is_standard)
        return has_build_id(supplement, link->id);
    struct dwarf_supplement_link own;
    bool is_supplement = false;
    return read_sup(supplement, &is_supplement, &own) && is_supplement &&
           span_equal(own.id, link->id);
}
