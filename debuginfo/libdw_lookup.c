/*
 * Which function and which row answer at an address. A unit is read when an address first leads to
 * it and then remembered, so that the second address in it costs a search alone.
 */
#include <stdlib.h>

#include "debuginfo/libdw_internal.h"

struct function_collector {
    struct libdw_visitor visitor;
    struct libdw_unit *unit;
    size_t capacity;
};

static enum err collect_function(struct libdw_visitor *visitor, Dwarf_Die *die,
                                 const struct range_list *ranges, uint32_t *ret_node,
                                 struct error *error) {
    struct function_collector *collector = (struct function_collector *)visitor;
    struct libdw_unit *unit = collector->unit;
    for (size_t i = 0; i < ranges->count; i++) {
        if (unit->function_count == collector->capacity) {
            size_t capacity = collector->capacity ? 2 * collector->capacity : 64;
            struct libdw_function *grown = realloc(unit->functions, capacity * sizeof(*grown));
            if (!grown)
                return error_set(error, ERR_NO_MEMORY, "no memory for %zu functions", capacity);
            unit->functions = grown;
            collector->capacity = capacity;
        }
        unit->functions[unit->function_count++] =
            (struct libdw_function){.range = ranges->items[i], .die_address = die->addr};
    }
    *ret_node = NODE_NONE;
    return ERR_OK;
}

static enum err read_functions(struct libdw_source *source, struct libdw_unit *unit,
                               struct error *error) {
    if (unit->functions_read)
        return ERR_OK;
    unit->function_count = 0;
    struct function_collector collector = {.visitor = {.function = collect_function}, .unit = unit};
    bool damaged = false; /* what is left out here, a push reports */
    enum err err = libdw_visit_functions(source, &unit->die, &collector.visitor, &damaged, error);
    unit->functions_read = !err;
    return err;
}

struct row_collector {
    struct libdw_row_visitor visitor;
    struct libdw_unit *unit;
    size_t capacity;
};

static enum err collect_row(struct libdw_row_visitor *visitor, const struct libdw_row *row,
                            struct error *error) {
    struct row_collector *collector = (struct row_collector *)visitor;
    struct libdw_unit *unit = collector->unit;
    if (unit->row_count == collector->capacity) {
        size_t capacity = collector->capacity ? 2 * collector->capacity : 256;
        struct libdw_row *grown = realloc(unit->rows, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu line rows", capacity);
        unit->rows = grown;
        collector->capacity = capacity;
    }
    unit->rows[unit->row_count++] = *row;
    return ERR_OK;
}

static enum err read_rows(struct libdw_source *source, struct libdw_unit *unit,
                          struct error *error) {
    if (unit->rows_read)
        return ERR_OK;
    unit->row_count = 0;
    struct row_collector collector = {.visitor = {.row = collect_row}, .unit = unit};
    bool damaged = false;
    enum err err = libdw_visit_rows(source, unit, &collector.visitor, &damaged, error);
    unit->rows_read = !err;
    return err;
}

/*
 * The rows of a unit come ascending over all its sequences, which do not overlap (libdw_lines.c).
 * So the last row at or before pc decides: an end marker says that pc is in no sequence.
 */
static const struct libdw_row *find_row(const struct libdw_unit *unit, uint64_t pc) {
    size_t low = 0;
    size_t high = unit->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unit->rows[middle].address <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || unit->rows[low - 1].end_sequence)
        return NULL;
    return &unit->rows[low - 1];
}

static uint64_t size_of(struct pc_range range) {
    return range.end - range.begin;
}

static enum err find_function_in(struct libdw_source *source, struct libdw_unit *unit, uint64_t pc,
                                 struct libdw_place *place, struct error *error) {
    enum err err = read_functions(source, unit, error);
    for (size_t i = 0; !err && i < unit->function_count; i++) {
        const struct libdw_function *function = &unit->functions[i];
        if (pc < function->range.begin || pc >= function->range.end)
            continue;
        if (!place->function || size_of(function->range) < size_of(place->function->range)) {
            place->function = function;
            place->unit = unit;
        }
    }
    return err;
}

static enum err find_row_in(struct libdw_source *source, struct libdw_unit *unit, uint64_t pc,
                            struct libdw_place *place, struct error *error) {
    enum err err = read_rows(source, unit, error);
    if (err)
        return err;
    place->row = find_row(unit, pc);
    place->row_unit = place->row ? unit : NULL;
    return ERR_OK;
}

/* The units that say they cover pc or, if `hidden`, the others that may do so all the same. */
static bool is_candidate(const struct libdw_unit *unit, uint64_t pc, bool hidden) {
    if (!unit->has_code)
        return false;
    bool says_so = range_list_covers(&unit->ranges, pc);
    return hidden ? !says_so && unit->may_have_more : says_so;
}

static enum err search_functions(struct libdw_source *source, uint64_t pc, bool hidden,
                                 struct libdw_place *place, struct error *error) {
    enum err err = ERR_OK;
    for (size_t i = 0; !err && i < source->unit_count; i++)
        if (is_candidate(&source->units[i], pc, hidden))
            err = find_function_in(source, &source->units[i], pc, place, error);
    return err;
}

static enum err search_rows(struct libdw_source *source, uint64_t pc, bool hidden,
                            struct libdw_place *place, struct error *error) {
    enum err err = ERR_OK;
    for (size_t i = 0; !err && !place->row && i < source->unit_count; i++)
        if (is_candidate(&source->units[i], pc, hidden))
            err = find_row_in(source, &source->units[i], pc, place, error);
    return err;
}

static enum err find_place(struct libdw_source *source, uint64_t pc, struct libdw_place *place,
                           struct error *error) {
    enum err err = search_functions(source, pc, false, place, error);
    if (!err && !place->function)
        err = search_functions(source, pc, true, place, error);
    if (!err && place->unit)
        err = find_row_in(source, place->unit, pc, place, error);
    if (!err && !place->row)
        err = search_rows(source, pc, false, place, error);
    if (!err && !place->row)
        err = search_rows(source, pc, true, place, error);
    return err;
}

enum err libdw_find_place(struct libdw_source *source, uint64_t pc, struct libdw_place *ret_place,
                          struct error *error) {
    struct libdw_place place = {0};
    enum err err = find_place(source, pc, &place, error);
    if (!err && !place.row && !source->units_surveyed) {
        err = libdw_survey_units(source, error);
        place = (struct libdw_place){0};
        if (!err)
            err = find_place(source, pc, &place, error);
    }
    if (!err)
        *ret_place = place;
    return err;
}
