/*
 * Which units have code outside of the ranges that they state. Most files have none such; clang
 * leaves the functions that a sanitizer adds out of them, and hand-written DWARF may say anything.
 */
#include "debuginfo/libdw_internal.h"

struct survey {
    struct libdw_visitor functions;
    struct libdw_row_visitor rows;
    const struct libdw_unit *unit;
    bool found;
    bool open; /* a row came, and no other or end after it */
    uint64_t begin;
};

#define SURVEY_OF(visitor, member)                                                                 \
    ((struct survey *)((char *)(visitor)-offsetof(struct survey, member)))

static void look_at(struct survey *survey, struct pc_range range) {
    if (range.begin < range.end && !range_list_contains(&survey->unit->ranges, range))
        survey->found = true;
}

static enum err look_at_function(struct libdw_visitor *visitor, Dwarf_Die *die,
                                 const struct range_list *ranges, uint32_t *ret_node,
                                 struct error *error) {
    (void)die;
    (void)error;
    struct survey *survey = SURVEY_OF(visitor, functions);
    for (size_t i = 0; i < ranges->count; i++)
        look_at(survey, ranges->items[i]);
    *ret_node = NODE_NONE;
    return ERR_OK;
}

static enum err look_at_row(struct libdw_row_visitor *visitor, const struct libdw_row *row,
                            struct error *error) {
    (void)error;
    struct survey *survey = SURVEY_OF(visitor, rows);
    if (survey->open)
        look_at(survey, (struct pc_range){survey->begin, row->address});
    survey->open = !row->end_sequence;
    survey->begin = row->address;
    return ERR_OK;
}

/* The rows, which are cheaper to read, come first. Of a line table that several units name only the
 * first is asked, as in a push. */
static enum err survey_unit(struct libdw_source *source, struct libdw_unit *unit,
                            struct error *error) {
    struct survey survey = {
        .functions = {.function = look_at_function},
        .rows = {.row = look_at_row},
        .unit = unit,
    };
    bool damaged = false;
    enum err err = ERR_OK;
    if (unit->has_lines)
        err = libdw_visit_rows(source, unit, &survey.rows, &damaged, error);
    if (!err && !survey.found)
        err = libdw_visit_functions(source, &unit->die, &survey.functions, &damaged, error);
    if (!err)
        unit->may_have_more = survey.found;
    return err;
}

enum err libdw_survey_units(struct libdw_source *source, struct error *error) {
    enum err err = ERR_OK;
    for (size_t i = 0; !err && i < source->unit_count; i++) {
        struct libdw_unit *unit = &source->units[i];
        if (unit->has_code && !unit->may_have_more)
            err = survey_unit(source, unit, error);
    }
    source->units_surveyed = !err;
    return err;
}
