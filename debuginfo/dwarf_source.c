#include "debuginfo/dwarf_source.h"

#include <assert.h>
#include <stdlib.h>

#include "debuginfo/dwarf_lookup.h"
#include "debuginfo/dwarf_source_internal.h"
#include "debuginfo/dwarf_supplement.h"

/* Composed names and joined paths: far more than any real file needs. */
#define STRINGS_SIZE_MAX ((size_t)4 << 30)

/* Of .debug_info. Large enough for what each shard describes anew to be little beside the rest, and
 * small enough for all cores to have something to do. */
#define SHARD_SIZE ((uint64_t)2 << 20)

static void source_free(struct symbol_source *base) {
    struct dwarf_source *source = (struct dwarf_source *)base;
    dwarf_lookup_free(source->lookup);
    dwarf_split_free(source->split);
    dwarf_info_free(source->info);
    dwarf_info_free(source->supplement);
    dwarf_scopes_free(source->scopes);
    string_pool_free(source->strings);
    free(source->shards);
    free(source);
}

static void cleanup_source(struct dwarf_source **source) {
    if (*source)
        source_free(&(*source)->source);
}

static size_t shard_count(struct symbol_source *base) {
    return ((struct dwarf_source *)base)->shard_count;
}

static const struct symbol_source_ops dwarf_source_ops = {
    .push = dwarf_push,
    .shard_count = shard_count,
    .push_shard = dwarf_push_shard,
    .resolve = dwarf_resolve,
    .free = source_free,
};

static uint64_t unit_size(const struct dwarf_unit *unit) {
    const struct dwarf_unit *code = dwarf_unit_of_code(unit);
    return (uint64_t)(code->end - code->header);
}

/* Units are kept whole; a shard ends with the unit that makes it large enough. */
static enum err cut_shards(struct dwarf_source *source, struct error *error) {
    size_t unit_count = dwarf_info_unit_count(source->info);
    uint64_t size = 0;
    for (size_t i = 0; i < unit_count; i++)
        size += unit_size(dwarf_info_unit(source->info, i));
    size_t count_max = 2 + (size_t)(size / SHARD_SIZE);
    source->shards = calloc(count_max + 1, sizeof(*source->shards));
    if (!source->shards)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu shards", count_max);
    uint64_t gathered = 0;
    source->shard_count = 1;
    for (size_t i = 0; i < unit_count; i++) {
        gathered += unit_size(dwarf_info_unit(source->info, i));
        if (gathered < SHARD_SIZE || i + 1 == unit_count)
            continue;
        source->shards[source->shard_count++] = i + 1;
        gathered = 0;
    }
    source->shards[source->shard_count] = unit_count;
    return ERR_OK;
}

static void add_damage(struct dwarf_source *source, const struct error *damage) {
    if (damage->code == ERR_OK)
        return;
    assert(source->damage_count < DWARF_DAMAGE_MAX);
    source->damages[source->damage_count++] = *damage;
}

static enum err open_supplement(struct dwarf_source *source, struct elf_file *file,
                                const struct dwarf_supplement_link *link, struct error *ret_damage,
                                struct error *error) {
    struct dwarf_sections sections;
    if (!dwarf_supplement_fits(file, link))
        return error_set(error, ERR_MALFORMED, "the supplementary file belongs to another build");
    enum err err = dwarf_sections_read(file, &sections, ret_damage, error);
    if (!err)
        err = dwarf_info_new(&sections, &source->supplement, error);
    if (!err)
        dwarf_info_set_supplement(source->info, source->supplement);
    return err;
}

/* Without the file that it should have, the source knows fewer names. */
static enum err add_supplement(struct dwarf_source *source, const struct dwarf_files *files,
                               struct error *error) {
    struct dwarf_supplement_link link;
    struct error damage = {.code = ERR_OK};
    struct error reason = {.code = ERR_OK};
    if (!dwarf_supplement_link_read(files->main, &link))
        return ERR_OK;
    enum err err = ERR_OK;
    if (files->supplement)
        err = open_supplement(source, files->supplement, &link, &damage, &reason);
    else
        error_set(&reason, ERR_NOT_FOUND,
                  "the supplementary file (dwz) is not there: names in it are unknown");
    if (err == ERR_NO_MEMORY) {
        *error = reason;
        return err;
    }
    add_damage(source, &reason);
    add_damage(source, &damage);
    return ERR_OK;
}

static enum err add_split_units(struct dwarf_source *source, const struct dwarf_files *files,
                                struct error *error) {
    struct error damage;
    enum err err = dwarf_split_new(source->info, &files->split, &source->split, &damage, error);
    if (!err)
        add_damage(source, &damage);
    return err;
}

static enum err open_info(struct dwarf_source *source, const struct dwarf_files *files,
                          struct error *error) {
    struct dwarf_sections sections;
    struct error damage;
    enum err err = dwarf_sections_read(files->main, &sections, &damage, error);
    if (err)
        return err;
    add_damage(source, &damage);
    err = dwarf_info_new(&sections, &source->info, error);
    if (!err)
        err = add_supplement(source, files, error);
    if (!err)
        err = add_split_units(source, files, error);
    return err;
}

enum err dwarf_source_new_spread(const struct dwarf_files *files, struct symbol_source **ret_source,
                                 struct error *error) {
    CLEANUP(cleanup_source) struct dwarf_source *source = calloc(1, sizeof(*source));
    if (!source)
        return error_set(error, ERR_NO_MEMORY, "no memory for a DWARF reader");
    source->source.ops = &dwarf_source_ops;
    source->file = files->main;
    bool exact;
    elf_file_executable_extents(files->main, &source->extents.items, &source->extents.count,
                                &exact);
    source->strings = string_pool_new(STRINGS_SIZE_MAX);
    source->scopes = dwarf_scopes_new();
    if (!source->strings || !source->scopes)
        return error_set(error, ERR_NO_MEMORY, "no memory for a DWARF reader");
    enum err err = open_info(source, files, error);
    if (!err)
        err = cut_shards(source, error);
    if (!err)
        *ret_source = &TAKE(source)->source;
    return err;
}

enum err dwarf_source_new(struct elf_file *file, struct symbol_source **ret_source,
                          struct error *error) {
    return dwarf_source_new_spread(&(struct dwarf_files){.main = file}, ret_source, error);
}

size_t dwarf_source_missing_dwos(const struct symbol_source *base, uint64_t *ret_ids,
                                 size_t count_max) {
    const struct dwarf_source *source = (const struct dwarf_source *)base;
    size_t count = 0;
    for (size_t i = 0; i < dwarf_info_unit_count(source->info) && count < count_max; i++) {
        const struct dwarf_unit *unit = dwarf_info_unit(source->info, i);
        if (unit->split_fault)
            ret_ids[count++] = unit->id;
    }
    return count;
}

void dwarf_source_use_relative_paths(struct symbol_source *base) {
    struct dwarf_source *source = (struct dwarf_source *)base;
    source->paths_are_relative = true;
}
