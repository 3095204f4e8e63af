#include <stdlib.h>

#include "debuginfo/libdw_internal.h"

static enum err read_table(struct libdw_unit *unit, struct error *error) {
    Dwarf_Files *table = NULL;
    size_t count = 0;
    if (dwarf_getsrcfiles(&unit->die, &table, &count) != 0)
        count = 0;
    unit->files = calloc(count + 1, sizeof(*unit->files));
    if (!unit->files)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu files", count);
    unit->file_table = table;
    unit->file_count = count;
    unit->files_read = true;
    return ERR_OK;
}

/*
 * libdw has joined a file's name with its directory, and a directory of DWARF 4 and before with the
 * compilation directory. What is still relative is so because directory 0 of DWARF 5, which is the
 * compilation directory, is; it must not be joined with itself.
 */
static bool needs_directory(struct span path, struct span directory) {
    if (path.size == 0 || path.data[0] == '/' || directory.size == 0)
        return false;
    return !(path.size > directory.size && memcmp(path.data, directory.data, directory.size) == 0 &&
             path.data[directory.size] == '/');
}

static enum err join_path(struct libdw_source *source, struct libdw_unit *unit, struct span path,
                          struct span *ret_path, struct error *error) {
    struct span directory = span_cstr("");
    libdw_read_string(&unit->die, DW_AT_comp_dir, &directory);
    if (path.size > NAME_SIZE_MAX || directory.size > NAME_SIZE_MAX)
        path = span_cstr("");
    if (!needs_directory(path, directory))
        return string_pool_intern(source->strings, path, ret_path, error);
    CLEANUP(buffer_clear) struct buffer joined = {0};
    buffer_append(&joined, directory.data, directory.size);
    if (directory.data[directory.size - 1] != '/')
        buffer_append_byte(&joined, '/');
    buffer_append(&joined, path.data, path.size);
    if (buffer_failed(&joined))
        return error_set(error, ERR_NO_MEMORY, "no memory for a path");
    return string_pool_intern(source->strings, buffer_span(&joined), ret_path, error);
}

/* Index 0 means "no file" before DWARF 5 (DWARF 4, 6.2.4), and is the first file in DWARF 5. */
static bool is_index(const struct libdw_unit *unit, uint64_t index) {
    return index > 0 || unit->version >= 5;
}

bool libdw_read_file_index(Dwarf_Die *die, unsigned attribute, const struct libdw_unit *unit,
                           uint64_t *ret_index) {
    uint64_t index;
    if (!unit || !libdw_read_unsigned(die, attribute, &index) || !is_index(unit, index))
        return false;
    *ret_index = index;
    return true;
}

enum err libdw_file_read(struct libdw_source *source, struct libdw_unit *unit, uint64_t index,
                         struct libdw_file **ret_file, struct error *error) {
    enum err err = unit->files_read ? ERR_OK : read_table(unit, error);
    if (err)
        return err;
    bool listed = index < unit->file_count && is_index(unit, index);
    struct libdw_file *file = &unit->files[listed ? index : unit->file_count];
    if (!file->path.data) {
        struct span name = span_cstr("");
        if (listed)
            name = span_cstr(dwarf_filesrc(unit->file_table, index, NULL, NULL));
        else
            libdw_read_string(&unit->die, DW_AT_name, &name);
        err = join_path(source, unit, name, &file->path, error);
        if (err)
            return err;
    }
    *ret_file = file;
    return ERR_OK;
}
