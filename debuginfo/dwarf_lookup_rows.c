#include <stdlib.h>

#include "debuginfo/dwarf_lookup_internal.h"

/* As many as symbolizer/build looks at. */
#define TWINS_TRIED_MAX 256

/* --- reading a unit's rows -------------------------------------------------------------------- */

struct row_collector {
    struct dwarf_sequence_visitor visitor;
    struct lookup_unit *known;
};

static enum err reserve_rows(struct lookup_unit *known, size_t count, struct error *error) {
    if (count > known->row_capacity - known->row_count) {
        size_t capacity = 2 * known->row_capacity + count;
        struct dwarf_row *grown = realloc(known->rows, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu line rows", capacity);
        known->rows = grown;
        known->row_capacity = capacity;
    }
    if (known->sequence_count == known->sequence_capacity) {
        size_t capacity = known->sequence_capacity ? 2 * known->sequence_capacity : 16;
        struct lookup_sequence *grown = NULL;
        if (capacity <= UINT32_MAX)
            grown = realloc(known->sequences, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu sequences", capacity);
        known->sequences = grown;
        known->sequence_capacity = capacity;
    }
    return ERR_OK;
}

static enum err collect(struct dwarf_sequence_visitor *visitor,
                        const struct dwarf_sequence *sequence, struct error *error) {
    struct lookup_unit *known = ((struct row_collector *)visitor)->known;
    enum err err = reserve_rows(known, sequence->count, error);
    if (err)
        return err;
    const struct pc_range range = {sequence->rows[0].address, sequence->end};
    err = range_index_add(&known->sequence_ranges, range, (uint32_t)known->sequence_count, error);
    if (err)
        return err;
    known->sequences[known->sequence_count++] = (struct lookup_sequence){
        .end = sequence->end,
        .row_first = known->row_count,
        .row_count = sequence->count,
    };
    memcpy(known->rows + known->row_count, sequence->rows,
           sequence->count * sizeof(*sequence->rows));
    known->row_count += sequence->count;
    return ERR_OK;
}

static enum err read_rows(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                          struct error *error) {
    struct lookup_unit *known = &lookup->units[unit->number];
    if (known->rows_read || !unit->first_rows)
        return ERR_OK;
    known->row_count = 0;
    known->sequence_count = 0;
    known->sequence_ranges.count = 0;
    struct row_collector collector = {.visitor = {.sequence = collect}, .known = known};
    bool damaged = false;
    enum err err = lookup_open_table(lookup, unit, error);
    if (!err)
        err = dwarf_line_visit(lookup->table, lookup->extents, &collector.visitor, &damaged, error);
    range_index_sort(&known->sequence_ranges);
    known->rows_read = !err;
    return err;
}

/* --- searching them --------------------------------------------------------------------------- */

struct row_search {
    uint64_t pc;
    const struct dwarf_unit *unit; /* of the sequence found; NULL: none yet */
    size_t sequence;
    struct pc_range range; /* its */
    uint64_t size;
};

static const struct dwarf_row *row_at(const struct lookup_unit *known,
                                      const struct lookup_sequence *sequence, uint64_t pc) {
    const struct dwarf_sequence bytes = {
        .rows = known->rows + sequence->row_first,
        .count = sequence->row_count,
        .end = sequence->end,
    };
    return dwarf_sequence_find(&bytes, pc);
}

/* The smallest sequence wins, of equal ones the first. */
static enum err search_unit(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                            struct row_search *search, struct error *error) {
    enum err err = read_rows(lookup, unit, error);
    if (err)
        return err;
    const struct lookup_unit *known = &lookup->units[unit->number];
    const struct range_index_item *item = range_index_smallest(&known->sequence_ranges, search->pc);
    uint64_t size = item ? item->range.end - item->range.begin : 0;
    if (!item || (search->unit && size >= search->size))
        return ERR_OK;
    search->unit = unit;
    search->range = item->range;
    search->sequence = item->id;
    search->size = size;
    return ERR_OK;
}

static enum err search_units(struct dwarf_lookup *lookup, bool hidden, struct row_search *search,
                             struct error *error) {
    enum err err = lookup_find_candidates(lookup, search->pc, hidden, error);
    for (size_t i = 0; !err && i < lookup->candidate_count; i++)
        err = search_unit(lookup, dwarf_info_unit(lookup->info, lookup->candidates[i]), search,
                          error);
    return err;
}

/* --- sequences of the same range -------------------------------------------------------------- */

/* The rows of a sequence fit a function if at its entry they are in its file, at or below the line
 * of its declaration. */
static enum err fits(struct dwarf_lookup *lookup, const struct dwarf_unit *unit,
                     const struct range_index_item *item, const struct dwarf_row_context *context,
                     bool *ret_fits, struct error *error) {
    const struct lookup_unit *known = &lookup->units[unit->number];
    uint64_t pc = context->entry_pc;
    if (pc - item->range.begin >= item->range.end - item->range.begin)
        pc = item->range.begin;
    const struct dwarf_row *row = row_at(known, &known->sequences[item->id], pc);
    *ret_fits = false;
    if (!row || row->line < context->decl_line)
        return ERR_OK;
    struct span path;
    enum err err = dwarf_lookup_path(lookup, unit, row->file, &path, error);
    if (!err)
        *ret_fits = span_equal(path, context->decl_file);
    return err;
}

/* Twins are neighbours in the index, in the order of the table. */
static enum err choose_twin(struct dwarf_lookup *lookup, const struct dwarf_row_context *context,
                            struct row_search *search, struct error *error) {
    const struct range_index *index = &lookup->units[search->unit->number].sequence_ranges;
    if (context->decl_file.size == 0)
        return ERR_OK;
    size_t first = range_index_start(index, search->range.begin);
    while (first > 0 && index->items[first - 1].range.begin == search->range.begin)
        first--;
    int tried = 0;
    for (size_t i = first; i < index->count && tried < TWINS_TRIED_MAX; i++) {
        const struct range_index_item *item = &index->items[i];
        if (item->range.begin != search->range.begin)
            break;
        if (item->range.end != search->range.end)
            continue;
        tried++;
        bool found;
        enum err err = fits(lookup, search->unit, item, context, &found, error);
        if (err)
            return err;
        if (found) {
            search->sequence = item->id;
            break;
        }
    }
    return ERR_OK;
}

enum err dwarf_lookup_row(struct dwarf_lookup *lookup, uint64_t pc,
                          const struct dwarf_row_context *context,
                          struct dwarf_row_answer *ret_answer, struct error *error) {
    struct row_search search = {.pc = pc};
    enum err err = ERR_OK;
    if (context->unit)
        err = search_unit(lookup, dwarf_unit_of_lines(context->unit), &search, error);
    if (!err && !search.unit)
        err = search_units(lookup, false, &search, error);
    if (!err && !search.unit)
        err = search_units(lookup, true, &search, error);
    if (!err && search.unit)
        err = choose_twin(lookup, context, &search, error);
    if (err)
        return err;
    *ret_answer = (struct dwarf_row_answer){.unit = search.unit};
    if (!search.unit)
        return ERR_OK;
    const struct lookup_unit *known = &lookup->units[search.unit->number];
    const struct dwarf_row *row = row_at(known, &known->sequences[search.sequence], pc);
    if (row)
        ret_answer->row = *row;
    else
        ret_answer->unit = NULL;
    return ERR_OK;
}
