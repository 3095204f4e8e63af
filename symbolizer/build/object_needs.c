#include "symbolizer/build/object_needs.h"

#include "base/cursor.h"
#include "base/hash.h"

#define ALTLINK_ID_SIZE_MAX 64

/* Both sections begin with a file name and its NUL. */
static struct cursor open_link(struct elf_file *file, const char *name, struct span *ret_path) {
    const struct elf_section *section = elf_file_section_by_name(file, name);
    struct span bytes = {NULL, 0};
    struct error ignored;
    if (section && elf_file_section_data(file, section, &bytes, &ignored))
        bytes = (struct span){NULL, 0};
    struct cursor cursor = cursor_of(bytes, elf_file_header(file)->big_endian, name);
    *ret_path = cursor_cstring(&cursor);
    return cursor;
}

static void find_debuglink(struct elf_file *file, struct report *report) {
    struct span path;
    struct cursor cursor = open_link(file, ".gnu_debuglink", &path);
    if (!cursor_failed(&cursor))
        report_add_need(report, REPORT_NEED_DEBUGLINK, path);
}

/* Behind the name the build ID of the dwz file, to the end of the section. */
static void find_altlink(struct elf_file *file, struct report *report) {
    struct span path;
    struct cursor cursor = open_link(file, ".gnu_debugaltlink", &path);
    struct span id = cursor_bytes(&cursor, cursor_left(&cursor));
    char text[2 * ALTLINK_ID_SIZE_MAX + 1];
    if (cursor_failed(&cursor) || id.size > ALTLINK_ID_SIZE_MAX)
        return;
    hex_encode(id, text);
    report_add_need(report, REPORT_NEED_ALTLINK, span_cstr(text));
}

void object_needs_find(const struct object_inputs *inputs, struct report *report) {
    for (size_t i = 0; i < inputs->file_count; i++) {
        find_altlink(inputs->files[i], report);
        if (!report->summary.has_dwarf)
            find_debuglink(inputs->files[i], report);
    }
}
