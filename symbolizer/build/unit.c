#include "symbolizer/build/unit.h"

#include <assert.h>

/* Positions are 32 bits wide, and the largest stands for none. */
#define RECORDS_MAX ((size_t)UINT32_MAX - 1)

void unit_reset(struct unit *unit) {
    unit->node_count = 0;
    unit->entry_count = 0;
    unit->range_count = 0;
    unit->row_count = 0;
    unit->sequence_count = 0;
}

void unit_clear(struct unit *unit) {
    struct memory_budget *budget = unit->budget;
    BUDGET_FREE(budget, unit->nodes, unit->node_capacity);
    BUDGET_FREE(budget, unit->entries, unit->entry_capacity);
    BUDGET_FREE(budget, unit->ranges, unit->range_capacity);
    BUDGET_FREE(budget, unit->rows, unit->row_capacity);
    BUDGET_FREE(budget, unit->sequences, unit->sequence_capacity);
    *unit = (struct unit){.budget = budget};
}

static enum err too_many(const char *what, struct error *error) {
    return error_set(error, ERR_LIMIT, "more than %zu %s in one unit", RECORDS_MAX, what);
}

static enum err add_ranges(struct unit *unit, const struct pc_range *ranges, size_t count,
                           struct unit_node *node, struct error *error) {
    if (count > RECORDS_MAX - unit->range_count)
        return too_many("ranges", error);
    enum err err = BUDGET_GROW(unit->budget, unit->ranges, unit->range_capacity,
                               unit->range_count + count, error);
    if (err)
        return err;
    node->range_first = (uint32_t)unit->range_count;
    for (size_t i = 0; i < count; i++)
        if (ranges[i].begin < ranges[i].end)
            unit->ranges[unit->range_count++] = ranges[i];
    node->range_count = (uint32_t)unit->range_count - node->range_first;
    return ERR_OK;
}

static enum err add_node(struct unit *unit, const struct unit_node *node, uint32_t *ret_node,
                         struct error *error) {
    if (unit->node_count >= RECORDS_MAX)
        return too_many("functions", error);
    enum err err =
        BUDGET_GROW(unit->budget, unit->nodes, unit->node_capacity, unit->node_count + 1, error);
    if (err)
        return err;
    *ret_node = (uint32_t)unit->node_count;
    unit->nodes[unit->node_count++] = *node;
    return ERR_OK;
}

enum err unit_add_function(struct unit *unit, const struct sink_function *function,
                           uint32_t *ret_node, struct error *error) {
    struct unit_node node = {.subject = function->subject, .parent = UNIT_NONE, .entry = UNIT_NONE};
    enum err err = add_ranges(unit, function->ranges, function->range_count, &node, error);
    if (err == ERR_OK && function->has_entry_pc) {
        err = BUDGET_GROW(unit->budget, unit->entries, unit->entry_capacity, unit->entry_count + 1,
                          error);
        if (err)
            return err;
        node.entry = (uint32_t)unit->entry_count;
        unit->entries[unit->entry_count++] = function->entry_pc;
    }
    return err ? err : add_node(unit, &node, ret_node, error);
}

enum err unit_add_inlined(struct unit *unit, const struct sink_inlined *inlined, uint32_t *ret_node,
                          bool *ret_kept, struct error *error) {
    assert(inlined->parent < unit->node_count);
    const struct unit_node *parent = &unit->nodes[inlined->parent];
    *ret_kept = parent->depth + 1 < FRAME_COUNT_MAX;
    if (!*ret_kept) {
        *ret_node = inlined->parent;
        return ERR_OK;
    }
    struct unit_node node = {
        .subject = inlined->subject,
        .parent = inlined->parent,
        .call = {inlined->call_file, inlined->call_line, inlined->call_column},
        .depth = parent->depth + 1,
        .entry = UNIT_NONE,
    };
    enum err err = add_ranges(unit, inlined->ranges, inlined->range_count, &node, error);
    return err ? err : add_node(unit, &node, ret_node, error);
}

static bool same_place(const struct index_place *a, const struct index_place *b) {
    return a->file == b->file && a->line == b->line && a->column == b->column;
}

/* Of several rows at one address the last one wins, and a row that repeats the place of the row
 * before it changes no answer: neither kind of loser is kept. There is room. */
static void add_row(struct unit *unit, size_t first, const struct sink_line *line) {
    struct shard_row row = {line->address, {line->file, line->line, line->column}};
    if (unit->row_count > first && unit->rows[unit->row_count - 1].address == line->address)
        unit->row_count--;
    if (unit->row_count > first && same_place(&unit->rows[unit->row_count - 1].place, &row.place))
        return;
    unit->rows[unit->row_count++] = row;
}

enum err unit_add_sequence(struct unit *unit, const struct sink_line *rows, size_t count,
                           struct error *error) {
    assert(count >= 2 && rows[count - 1].end_sequence);
    uint64_t end = rows[count - 1].address;
    if (rows[0].address >= end)
        return ERR_OK;
    if (unit->sequence_count >= RECORDS_MAX || count > RECORDS_MAX - unit->row_count)
        return too_many("line rows", error);
    enum err err = BUDGET_GROW(unit->budget, unit->sequences, unit->sequence_capacity,
                               unit->sequence_count + 1, error);
    if (err == ERR_OK)
        err = BUDGET_GROW(unit->budget, unit->rows, unit->row_capacity, unit->row_count + count,
                          error);
    if (err)
        return err;
    size_t first = unit->row_count;
    for (size_t i = 0; i + 1 < count; i++) {
        assert(rows[i].address <= rows[i + 1].address);
        add_row(unit, first, &rows[i]);
    }
    unit->sequences[unit->sequence_count++] = (struct unit_sequence){
        .begin = rows[0].address,
        .end = end,
        .row_first = (uint32_t)first,
        .row_count = (uint32_t)(unit->row_count - first),
    };
    return ERR_OK;
}
