/*
 * Which units have code outside of the ranges that they state. Most files have none such; clang
 * leaves the functions that a sanitizer adds out of them, and hand-written DWARF may say anything.
 */
#include "debuginfo/dwarf_lookup_internal.h"

static enum err survey_functions(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                                 bool *ret_found, struct error *error) {
    const struct range_list *stated = &lookup->units[unit->number].ranges;
    struct dwarf_code_walk *code = dwarf_lookup_code(lookup);
    const struct dwarf_unit *in = dwarf_unit_of_code(unit);
    enum err err =
        dwarf_code_walk_start(code, &(struct dwarf_place){.unit = in, .position = in->root}, error);
    bool more = !err;
    while (!err && more && !*ret_found) {
        err = dwarf_code_walk_next(code, &more, error);
        for (size_t i = 0; !err && more && i < code->ranges.count; i++)
            *ret_found |= !range_list_contains(stated, code->ranges.items[i]);
    }
    return err == ERR_NO_MEMORY ? err : ERR_OK;
}

struct row_survey {
    struct dwarf_sequence_visitor visitor;
    const struct range_list *stated;
    bool found;
};

static enum err survey_sequence(struct dwarf_sequence_visitor *visitor,
                                const struct dwarf_sequence *sequence, struct error *error) {
    (void)error;
    struct row_survey *survey = (struct row_survey *)visitor;
    struct pc_range range = {sequence->rows[0].address, sequence->end};
    if (range.begin < range.end)
        survey->found |= !range_list_contains(survey->stated, range);
    return ERR_OK;
}

/* The rows, which are cheaper to read, come first. Of a line table that several units name only the
 * first is asked, as in a push. */
static enum err survey_unit(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                            struct error *error) {
    struct lookup_unit *known = &lookup->units[unit->number];
    struct row_survey survey = {.visitor = {.sequence = survey_sequence}, .stated = &known->ranges};
    enum err err = ERR_OK;
    if (unit->first_rows) {
        bool damaged = false;
        err = lookup_open_table(lookup, unit, error);
        if (!err)
            err =
                dwarf_line_visit(lookup->table, lookup->extents, &survey.visitor, &damaged, error);
    }
    if (!err && !survey.found)
        err = survey_functions(lookup, unit, &survey.found, error);
    if (!err)
        known->may_have_more = survey.found;
    return err;
}

enum err dwarf_lookup_survey(struct dwarf_lookup *lookup, bool *ret_new, struct error *error) {
    *ret_new = !lookup->surveyed;
    enum err err = ERR_OK;
    for (size_t i = 0; !err && !lookup->surveyed && i < lookup->unit_count; i++) {
        const struct dwarf_unit *unit = dwarf_info_unit(lookup->info, i);
        if (!unit->damage && unit->has_code && !lookup->units[i].may_have_more)
            err = survey_unit(lookup, unit, error);
    }
    lookup->surveyed = !err;
    return err;
}
