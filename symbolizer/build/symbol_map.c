#include "symbolizer/build/symbol_map.h"

#include <assert.h>

#define SYMBOLS_MAX ((size_t)UINT32_MAX - 1)

/* Added to the number of the push, of which there are a handful. */
#define DYNSYM_RANK ((uint32_t)1 << 16)

static enum err add_names(struct symbol_map *map, const struct sink_symbol *pushed,
                          struct mapped_symbol *symbol, struct error *error) {
    assert(pushed->name_count <= SINK_SYMBOL_NAMES_MAX);
    if (pushed->name_count > SYMBOLS_MAX - map->all_name_count)
        return error_set(error, ERR_LIMIT, "more than %zu names of symbols", SYMBOLS_MAX);
    enum err err = BUDGET_GROW(map->budget, map->names, map->name_capacity,
                               map->all_name_count + pushed->name_count, error);
    symbol->name_first = (uint32_t)map->all_name_count;
    symbol->name_count = (uint32_t)pushed->name_count;
    for (size_t i = 0; err == ERR_OK && i < pushed->name_count; i++)
        err = shared_strings_intern(map->strings, pushed->names[i], true,
                                    &map->names[map->all_name_count + i], error);
    if (err == ERR_OK)
        map->all_name_count += pushed->name_count;
    return err;
}

static enum err push_symbol(struct symbol_sink *sink, const struct sink_symbol *pushed,
                            struct error *error) {
    struct symbol_map *map = (struct symbol_map *)sink;
    if (pushed->begin >= pushed->end)
        return ERR_OK;
    if (map->count >= SYMBOLS_MAX)
        return error_set(error, ERR_LIMIT, "more than %zu symbols", SYMBOLS_MAX);
    struct mapped_symbol symbol = {
        .begin = pushed->begin,
        .end = pushed->end,
        .entry_pc = pushed->entry_pc,
        .rank = map->source + (pushed->origin == SYMBOL_ORIGIN_SYMTAB ? 0 : DYNSYM_RANK),
        .origin = pushed->origin,
    };
    enum err err = BUDGET_GROW(map->budget, map->list, map->capacity, map->count + 1, error);
    if (err == ERR_OK)
        err = shared_strings_intern(map->strings, pushed->name, true, &symbol.name, error);
    if (err == ERR_OK && pushed->name_count > 0)
        err = add_names(map, pushed, &symbol, error);
    if (err == ERR_OK)
        map->list[map->count++] = symbol;
    return err;
}

static void note_damage(struct symbol_sink *sink, const char *what) {
    (void)what;
    ((struct symbol_map *)sink)->damage++;
}

static const struct symbol_sink_ops symbol_map_ops = {.symbol = push_symbol, .damage = note_damage};

void symbol_map_init(struct symbol_map *map, struct memory_budget *budget,
                     struct shared_strings *strings) {
    *map =
        (struct symbol_map){.sink = {.ops = &symbol_map_ops}, .budget = budget, .strings = strings};
}

void symbol_map_clear(struct symbol_map *map) {
    if (!map->budget)
        return;
    BUDGET_FREE(map->budget, map->list, map->capacity);
    BUDGET_FREE(map->budget, map->names, map->name_capacity);
    sweep_segments_clear(map->budget, &map->segments);
}

void symbol_map_end_source(struct symbol_map *map) {
    map->source++;
}

enum err symbol_map_settle(struct symbol_map *map, struct error *error) {
    struct sweep_range *ranges = NULL;
    size_t capacity = 0;
    enum err err = BUDGET_GROW(map->budget, ranges, capacity, map->count, error);
    for (size_t i = 0; err == ERR_OK && i < map->count; i++)
        ranges[i] = (struct sweep_range){.begin = map->list[i].begin,
                                         .end = map->list[i].end,
                                         .key = map->list[i].rank,
                                         .id = (uint32_t)i};
    if (err == ERR_OK)
        err = sweep(map->budget, ranges, map->count, &map->segments, error);
    BUDGET_FREE(map->budget, ranges, capacity);
    return err;
}

uint32_t symbol_map_at(const struct symbol_map *map, uint64_t pc, uint64_t *ret_end) {
    size_t at = sweep_segments_find(&map->segments, pc);
    if (at == map->segments.count) {
        *ret_end = UINT64_MAX;
        return SYMBOL_NONE;
    }
    const struct sweep_segment *segment = &map->segments.list[at];
    bool inside = segment->begin <= pc;
    *ret_end = inside ? segment->end : segment->begin;
    return inside ? segment->id : SYMBOL_NONE;
}
