#include "debuginfo/dwarf_push_files.h"

#include <stdlib.h>

#include "debuginfo/dwarf_info.h"

/* In the map of other units' files: asked for, and unknown. */
#define NUMBER_NONE UINT32_MAX

void push_files_clear(struct push_files *files) {
    free(files->present);
    for (size_t i = 0; i < FOREIGN_TABLE_MAX; i++)
        dwarf_line_table_free(files->foreign[i].table);
    dwarf_line_table_free(files->table);
    place_map_clear(&files->others);
    buffer_clear(&files->path);
    *files = (struct push_files){0};
}

/* ERR_MALFORMED and ERR_UNSUPPORTED leave a table without files, which is what a unit without one
 * has. */
static enum err open_table(const struct dwarf_unit *unit, struct dwarf_line_table **io_table,
                           bool *ret_damaged, struct error *error) {
    *ret_damaged = false;
    if (!*io_table)
        *io_table = dwarf_line_table_new();
    if (!*io_table)
        return error_set(error, ERR_NO_MEMORY, "no memory for a line table");
    if (!unit->has_line_offset) {
        dwarf_line_table_close(*io_table);
        return ERR_OK;
    }
    enum err err = dwarf_line_table_open(*io_table, dwarf_info_sections(unit->info), &unit->bases,
                                         unit->line_offset, error);
    if (err == ERR_NO_MEMORY)
        return err;
    *ret_damaged = err != ERR_OK;
    return ERR_OK;
}

static enum err open_foreign(struct push_files *files, const struct dwarf_unit *unit,
                             const struct dwarf_line_table **ret_table, struct error *error) {
    struct foreign_table *foreign = &files->foreign[unit->number % FOREIGN_TABLE_MAX];
    if (foreign->unit != unit) {
        bool damaged;
        foreign->unit = NULL;
        enum err err = open_table(unit, &foreign->table, &damaged, error);
        if (err)
            return err;
        foreign->unit = unit;
    }
    *ret_table = foreign->table;
    return ERR_OK;
}

static enum err reserve_present(struct push_files *files, size_t count, struct error *error) {
    if (count <= files->present_capacity)
        return ERR_OK;
    struct present_file *grown = realloc(files->present, count * sizeof(*grown));
    if (!grown)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu files", count);
    memset(grown + files->present_capacity, 0, (count - files->present_capacity) * sizeof(*grown));
    files->present = grown;
    files->present_capacity = count;
    return ERR_OK;
}

enum err push_files_enter(struct push_files *files, const struct dwarf_unit *unit,
                          struct error *error) {
    files->unit = NULL;
    enum err err = open_table(unit, &files->table, &files->table_damaged, error);
    if (err)
        return err;
    files->unit = unit;
    files->unit_count++;
    files->present_count = dwarf_line_table_file_count(files->table);
    return reserve_present(files, files->present_count, error);
}

static enum err ask_sink(struct push_files *files, const struct dwarf_unit *unit,
                         const struct dwarf_line_table *table, uint64_t index, uint32_t *ret_number,
                         struct error *error) {
    const struct dwarf_line_origin origin = {.comp_dir = unit->comp_dir, .name = unit->name};
    files->path.size = 0;
    dwarf_line_path(table, index, &origin, &files->path);
    if (buffer_failed(&files->path))
        return error_set(error, ERR_NO_MEMORY, "no memory for a path");
    *ret_number = 0;
    if (files->path.size == 0)
        return ERR_OK;
    return files->sink->ops->file(files->sink, buffer_span(&files->path), ret_number, error);
}

/* The program may have defined more files since the table was opened. */
static enum err find_present(struct push_files *files, uint64_t index,
                             struct present_file **ret_file, struct error *error) {
    if (index >= files->present_count) {
        files->present_count = dwarf_line_table_file_count(files->table);
        enum err err = reserve_present(files, files->present_count, error);
        if (err)
            return err;
    }
    *ret_file = index < files->present_count ? &files->present[index] : &files->own;
    return ERR_OK;
}

enum err push_files_number(struct push_files *files, uint64_t index, uint32_t *ret_number,
                           struct error *error) {
    struct present_file *file;
    enum err err = find_present(files, index, &file, error);
    if (err)
        return err;
    if (file->unit_count != files->unit_count) {
        err = ask_sink(files, files->unit, files->table, index, &file->number, error);
        if (err)
            return err;
        file->unit_count = files->unit_count;
    }
    *ret_number = file->number;
    return ERR_OK;
}

/* The table's number, or NUMBER_NONE. */
static enum err ask_other(struct push_files *files, const struct dwarf_unit *unit, uint64_t index,
                          uint32_t *ret_number, struct error *error) {
    const struct dwarf_line_table *table;
    enum err err = open_foreign(files, unit, &table, error);
    if (!err && (index > 0 || dwarf_line_table_has_file(table, 0)))
        err = ask_sink(files, unit, table, index, ret_number, error);
    if (!err && *ret_number == 0)
        *ret_number = NUMBER_NONE;
    return err;
}

static enum err other_number(struct push_files *files, const struct dwarf_unit *unit,
                             uint64_t index, uint32_t *ret_number, struct error *error) {
    uint32_t key = index < UINT32_MAX ? (uint32_t)index : UINT32_MAX;
    uint32_t *number;
    enum err err = place_map_at(&files->others, unit, key, &number, error);
    if (!err && *number == 0)
        err = ask_other(files, unit, index, number, error);
    if (!err)
        *ret_number = *number == NUMBER_NONE ? 0 : *number;
    return err;
}

enum err push_files_declared(struct push_files *files, const struct dwarf_unit *unit,
                             uint64_t index, uint32_t *ret_number, struct error *error) {
    unit = dwarf_unit_of_lines(unit);
    if (unit != files->unit)
        return other_number(files, unit, index, ret_number, error);
    if (index > 0 || dwarf_line_table_has_file(files->table, 0))
        return push_files_number(files, index, ret_number, error);
    *ret_number = 0;
    return ERR_OK;
}
