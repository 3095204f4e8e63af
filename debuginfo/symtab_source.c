#include "debuginfo/symtab_source.h"

#include <stddef.h>

#include "debuginfo/elf_minidebug.h"
#include "debuginfo/elf_symbols.h"
#include "debuginfo/frame_table.h"
#include "debuginfo/symbol_winners.h"

/* The tables of one file, the better ones first. */
enum table {
    TABLE_SYMTAB,
    TABLE_MINIDEBUG, /* the .symtab in .gnu_debugdata */
    TABLE_DYNSYM,
    TABLE_COUNT,
};

static enum symbol_origin origin_of(enum table table) {
    return table == TABLE_DYNSYM ? SYMBOL_ORIGIN_DYNSYM : SYMBOL_ORIGIN_SYMTAB;
}

struct symtab_source {
    struct symbol_source base;
    const struct elf_file *file;
    struct symbol_candidate *candidates;
    size_t candidate_count;
    size_t candidate_capacity;
    struct symbol_winner *winners;
    size_t winner_count;
    struct error damage[TABLE_COUNT];
    size_t damage_count;
};

static struct symtab_source *symtab_source_of(struct symbol_source *source) {
    return (struct symtab_source *)((char *)source - offsetof(struct symtab_source, base));
}

/* --- collecting --------------------------------------------------------------------------------
 */

/* "name@VERSION" and "name@@VERSION" are the linker's spelling, not the function's name. */
static struct span without_version(struct span name) {
    const char *at = name.size > 1 ? memchr(name.data + 1, '@', name.size - 1) : NULL;
    return at ? span_of(name.data, (size_t)(at - name.data)) : name;
}

static uint32_t binding_rank(uint8_t binding) {
    switch (binding) {
    case STB_GLOBAL:
    case STB_GNU_UNIQUE:
        return 0;
    case STB_LOCAL:
        return 1;
    default:
        return 2;
    }
}

/* Among equal aliases the plain one: "malloc" rather than "__libc_malloc". */
static uint32_t underscore_count(struct span name) {
    uint32_t count = 0;
    while (count < 15 && count < name.size && name.data[count] == '_')
        count++;
    return count;
}

static uint32_t rank_of(const struct elf_symbol *symbol, enum table table) {
    uint32_t untyped = symbol->type == STT_NOTYPE;
    return untyped << 16 | binding_rank(symbol->binding) << 8 | (uint32_t)table << 4 |
           underscore_count(symbol->name);
}

static enum symbol_kind kind_of(const struct elf_symbol *symbol) {
    if (symbol->size == 0)
        return SYMBOL_KIND_SIZELESS;
    return symbol->type == STT_NOTYPE ? SYMBOL_KIND_UNTYPED_SIZED : SYMBOL_KIND_SIZED;
}

static enum err add_candidate(struct symtab_source *source, const struct elf_symbol *symbol,
                              enum table table, struct error *error) {
    if (source->candidate_count == UINT32_MAX)
        return error_set(error, ERR_LIMIT, "more than %u symbols", UINT32_MAX);
    if (source->candidate_count == source->candidate_capacity) {
        size_t capacity = source->candidate_capacity ? 2 * source->candidate_capacity : 256;
        struct symbol_candidate *grown = realloc(source->candidates, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu symbols", capacity);
        source->candidates = grown;
        source->candidate_capacity = capacity;
    }
    uint64_t end = symbol->size > UINT64_MAX - symbol->value ? UINT64_MAX
                                                             : symbol->value + symbol->size;
    source->candidates[source->candidate_count++] = (struct symbol_candidate){
        .name = without_version(symbol->name),
        .begin = symbol->value,
        .end = end, /* of a sizeless one: still its begin, see settle_ends */
        .kind = kind_of(symbol),
        .rank = rank_of(symbol, table),
        .origin = origin_of(table),
    };
    return ERR_OK;
}

static void note_damage(struct symtab_source *source, const struct error *error) {
    if (source->damage_count < ARRAY_SIZE(source->damage))
        source->damage[source->damage_count++] = *error;
}

static enum err collect_entries(struct symtab_source *source, struct elf_symbol_table *entries,
                                enum table table, struct error *error) {
    struct elf_symbol symbol;
    while (elf_symbol_table_next(entries, &symbol)) {
        if (!elf_symbol_is_code(source->file, &symbol) || symbol.value == UINT64_MAX)
            continue;
        enum err err = add_candidate(source, &symbol, table, error);
        if (err)
            return err;
    }
    if (entries->names_exhausted) {
        struct error reason;
        error_set(&reason, ERR_LIMIT, "%s: names overlap beyond reason; the rest was left out",
                  symbol_origin_name(origin_of(table)));
        note_damage(source, &reason);
    }
    return ERR_OK;
}

static enum err open_table(struct elf_file *file, enum table table,
                           struct elf_symbol_table *ret_entries, struct error *error) {
    if (table == TABLE_MINIDEBUG) {
        enum err err = elf_file_minidebug(file, &file, error);
        if (err)
            return err;
    }
    return elf_symbol_table_open(file, table == TABLE_DYNSYM ? SHT_DYNSYM : SHT_SYMTAB, ret_entries,
                                 error);
}

/* A table that cannot be read is damage, not a failure: the others may do. */
static enum err collect(struct symtab_source *source, struct elf_file *file, enum table table,
                        struct error *error) {
    struct elf_symbol_table entries;
    struct error reason;
    enum err err = open_table(file, table, &entries, &reason);
    if (err == ERR_NO_MEMORY) {
        *error = reason;
        return err;
    }
    if (err && err != ERR_NOT_FOUND)
        note_damage(source, &reason);
    return err ? ERR_OK : collect_entries(source, &entries, table, error);
}

/* --- how far a symbol reaches ------------------------------------------------------------------
 */

static int compare_addresses(const void *left, const void *right) {
    const uint64_t *a = left;
    const uint64_t *b = right;
    return (*a > *b) - (*a < *b);
}

/* The first of the sorted addresses above `address`, or UINT64_MAX. */
static uint64_t next_above(const uint64_t *addresses, size_t count, uint64_t address) {
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (addresses[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count ? addresses[low] : UINT64_MAX;
}

/* The end of the extent around pc; UINT64_MAX if no extents are known. */
static uint64_t extent_end(const struct elf_file *file, uint64_t pc) {
    const struct pc_range *extents;
    size_t count;
    bool exact;
    elf_file_executable_extents(file, &extents, &count, &exact);
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (extents[middle].end <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count ? extents[low].end : UINT64_MAX;
}

/* What bounds symbols that do not say how far they reach. */
struct bounds {
    uint64_t *begins; /* of all candidates, ascending */
    size_t count;
    struct frame_table *frames; /* NULL: the file has none, or nobody needs them */
};

static void bounds_clear(struct bounds *bounds) {
    free(bounds->begins);
    frame_table_free(bounds->frames);
}

/* In .symtab to the next symbol or the next FDE. In .dynsym, which shows a few of the functions
 * only, what follows is not known to be the symbol's code unless its own FDE says so. */
static uint64_t sizeless_end(const struct bounds *bounds, const struct symbol_candidate *candidate,
                             uint64_t limit) {
    uint64_t end = next_above(bounds->begins, bounds->count, candidate->begin);
    struct pc_range frame = {0};
    uint64_t next_frame;
    if (candidate->origin == SYMBOL_ORIGIN_DYNSYM) {
        if (!bounds->frames || !frame_table_find(bounds->frames, candidate->begin, &frame))
            return candidate->begin + 1;
        return frame.end < end ? frame.end : end;
    }
    if (bounds->frames && frame_table_next(bounds->frames, candidate->begin, &next_frame) &&
        next_frame < end)
        end = next_frame;
    return end == UINT64_MAX && limit == UINT64_MAX ? candidate->begin + 1 : end;
}

static void settle_end(const struct symtab_source *source, const struct bounds *bounds,
                       struct symbol_candidate *candidate) {
    uint64_t limit = extent_end(source->file, candidate->begin);
    if (candidate->kind == SYMBOL_KIND_SIZELESS)
        candidate->end = sizeless_end(bounds, candidate, limit);
    if (candidate->end > limit)
        candidate->end = limit;
}

static enum err find_bounds(struct symtab_source *source, struct elf_file *file,
                            struct bounds *bounds, struct error *error) {
    size_t count = source->candidate_count;
    bounds->begins = calloc(count ? count : 1, sizeof(*bounds->begins));
    if (!bounds->begins)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu symbols", count);
    bounds->count = count;
    bool any_sizeless = false;
    for (size_t i = 0; i < count; i++) {
        bounds->begins[i] = source->candidates[i].begin;
        any_sizeless |= source->candidates[i].kind == SYMBOL_KIND_SIZELESS;
    }
    qsort(bounds->begins, count, sizeof(*bounds->begins), compare_addresses);
    enum err err = any_sizeless ? frame_table_new(file, &bounds->frames, error) : ERR_OK;
    return err == ERR_NOT_FOUND ? ERR_OK : err;
}

static enum err settle_ends(struct symtab_source *source, struct elf_file *file,
                            struct error *error) {
    CLEANUP(bounds_clear) struct bounds bounds = {0};
    enum err err = find_bounds(source, file, &bounds, error);
    for (size_t i = 0; !err && i < source->candidate_count; i++)
        settle_end(source, &bounds, &source->candidates[i]);
    return err;
}

/* --- the source --------------------------------------------------------------------------------
 */

static enum err push_symbols(struct symbol_source *base, struct symbol_sink *sink,
                             struct error *error) {
    struct symtab_source *source = symtab_source_of(base);
    for (size_t i = 0; i < source->damage_count; i++)
        sink->ops->damage(sink, source->damage[i].text);
    for (size_t i = 0; i < source->winner_count; i++) {
        const struct symbol_winner *winner = &source->winners[i];
        const struct symbol_candidate *candidate = &source->candidates[winner->candidate];
        struct sink_symbol symbol = {
            .name = candidate->name,
            .begin = winner->begin,
            .end = winner->end,
            .entry_pc = candidate->begin,
            .origin = candidate->origin,
        };
        enum err err = sink->ops->symbol(sink, &symbol, error);
        if (err)
            return err;
    }
    return ERR_OK;
}

static const struct symbol_winner *winner_at(const struct symtab_source *source, uint64_t pc) {
    size_t low = 0;
    size_t high = source->winner_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (source->winners[middle].end <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < source->winner_count && source->winners[low].begin <= pc;
    return found ? &source->winners[low] : NULL;
}

static enum err resolve_symbol(struct symbol_source *base, uint64_t pc, struct frame_list *frames,
                               struct error *error) {
    struct symtab_source *source = symtab_source_of(base);
    frames->count = 0;
    const struct symbol_winner *winner = winner_at(source, pc);
    if (!winner)
        return ERR_OK;
    const struct symbol_candidate *candidate = &source->candidates[winner->candidate];
    return frame_list_add(frames,
                          &(struct symbol_frame){.name = candidate->name,
                                                 .entry_pc = candidate->begin,
                                                 .has_entry_pc = true,
                                                 .origin = candidate->origin},
                          error);
}

static void free_source(struct symbol_source *base) {
    struct symtab_source *source = symtab_source_of(base);
    free(source->candidates);
    free(source->winners);
    free(source);
}

static const struct symbol_source_ops symtab_source_ops = {
    .push = push_symbols,
    .resolve = resolve_symbol,
    .free = free_source,
};

enum err symtab_source_new(struct elf_file *file, struct symbol_source **ret_source,
                           struct error *error) {
    struct symtab_source *source = calloc(1, sizeof(*source));
    if (!source)
        return error_set(error, ERR_NO_MEMORY, "no memory for symbols");
    source->base.ops = &symtab_source_ops;
    source->file = file;
    CLEANUP(cleanup_symbol_source) struct symbol_source *base = &source->base;
    enum err err = ERR_OK;
    for (int table = 0; !err && table < TABLE_COUNT; table++)
        err = collect(source, file, (enum table)table, error);
    if (!err)
        err = settle_ends(source, file, error);
    if (!err)
        err = symbol_winners_choose(source->candidates, source->candidate_count, &source->winners,
                                    &source->winner_count, error);
    if (err)
        return err;
    *ret_source = TAKE(base);
    return ERR_OK;
}
