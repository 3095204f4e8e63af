#include "debuginfo/dwarf_split.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdlib.h>

#include "debuginfo/dwarf_sections.h"

/* A file with split units; its sections belong to the ELF file. */
struct split_file {
    struct dwarf_info *info;
    struct elf_file *found; /* opened by the finder; owned */
};

struct skeleton {
    uint64_t id;
    size_t unit;
};

struct dwarf_split {
    struct dwarf_info *info;
    struct skeleton *skeletons; /* by id, then in the order of the file */
    size_t skeleton_count;
    struct split_file *files;
    size_t file_count;
    size_t file_capacity;
    struct dwarf_package_index *units; /* of the package */
    struct dwarf_package_index *types;
    struct error damage; /* the first */
};

void dwarf_split_free(struct dwarf_split *split) {
    if (!split)
        return;
    for (size_t i = 0; i < split->file_count; i++) {
        dwarf_info_free(split->files[i].info);
        elf_file_free(split->files[i].found);
    }
    free(split->files);
    free(split->skeletons);
    dwarf_package_index_free(split->units);
    dwarf_package_index_free(split->types);
    free(split);
}

/* Only memory ends it all; what else fails is kept as damage. */
static enum err keep_damage(struct dwarf_split *split, const struct error *reason,
                            struct error *error) {
    if (reason->code == ERR_NO_MEMORY) {
        *error = *reason;
        return ERR_NO_MEMORY;
    }
    if (split->damage.code == ERR_OK)
        split->damage = *reason;
    return ERR_OK;
}

/* --- skeletons -------------------------------------------------------------------------------- */

static int compare_skeletons(const void *a, const void *b) {
    const struct skeleton *left = a;
    const struct skeleton *right = b;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->unit < right->unit ? -1 : left->unit > right->unit;
}

static bool is_skeleton(const struct dwarf_unit *unit) {
    return !unit->damage && unit->has_id && unit->type == DW_UT_skeleton;
}

static enum err list_skeletons(struct dwarf_split *split, struct error *error) {
    size_t count = dwarf_info_unit_count(split->info);
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        used += is_skeleton(dwarf_info_unit(split->info, i));
    split->skeletons = calloc(used + 1, sizeof(*split->skeletons));
    if (!split->skeletons)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu skeleton units", used);
    for (size_t i = 0; i < count && used > 0; i++) {
        const struct dwarf_unit *unit = dwarf_info_unit(split->info, i);
        if (!is_skeleton(unit))
            continue;
        split->skeletons[split->skeleton_count++] = (struct skeleton){unit->id, i};
        dwarf_info_set_split_fault(split->info, i, "its split unit (.dwo) is not there");
    }
    qsort(split->skeletons, split->skeleton_count, sizeof(*split->skeletons), compare_skeletons);
    return ERR_OK;
}

/* The first skeleton of that id; NULL if there is none. */
static const struct skeleton *find_skeleton(const struct dwarf_split *split, uint64_t id) {
    size_t low = 0;
    size_t high = split->skeleton_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (split->skeletons[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == split->skeleton_count || split->skeletons[low].id != id)
        return NULL;
    return &split->skeletons[low];
}

/* True if the unit is the split half of the skeleton: of the same id, and neither is taken. */
static bool join(struct dwarf_split *split, const struct skeleton *skeleton,
                 struct dwarf_info *file, const struct dwarf_unit *unit) {
    if (unit->damage || !unit->has_code || !unit->has_id || unit->id != skeleton->id ||
        unit->skeleton || dwarf_info_unit(split->info, skeleton->unit)->split)
        return false;
    dwarf_info_join(split->info, skeleton->unit, file, unit->number);
    return true;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Takes ownership of both, also when it fails. */
static enum err add_file(struct dwarf_split *split, struct dwarf_info *info, struct elf_file *found,
                         struct error *error) {
    if (split->file_count == split->file_capacity) {
        size_t capacity = split->file_capacity ? 2 * split->file_capacity : 16;
        struct split_file *grown = reallocarray(split->files, capacity, sizeof(*grown));
        if (!grown) {
            dwarf_info_free(info);
            elf_file_free(found);
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu .dwo files", capacity);
        }
        split->files = grown;
        split->file_capacity = capacity;
    }
    split->files[split->file_count++] = (struct split_file){info, found};
    return ERR_OK;
}

/* The units of a .dwo file. *ret_info NULL: it cannot be read, which is kept as damage. */
static enum err read_dwo(struct dwarf_split *split, struct elf_file *file,
                         struct dwarf_info **ret_info, struct error *error) {
    struct dwarf_sections sections;
    struct error reason = {.code = ERR_OK};
    struct error damage = {.code = ERR_OK};
    *ret_info = NULL;
    enum err err = dwarf_sections_read_split(file, dwarf_info_sections(split->info), &sections,
                                             &damage, &reason);
    if (!err)
        err = dwarf_info_new(&sections, ret_info, &reason);
    if (!err && damage.code == ERR_OK)
        return ERR_OK;
    return keep_damage(split, err ? &reason : &damage, error);
}

static enum err add_dwo(struct dwarf_split *split, struct elf_file *file, struct error *error) {
    struct dwarf_info *info;
    enum err err = read_dwo(split, file, &info, error);
    if (err || !info)
        return err;
    bool joined = false;
    for (size_t i = 0; i < dwarf_info_unit_count(info); i++) {
        const struct dwarf_unit *unit = dwarf_info_unit(info, i);
        const struct skeleton *skeleton = unit->has_id ? find_skeleton(split, unit->id) : NULL;
        if (skeleton)
            joined |= join(split, skeleton, info, unit);
    }
    struct error reason;
    if (!joined) {
        error_set(&reason, ERR_MALFORMED, "a .dwo file fits no unit: its DWO id is another one");
        err = keep_damage(split, &reason, error);
    }
    enum err added = add_file(split, info, NULL, error);
    return err ? err : added;
}

/* --- the package ------------------------------------------------------------------------------ */

static enum err read_package_index(struct elf_file *file, const char *name,
                                   struct dwarf_package_index **ret_index, struct error *error) {
    const struct elf_section *section = elf_file_section_by_name(file, name);
    struct span bytes = {NULL, 0};
    enum err err = section ? elf_file_section_data(file, section, &bytes, error) : ERR_OK;
    if (err)
        return err;
    return dwarf_package_index_new(bytes, elf_file_header(file)->big_endian, name, ret_index,
                                   error);
}

static enum err open_package(struct dwarf_split *split, struct elf_file *file,
                             struct dwarf_info **ret_info, struct error *error) {
    struct dwarf_sections sections;
    struct error damage;
    enum err err = dwarf_sections_read_split(file, dwarf_info_sections(split->info), &sections,
                                             &damage, error);
    if (!err)
        err = read_package_index(file, ".debug_cu_index", &split->units, error);
    if (!err)
        err = read_package_index(file, ".debug_tu_index", &split->types, error);
    if (err)
        return err;
    const struct dwarf_package package = {split->units, split->types};
    return dwarf_info_new_package(&sections, &package, ret_info, error);
}

static enum err add_package(struct dwarf_split *split, struct elf_file *file, struct error *error) {
    struct dwarf_info *info = NULL;
    struct error reason;
    if (open_package(split, file, &info, &reason)) {
        error_prefix(&reason, "the package (.dwp)");
        return keep_damage(split, &reason, error);
    }
    for (size_t i = 0; i < split->skeleton_count; i++) {
        const struct skeleton *skeleton = &split->skeletons[i];
        struct dwarf_parts parts;
        if (!dwarf_package_index_find(split->units, skeleton->id, &parts))
            continue;
        const struct dwarf_unit *unit = dwarf_info_unit_at(info, parts.info.offset);
        if (!unit || !join(split, skeleton, info, unit))
            dwarf_info_set_split_fault(split->info, skeleton->unit,
                                       "its split unit in the package cannot be read or has "
                                       "another DWO id");
    }
    return add_file(split, info, NULL, error);
}

/* --- files that are found by name ------------------------------------------------------------- */

static enum err try_found(struct dwarf_split *split, const struct skeleton *skeleton,
                          struct elf_file *file, struct error *error) {
    struct dwarf_info *info;
    enum err err = read_dwo(split, file, &info, error);
    if (err || !info) {
        elf_file_free(file);
        dwarf_info_set_split_fault(split->info, skeleton->unit,
                                   "its split unit (.dwo) cannot be read");
        return err;
    }
    bool joined = false;
    for (size_t i = 0; !joined && i < dwarf_info_unit_count(info); i++)
        joined = join(split, skeleton, info, dwarf_info_unit(info, i));
    if (!joined)
        dwarf_info_set_split_fault(split->info, skeleton->unit,
                                   "its split unit (.dwo) has another DWO id");
    return add_file(split, info, file, error);
}

static enum err find_missing(struct dwarf_split *split, struct dwarf_dwo_finder *finder,
                             struct error *error) {
    for (size_t i = 0; i < split->skeleton_count; i++) {
        const struct skeleton *skeleton = &split->skeletons[i];
        const struct dwarf_unit *unit = dwarf_info_unit(split->info, skeleton->unit);
        if (unit->split || unit->dwo_name.size == 0)
            continue;
        struct elf_file *file = NULL;
        struct error reason;
        enum err err = finder->find(finder, unit->comp_dir, unit->dwo_name, &file, &reason);
        if (err)
            err = keep_damage(split, &reason, error);
        else if (file)
            err = try_found(split, skeleton, file, error);
        if (err)
            return err;
    }
    return ERR_OK;
}

enum err dwarf_split_new(struct dwarf_info *info, const struct dwarf_split_files *files,
                         struct dwarf_split **ret_split, struct error *ret_damage,
                         struct error *error) {
    CLEANUP(cleanup_dwarf_split) struct dwarf_split *split = calloc(1, sizeof(*split));
    if (!split)
        return error_set(error, ERR_NO_MEMORY, "no memory for split units");
    split->info = info;
    enum err err = list_skeletons(split, error);
    if (!err && files->package)
        err = add_package(split, files->package, error);
    for (size_t i = 0; !err && i < files->dwo_count; i++)
        err = add_dwo(split, files->dwos[i], error);
    if (!err && files->finder)
        err = find_missing(split, files->finder, error);
    if (err)
        return err;
    *ret_damage = split->damage;
    *ret_split = TAKE(split);
    return ERR_OK;
}
