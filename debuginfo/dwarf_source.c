#include "debuginfo/dwarf_source.h"

#include <stdlib.h>

#include "debuginfo/dwarf_lookup.h"
#include "debuginfo/dwarf_source_internal.h"

/* Composed names and joined paths: far more than any real file needs. */
#define STRINGS_SIZE_MAX ((size_t)4 << 30)

/* Of .debug_info. Large enough for what each shard describes anew to be little beside the rest, and
 * small enough for all cores to have something to do. */
#define SHARD_SIZE ((uint64_t)2 << 20)

static void source_free(struct symbol_source *base) {
    struct dwarf_source *source = (struct dwarf_source *)base;
    dwarf_lookup_free(source->lookup);
    dwarf_info_free(source->info);
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

/* Units are kept whole; a shard ends with the unit that makes it large enough. */
static enum err cut_shards(struct dwarf_source *source, struct error *error) {
    size_t unit_count = dwarf_info_unit_count(source->info);
    const struct dwarf_sections *sections = dwarf_info_sections(source->info);
    uint64_t size = (uint64_t)sections->info.size + sections->types.size;
    size_t count_max = 2 + (size_t)(size / SHARD_SIZE);
    source->shards = calloc(count_max + 1, sizeof(*source->shards));
    if (!source->shards)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu shards", count_max);
    uint64_t gathered = 0;
    source->shard_count = 1;
    for (size_t i = 0; i < unit_count; i++) {
        const struct dwarf_unit *unit = dwarf_info_unit(source->info, i);
        gathered += (uint64_t)(unit->end - unit->header);
        if (gathered < SHARD_SIZE || i + 1 == unit_count)
            continue;
        source->shards[source->shard_count++] = i + 1;
        gathered = 0;
    }
    source->shards[source->shard_count] = unit_count;
    return ERR_OK;
}

enum err dwarf_source_new(struct elf_file *file, struct symbol_source **ret_source,
                          struct error *error) {
    CLEANUP(cleanup_source) struct dwarf_source *source = calloc(1, sizeof(*source));
    if (!source)
        return error_set(error, ERR_NO_MEMORY, "no memory for a DWARF reader");
    source->source.ops = &dwarf_source_ops;
    source->file = file;
    struct dwarf_sections sections;
    enum err err = dwarf_sections_read(file, &sections, &source->damage, error);
    if (err)
        return err;
    if (!source->damage.code && elf_file_relocation_damage(file))
        error_set(&source->damage, ERR_MALFORMED, "%s", elf_file_relocation_damage(file));
    bool exact;
    elf_file_executable_extents(file, &source->extents.items, &source->extents.count, &exact);
    source->strings = string_pool_new(STRINGS_SIZE_MAX);
    if (!source->strings)
        return error_set(error, ERR_NO_MEMORY, "no memory for a DWARF reader");
    err = dwarf_info_new(&sections, &source->info, error);
    if (!err)
        err = cut_shards(source, error);
    if (!err)
        *ret_source = &TAKE(source)->source;
    return err;
}
