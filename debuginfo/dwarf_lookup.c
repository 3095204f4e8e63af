#include "debuginfo/dwarf_lookup.h"

#include <stdlib.h>

#include "debuginfo/dwarf_lookup_internal.h"

static void unit_clear(struct lookup_unit *unit) {
    range_list_clear(&unit->ranges);
    range_index_clear(&unit->function_ranges);
    free(unit->functions);
    range_index_clear(&unit->sequence_ranges);
    free(unit->sequences);
    free(unit->rows);
}

void dwarf_lookup_free(struct dwarf_lookup *lookup) {
    if (!lookup)
        return;
    for (size_t i = 0; lookup->units && i < lookup->unit_count; i++)
        unit_clear(&lookup->units[i]);
    free(lookup->units);
    lookup_units_clear(lookup);
    dwarf_code_walk_clear(&lookup->code);
    dwarf_line_table_free(lookup->table);
    buffer_clear(&lookup->path);
    free(lookup);
}

static bool says_ranges(const struct dwarf_unit *unit) {
    return unit->ranges.has_ranges || (unit->ranges.has_low_pc && unit->ranges.has_high_pc);
}

static enum err read_unit_ranges(struct dwarf_lookup *lookup, size_t number, struct error *error) {
    const struct dwarf_unit *unit = dwarf_info_unit(lookup->info, number);
    struct lookup_unit *known = &lookup->units[number];
    if (unit->damage || !unit->has_code)
        return ERR_OK;
    known->may_have_more = true;
    if (!says_ranges(unit))
        return ERR_OK;
    struct dwarf_range_reader *reader = &lookup->code.reader;
    reader->sections = dwarf_info_sections(unit->info);
    reader->bases = &unit->bases;
    reader->damaged = false;
    enum err err = dwarf_ranges_read(reader, &unit->ranges, &known->ranges, error);
    range_list_join(&known->ranges);
    /* DWARF 2 has no range lists: a unit with code in several sections names the one of them. */
    known->may_have_more = reader->damaged || unit->bases.encoding.version < 3;
    return err;
}

enum err dwarf_lookup_new(const struct dwarf_info *info, const struct dwarf_extents *extents,
                          struct string_pool *strings, struct dwarf_lookup **ret_lookup,
                          struct error *error) {
    CLEANUP(cleanup_dwarf_lookup) struct dwarf_lookup *lookup = calloc(1, sizeof(*lookup));
    if (!lookup)
        return error_set(error, ERR_NO_MEMORY, "no memory for a DWARF reader");
    lookup->info = info;
    lookup->extents = extents;
    lookup->strings = strings;
    lookup->unit_count = dwarf_info_unit_count(info);
    lookup->units = calloc(lookup->unit_count + 1, sizeof(*lookup->units));
    lookup->table = dwarf_line_table_new();
    if (!lookup->units || !lookup->table)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu units", lookup->unit_count);
    dwarf_code_walk_init(&lookup->code, extents);
    for (size_t i = 0; i < lookup->unit_count; i++) {
        enum err err = read_unit_ranges(lookup, i, error);
        if (err)
            return err;
    }
    *ret_lookup = TAKE(lookup);
    return ERR_OK;
}

struct dwarf_code_walk *dwarf_lookup_code(struct dwarf_lookup *lookup) {
    lookup->code.reader.budget = DWARF_RANGE_BUDGET;
    return &lookup->code;
}

/* --- functions -------------------------------------------------------------------------------- */

static enum err keep_function(struct lookup_unit *known, const struct dwarf_code_walk *code,
                              struct error *error) {
    if (known->function_count == known->function_capacity) {
        size_t capacity = known->function_capacity ? 2 * known->function_capacity : 64;
        const uint8_t **grown = NULL;
        if (capacity <= UINT32_MAX)
            grown = realloc(known->functions, capacity * sizeof(const uint8_t *));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu functions", capacity);
        known->functions = grown;
        known->function_capacity = capacity;
    }
    uint32_t id = (uint32_t)known->function_count++;
    known->functions[id] = code->walk.die.position;
    enum err err = ERR_OK;
    for (size_t i = 0; !err && i < code->ranges.count; i++)
        err = range_index_add(&known->function_ranges, code->ranges.items[i], id, error);
    return err;
}

/* The contexts stay NONE, so that the walk steps over all copies. */
static enum err read_functions(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                               struct error *error) {
    struct lookup_unit *known = &lookup->units[unit->number];
    if (known->functions_read)
        return ERR_OK;
    known->function_count = 0;
    known->function_ranges.count = 0;
    struct dwarf_code_walk *code = dwarf_lookup_code(lookup);
    const struct dwarf_unit *in = dwarf_unit_of_code(unit);
    enum err err =
        dwarf_code_walk_start(code, &(struct dwarf_place){.unit = in, .position = in->root}, error);
    bool found = !err;
    while (!err && found) {
        err = dwarf_code_walk_next(code, &found, error);
        if (!err && found)
            err = keep_function(known, code, error);
    }
    if (err == ERR_NO_MEMORY)
        return err;
    range_index_sort(&known->function_ranges);
    known->functions_read = true;
    return ERR_OK; /* what is left out here, a push reports */
}

struct function_search {
    uint64_t pc;
    struct dwarf_place place;
    uint64_t size; /* of the range found */
};

static void search_unit(const struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                        struct function_search *search) {
    const struct lookup_unit *known = &lookup->units[unit->number];
    const struct range_index_item *item = range_index_smallest(&known->function_ranges, search->pc);
    uint64_t size = item ? item->range.end - item->range.begin : 0;
    if (!item || (search->place.unit && size >= search->size))
        return;
    search->place = (struct dwarf_place){.unit = dwarf_unit_of_code(unit),
                                         .position = known->functions[item->id]};
    search->size = size;
}

static enum err search_units(struct dwarf_lookup *lookup, bool hidden,
                             struct function_search *search, struct error *error) {
    enum err err = lookup_find_candidates(lookup, search->pc, hidden, error);
    for (size_t i = 0; !err && i < lookup->candidate_count; i++) {
        const struct dwarf_unit *unit = dwarf_info_unit(lookup->info, lookup->candidates[i]);
        err = read_functions(lookup, unit, error);
        if (!err)
            search_unit(lookup, unit, search);
    }
    return err;
}

enum err dwarf_lookup_function(struct dwarf_lookup *lookup, uint64_t pc,
                               struct dwarf_place *ret_function, struct error *error) {
    struct function_search search = {.pc = pc};
    enum err err = search_units(lookup, false, &search, error);
    if (!err && !search.place.unit)
        err = search_units(lookup, true, &search, error);
    if (!err)
        *ret_function = search.place;
    return err;
}

/* --- files ------------------------------------------------------------------------------------ */

enum err lookup_open_table(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                           struct error *error) {
    if (lookup->table_unit == unit)
        return ERR_OK;
    lookup->table_unit = NULL;
    if (unit->has_line_offset) {
        enum err err = dwarf_line_table_open(lookup->table, dwarf_info_sections(unit->info),
                                             &unit->bases, unit->line_offset, error);
        if (err == ERR_NO_MEMORY)
            return err;
    } else {
        dwarf_line_table_close(lookup->table);
    }
    lookup->table_unit = unit;
    return ERR_OK;
}

void dwarf_lookup_use_relative_paths(struct dwarf_lookup *lookup) {
    lookup->paths_are_relative = true;
}

enum err dwarf_lookup_path(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                           uint64_t index, struct span *ret_path, struct error *error) {
    unit = dwarf_unit_of_lines(unit);
    enum err err = lookup_open_table(lookup, unit, error);
    if (err)
        return err;
    const struct dwarf_line_origin origin = {unit->comp_dir, unit->name,
                                             lookup->paths_are_relative};
    lookup->path.size = 0;
    dwarf_line_path(lookup->table, index, &origin, &lookup->path);
    if (buffer_failed(&lookup->path))
        return error_set(error, ERR_NO_MEMORY, "no memory for a path");
    return string_pool_intern(lookup->strings, buffer_span(&lookup->path), ret_path, error);
}

enum err dwarf_lookup_declared(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                               uint64_t index, struct span *ret_path, struct error *error) {
    enum err err = lookup_open_table(lookup, dwarf_unit_of_lines(unit), error);
    if (err)
        return err;
    if (index > 0 || dwarf_line_table_has_file(lookup->table, 0))
        return dwarf_lookup_path(lookup, unit, index, ret_path, error);
    *ret_path = span_cstr("");
    return ERR_OK;
}
