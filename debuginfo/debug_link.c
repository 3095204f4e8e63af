#include "debuginfo/debug_link.h"

#include <libdeflate.h>

#include "base/cursor.h"

/* What can be the name of a file in a folder, and be shown. */
static bool is_file_name(struct span name) {
    if (name.size == 0 || name.size > DEBUG_LINK_NAME_MAX || span_equal_cstr(name, ".") ||
        span_equal_cstr(name, ".."))
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] == '/' || (unsigned char)name.data[i] < 0x20)
            return false;
    return true;
}

enum err debug_link_read(struct elf_file *file, struct debug_link *ret_link, struct error *error) {
    const struct elf_section *section = elf_file_section_by_name(file, ".gnu_debuglink");
    struct span bytes = {NULL, 0};
    if (!section || section->type == SHT_NOBITS || section->size == 0)
        return error_set(error, ERR_NOT_FOUND, "the file has no .gnu_debuglink");
    enum err err = elf_file_section_data(file, section, &bytes, error);
    if (err)
        return err;
    struct cursor cursor = cursor_of(bytes, elf_file_header(file)->big_endian, ".gnu_debuglink");
    struct span name = cursor_cstring(&cursor);
    cursor_skip(&cursor, -cursor_offset(&cursor) & 3); /* up to a multiple of 4 of the section */
    struct debug_link link = {.crc = cursor_u32(&cursor)};
    err = cursor_check(&cursor, error);
    if (err)
        return err;
    if (!is_file_name(name))
        return error_set(error, ERR_MALFORMED, ".gnu_debuglink: not the name of a file");
    memcpy(link.name, name.data, name.size);
    *ret_link = link;
    return ERR_OK;
}

uint32_t debug_link_crc(struct span bytes) {
    return libdeflate_crc32(0, bytes.data, bytes.size);
}
