#include <ctype.h>
#include <dwarf.h>

#include "debuginfo/dwarf_cursor.h"
#include "debuginfo/dwarf_line_internal.h"

uint32_t dwarf_line_table_file_count(const struct dwarf_line_table *table) {
    uint64_t first = table->version >= 5 ? 0 : 1;
    uint64_t count = table->files.count ? first + table->files.count : 0;
    return count < DWARF_ROW_FILE_MAX ? (uint32_t)count : DWARF_ROW_FILE_MAX;
}

bool dwarf_line_table_has_file(const struct dwarf_line_table *table, uint64_t index) {
    return index < dwarf_line_table_file_count(table) && (index > 0 || table->version >= 5);
}

static struct span string_at(struct span section, uint64_t offset) {
    struct cursor cursor = cursor_of(section, false, "strings");
    cursor_seek(&cursor, offset);
    return cursor_cstring(&cursor);
}

/* The string at an index of the unit's part of .debug_str_offsets (DWARF 5, 7.26). */
static struct span indexed_string(const struct dwarf_line_table *table, uint64_t index) {
    struct span offsets = table->sections->str_offsets;
    uint8_t size = table->unit_offset_size;
    if (size == 0 || table->str_offsets_base > offsets.size ||
        index >= (offsets.size - table->str_offsets_base) / size)
        return (struct span){NULL, 0};
    struct cursor cursor = cursor_of(offsets, table->program.big_endian, ".debug_str_offsets");
    cursor_seek(&cursor, table->str_offsets_base + index * size);
    return string_at(table->sections->str, cursor_unsigned(&cursor, size));
}

/* Empty if it cannot be read; those of a supplementary file are not. */
static struct span entry_name(const struct dwarf_line_table *table,
                              const struct line_entry *entry) {
    switch (entry->form) {
    case DW_FORM_string:
        return string_at(table->sections->line, entry->name);
    case DW_FORM_line_strp:
        return string_at(table->sections->line_str, entry->name);
    case DW_FORM_strp:
        return string_at(table->sections->str, entry->name);
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
        return indexed_string(table, entry->name);
    default:
        return (struct span){NULL, 0};
    }
}

static bool is_windows(struct span path) {
    if (path.size >= 2 && path.data[0] == '\\' && path.data[1] == '\\')
        return true;
    return path.size >= 3 && isascii((unsigned char)path.data[0]) &&
           isalpha((unsigned char)path.data[0]) && path.data[1] == ':' &&
           (path.data[2] == '\\' || path.data[2] == '/');
}

static bool is_absolute(struct span path) {
    return span_starts_with(path, "/") || is_windows(path);
}

/* Puts a part behind what is there, with the separator that the path so far uses. */
static void append_part(struct buffer *path, struct span part) {
    if (part.size == 0)
        return;
    struct span before = buffer_span(path);
    if (before.size > 0 && before.data[before.size - 1] != '/' &&
        before.data[before.size - 1] != '\\') {
        bool backslash = is_windows(before) && !memchr(before.data, '/', before.size);
        buffer_append_byte(path, backslash ? '\\' : '/');
    }
    buffer_append(path, part.data, part.size);
}

static bool is_below(struct span path, struct span directory) {
    return path.size >= directory.size && directory.size > 0 &&
           memcmp(path.data, directory.data, directory.size) == 0 &&
           (path.size == directory.size || path.data[directory.size] == '/');
}

/*
 * A relative directory counts from the compilation directory. In version 5 that is directory 0,
 * which may be relative itself and is then not joined with itself; nor are others that begin with
 * it, as compilers write them that map the prefix of all paths.
 */
static bool needs_comp_dir(const struct dwarf_line_table *table, struct span directory,
                           struct span comp_dir) {
    if (is_absolute(directory))
        return false;
    return table->version < 5 || !is_below(directory, comp_dir);
}

/* The entry of a file's directory; NULL where it is the compilation directory, in version 2 to 4,
 * or unknown. */
static const struct line_entry *find_directory(const struct dwarf_line_table *table,
                                               const struct line_entry *file) {
    size_t index = file->directory;
    if (table->version < 5 && index-- == 0)
        return NULL;
    return index < table->directories.count ? &table->directories.items[index] : NULL;
}

static bool is_too_long(struct span part) {
    return part.size > DWARF_PATH_SIZE_MAX;
}

static void join_parts(struct span comp_dir, struct span directory, struct span name,
                       struct buffer *path) {
    path->size = 0;
    if (is_too_long(comp_dir) || is_too_long(directory) || is_too_long(name))
        return;
    append_part(path, comp_dir);
    append_part(path, directory);
    append_part(path, name);
}

void dwarf_line_path(const struct dwarf_line_table *table, uint64_t index,
                     const struct dwarf_line_origin *origin, struct buffer *path) {
    const struct span none = {NULL, 0};
    struct span comp_dir = origin->comp_dir;
    struct span directory = none;
    struct span name = origin->name;
    if (dwarf_line_table_has_file(table, index)) {
        const struct line_entry *file = &table->files.items[index - (table->version < 5)];
        const struct line_entry *in = find_directory(table, file);
        name = entry_name(table, file);
        if (in)
            directory = entry_name(table, in);
        if (in ? !directory.data || !needs_comp_dir(table, directory, comp_dir)
               : file->directory > 0)
            comp_dir = none; /* also where the directory is not listed or has no name */
        if (origin->is_left_out && table->version >= 5 && file->directory == 0)
            directory = none;
    }
    if (origin->is_left_out)
        comp_dir = none;
    if (name.size == 0 || is_absolute(name))
        comp_dir = directory = none;
    join_parts(comp_dir, directory, name, path);
}
