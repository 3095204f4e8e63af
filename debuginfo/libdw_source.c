#include "debuginfo/libdw_source.h"

#include <stdlib.h>

#include "debuginfo/libdw_internal.h"

/* Composed names and joined paths: far more than any real file needs. */
#define STRINGS_SIZE_MAX ((size_t)4 << 30)

static void unit_clear(struct libdw_unit *unit) {
    range_list_clear(&unit->ranges);
    free(unit->files);
    free(unit->functions);
    free(unit->rows);
    free(unit->scopes);
}

static void source_free(struct symbol_source *base) {
    struct libdw_source *source = (struct libdw_source *)base;
    for (size_t i = 0; i < source->unit_count; i++)
        unit_clear(&source->units[i]);
    free(source->units);
    free(source->units_by_address);
    string_pool_free(source->strings);
    dwarf_end(source->dwarf);
    libdw_supplement_clear(source);
    free(source);
}

static void cleanup_source(struct libdw_source **source) {
    if (*source)
        source_free(&(*source)->source);
}

static const struct symbol_source_ops libdw_source_ops = {
    .push = libdw_push,
    .resolve = libdw_resolve,
    .free = source_free,
};

static bool says_ranges(Dwarf_Die *die) {
    return dwarf_hasattr(die, DW_AT_ranges) ||
           (dwarf_hasattr(die, DW_AT_low_pc) && dwarf_hasattr(die, DW_AT_high_pc));
}

static enum err read_unit(struct libdw_source *source, uint8_t type, struct libdw_unit *unit,
                          struct error *error) {
    unit->offset = dwarf_dieoffset(&unit->die);
    int language = dwarf_srclang(&unit->die);
    unit->language = language > 0 ? (uint32_t)language : 0;
    unit->has_code = type == DW_UT_compile || type == DW_UT_partial || type == DW_UT_skeleton;
    /* Partial units name the table of some compile unit, for their declarations' sake. */
    unit->has_lines = unit->has_code && type != DW_UT_partial &&
                      dwarf_hasattr(&unit->die, DW_AT_stmt_list);
    unit->may_have_more = true;
    if (!unit->has_code || !says_ranges(&unit->die))
        return ERR_OK;
    bool damaged = false;
    enum err err = libdw_live_ranges(source, &unit->die, &unit->ranges, &damaged, error);
    range_list_join(&unit->ranges);
    /* DWARF 2 has no range lists: a unit with code in several sections names the one of them. */
    unit->may_have_more = damaged || unit->version < 3;
    return err;
}

static enum err add_unit(struct libdw_source *source, size_t *capacity,
                         struct libdw_unit **ret_unit, struct error *error) {
    if (source->unit_count == *capacity) {
        size_t grown_capacity = *capacity ? 2 * *capacity : 64;
        struct libdw_unit *grown = realloc(source->units, grown_capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu units", grown_capacity);
        source->units = grown;
        *capacity = grown_capacity;
    }
    *ret_unit = &source->units[source->unit_count++];
    **ret_unit = (struct libdw_unit){0};
    return ERR_OK;
}

static enum err read_units(struct libdw_source *source, struct error *error) {
    size_t capacity = 0;
    Dwarf_CU *cu = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die;
    int more;
    while ((more = dwarf_get_units(source->dwarf, cu, &cu, &version, &type, &die, NULL)) == 0) {
        struct libdw_unit *unit = NULL;
        enum err err = add_unit(source, &capacity, &unit, error);
        if (err)
            return err;
        unit->die = die;
        unit->version = version;
        err = read_unit(source, type, unit, error);
        if (err)
            return err;
    }
    source->units_damaged = more < 0;
    return ERR_OK;
}

static int compare_units(const void *a, const void *b) {
    const char *left = (*(struct libdw_unit *const *)a)->die.addr;
    const char *right = (*(struct libdw_unit *const *)b)->die.addr;
    return left < right ? -1 : left > right;
}

static enum err sort_units(struct libdw_source *source, struct error *error) {
    size_t count = source->unit_count;
    source->units_by_address = calloc(count + 1, sizeof(struct libdw_unit *));
    if (!source->units_by_address)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu units", count);
    for (size_t i = 0; i < count; i++)
        source->units_by_address[i] = &source->units[i];
    qsort(source->units_by_address, count, sizeof(struct libdw_unit *), compare_units);
    return ERR_OK;
}

struct libdw_unit *libdw_unit_of(const struct libdw_source *source, Dwarf_Die *die) {
    struct libdw_unit key = {0};
    const struct libdw_unit *wanted = &key;
    if (!dwarf_diecu(die, &key.die, NULL, NULL))
        return NULL;
    struct libdw_unit **found = bsearch(&wanted, source->units_by_address, source->unit_count,
                                        sizeof(struct libdw_unit *), compare_units);
    return found ? *found : NULL;
}

struct line_table_use {
    uint64_t offset;
    size_t unit;
};

static int compare_uses(const void *a, const void *b) {
    const struct line_table_use *left = a;
    const struct line_table_use *right = b;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return left->unit < right->unit ? -1 : left->unit > right->unit;
}

/* Of the units that name one line table the first pushes its rows, so that hostile units cannot
 * multiply them. */
static enum err find_shared_line_tables(struct libdw_source *source, struct error *error) {
    CLEANUP(cleanup_free)
    struct line_table_use *uses = calloc(source->unit_count + 1, sizeof(*uses));
    if (!uses)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu units", source->unit_count);
    size_t count = 0;
    for (size_t i = 0; i < source->unit_count; i++) {
        struct libdw_unit *unit = &source->units[i];
        if (unit->has_lines &&
            libdw_read_unsigned(&unit->die, DW_AT_stmt_list, &uses[count].offset))
            uses[count++].unit = i;
    }
    qsort(uses, count, sizeof(*uses), compare_uses);
    for (size_t i = 1; i < count; i++)
        if (uses[i].offset == uses[i - 1].offset)
            source->units[uses[i].unit].has_lines = false;
    return ERR_OK;
}

enum err libdw_source_new(struct elf_file *file, struct symbol_source **ret_source,
                          struct error *error) {
    Elf *elf;
    enum err err = elf_file_debug_elf(file, &elf, error);
    if (err)
        return err;
    CLEANUP(cleanup_source) struct libdw_source *source = calloc(1, sizeof(*source));
    if (!source)
        return error_set(error, ERR_NO_MEMORY, "no memory for a DWARF reader");
    source->source.ops = &libdw_source_ops;
    source->file = file;
    source->range_budget = RANGE_BUDGET;
    source->strings = string_pool_new(STRINGS_SIZE_MAX);
    if (!source->strings)
        return error_set(error, ERR_NO_MEMORY, "no memory for a DWARF reader");
    source->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    if (!source->dwarf)
        return error_set(error, ERR_MALFORMED, "DWARF: %s", dwarf_errmsg(-1));
    err = libdw_supplement_none(source, error);
    if (!err)
        err = read_units(source, error);
    if (!err)
        err = sort_units(source, error);
    if (!err)
        err = find_shared_line_tables(source, error);
    if (!err)
        *ret_source = &TAKE(source)->source;
    return err;
}
