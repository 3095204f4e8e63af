#include "debuginfo/symtab_source.h"

#include <stddef.h>

#include "base/arena.h"
#include "debuginfo/elf_plt.h"
#include "debuginfo/elf_symbols.h"
#include "debuginfo/symbol_candidates.h"
#include "debuginfo/symbol_scan.h"

/* So many single questions are answered by going over the tables; then it pays to sort them. */
#define SCAN_COUNT_MAX 8

/* Stubs' names are made here; real ones take some hundred KiB. */
#define STUB_NAMES_SIZE_MAX ((size_t)64 << 20)

struct symtab_source {
    struct symbol_source base;
    struct elf_file *file;
    unsigned scan_count;
    bool is_collected; /* what follows is there */
    struct symbol_candidates candidates;
    struct symbol_winner *winners;
    size_t winner_count;
    struct arena *stub_names; /* NULL until stubs were looked for */
};

static struct symtab_source *symtab_source_of(struct symbol_source *source) {
    return (struct symtab_source *)((char *)source - offsetof(struct symtab_source, base));
}

static enum err choose_winners(struct symtab_source *source, struct error *error) {
    struct symbol_winner *winners;
    size_t count;
    enum err err = symbol_winners_choose(source->candidates.items, source->candidates.count,
                                         &winners, &count, error);
    if (err)
        return err;
    free(source->winners);
    source->winners = winners;
    source->winner_count = count;
    return ERR_OK;
}

static enum err need_winners(struct symtab_source *source, struct error *error) {
    if (source->is_collected)
        return ERR_OK;
    enum err err = symbol_candidates_read(&source->candidates, source->file, error);
    if (!err)
        err = choose_winners(source, error);
    if (err) {
        symbol_candidates_clear(&source->candidates);
        return err;
    }
    source->is_collected = true;
    return ERR_OK;
}

/* --- stubs -------------------------------------------------------------------------------------
 */

/* "name@plt" in the arena; {NULL, 0} when it is full. */
static struct span stub_name(struct arena *arena, struct span name) {
    static const char suffix[] = "@plt";
    char *text = arena_alloc(arena, name.size + sizeof(suffix));
    if (!text)
        return (struct span){NULL, 0};
    memcpy(text, name.data, name.size);
    memcpy(text + name.size, suffix, sizeof(suffix));
    return span_of(text, name.size + sizeof(suffix) - 1);
}

static enum err add_stub(struct symtab_source *source, const struct elf_plt_stub *stub,
                         struct elf_symbol_table *entries, struct error *error) {
    struct elf_symbol symbol;
    elf_symbol_table_seek(entries, stub->symbol);
    if (!elf_symbol_table_next(entries, &symbol) || symbol.name.size == 0 ||
        !elf_file_is_executable(source->file, stub->begin))
        return ERR_OK;
    struct symbol_candidate candidate = {
        .name = stub_name(source->stub_names, elf_symbol_name_without_version(symbol.name)),
        .begin = stub->begin,
        .end = stub->end,
        .kind = SYMBOL_KIND_STUB,
        .origin = SYMBOL_ORIGIN_DYNSYM,
    };
    if (!candidate.name.data)
        return error_set(error, ERR_LIMIT, "names of stubs over %zu bytes", STUB_NAMES_SIZE_MAX);
    uint64_t limit = symbol_candidates_extent_end(source->file, stub->begin);
    if (candidate.end > limit)
        candidate.end = limit;
    return symbol_candidates_add(&source->candidates, &candidate, error);
}

static enum err add_all_stubs(struct symtab_source *source, const struct elf_plt *plt,
                              struct error *error) {
    struct elf_symbol_table entries;
    struct error reason;
    if (plt->count == 0 || elf_symbol_table_open(source->file, SHT_DYNSYM, &entries, &reason))
        return ERR_OK; /* what is wrong with the table was noted before */
    for (size_t i = 0; i < plt->count; i++) {
        enum err err = add_stub(source, &plt->stubs[i], &entries, &reason);
        if (err == ERR_LIMIT) {
            symbol_candidates_note(&source->candidates, &reason);
            break;
        }
        if (err) {
            *error = reason;
            return err;
        }
    }
    return choose_winners(source, error);
}

/* Reading all relocations is for those who ask about stubs. What answers elsewhere stays. */
static enum err need_stubs(struct symtab_source *source, struct error *error) {
    enum err err = need_winners(source, error);
    if (err || source->stub_names)
        return err;
    CLEANUP(elf_plt_clear) struct elf_plt plt = {0};
    err = elf_plt_read(source->file, &plt, error);
    if (err)
        return err;
    source->stub_names = arena_new(STUB_NAMES_SIZE_MAX);
    if (!source->stub_names)
        return error_set(error, ERR_NO_MEMORY, "no memory for stubs");
    return add_all_stubs(source, &plt, error);
}

/* --- the source --------------------------------------------------------------------------------
 */

/* Candidates are sorted by address, and at one address from the weakest to the best. */
static size_t first_above(const struct symbol_candidates *candidates, uint64_t pc) {
    size_t low = 0;
    size_t high = candidates->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (candidates->items[middle].begin <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of the candidates below position `above`, which begin at pc or lower. */
static size_t names_below(const struct symbol_candidates *candidates, size_t above, uint64_t pc,
                          struct span ret_names[static SYMTAB_NAMES_MAX]) {
    size_t count = 0;
    for (size_t i = above; i > 0 && count < SYMTAB_NAMES_MAX; i--) {
        const struct symbol_candidate *candidate = &candidates->items[i - 1];
        if (candidate->begin != pc)
            break;
        if (candidate->kind != SYMBOL_KIND_STUB)
            ret_names[count++] = candidate->name;
    }
    return count;
}

/* The names at a winner's begin: its neighbours in the table. */
static size_t names_of_winner(const struct symbol_candidates *candidates,
                              const struct symbol_winner *winner,
                              struct span ret_names[static SYMTAB_NAMES_MAX]) {
    uint64_t pc = candidates->items[winner->candidate].begin;
    size_t above = (size_t)winner->candidate + 1;
    if (winner->begin != pc)
        return 0;
    while (above < candidates->count && candidates->items[above].begin == pc)
        above++;
    return names_below(candidates, above, pc, ret_names);
}

static enum err push_winner(const struct symtab_source *source, const struct symbol_winner *winner,
                            struct symbol_sink *sink, struct error *error) {
    const struct symbol_candidate *candidate = &source->candidates.items[winner->candidate];
    struct span names[SYMTAB_NAMES_MAX];
    struct sink_symbol symbol = {
        .name = candidate->name,
        .begin = winner->begin,
        .end = winner->end,
        .entry_pc = candidate->begin,
        .origin = candidate->origin,
    };
    size_t count = names_of_winner(&source->candidates, winner, names);
    if (count > 1) {
        symbol.names = names;
        symbol.name_count = count;
    }
    return sink->ops->symbol(sink, &symbol, error);
}

static enum err push_symbols(struct symbol_source *base, struct symbol_sink *sink,
                             struct error *error) {
    struct symtab_source *source = symtab_source_of(base);
    enum err err = need_stubs(source, error);
    if (err)
        return err;
    for (size_t i = 0; i < source->candidates.damage_count; i++)
        sink->ops->damage(sink, source->candidates.damage[i].text);
    for (size_t i = 0; i < source->winner_count; i++) {
        err = push_winner(source, &source->winners[i], sink, error);
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

static enum err add_frame(const struct symbol_candidate *candidate, struct frame_list *frames,
                          struct error *error) {
    return frame_list_add(frames,
                          &(struct symbol_frame){.name = candidate->name,
                                                 .entry_pc = candidate->begin,
                                                 .has_entry_pc = true,
                                                 .origin = candidate->origin},
                          error);
}

/* False when it takes all symbols to answer. */
static bool may_scan(struct symtab_source *source) {
    return !source->is_collected && source->scan_count++ < SCAN_COUNT_MAX;
}

static enum err resolve_by_table(struct symtab_source *source, uint64_t pc,
                                 struct frame_list *frames, struct error *error) {
    bool needs_stubs = !source->stub_names && elf_plt_may_cover(source->file, pc);
    enum err err = needs_stubs ? need_stubs(source, error) : need_winners(source, error);
    if (err)
        return err;
    const struct symbol_winner *winner = winner_at(source, pc);
    return winner ? add_frame(&source->candidates.items[winner->candidate], frames, error) : ERR_OK;
}

static enum err resolve_symbol(struct symbol_source *base, uint64_t pc, struct frame_list *frames,
                               struct error *error) {
    struct symtab_source *source = symtab_source_of(base);
    frames->count = 0;
    if (!may_scan(source) || elf_plt_may_cover(source->file, pc))
        return resolve_by_table(source, pc, frames, error);
    struct symbol_candidate candidate;
    enum symbol_scan result = SYMBOL_SCAN_UNDECIDED;
    enum err err = symbol_scan(source->file, pc, &result, &candidate, error);
    if (err || result == SYMBOL_SCAN_NOTHING)
        return err;
    return result == SYMBOL_SCAN_FOUND ? add_frame(&candidate, frames, error)
                                       : resolve_by_table(source, pc, frames, error);
}

/* --- names -------------------------------------------------------------------------------------
 */

/* False when there are more than there is room for: only the table knows the best of them. */
static bool names_by_scan(struct symtab_source *source, uint64_t pc,
                          struct span ret_names[static SYMTAB_NAMES_MAX], size_t *ret_count,
                          enum err *ret_err, struct error *error) {
    struct symbol_candidate found[SYMTAB_NAMES_MAX];
    size_t count = 0;
    *ret_err = symbol_scan_names(source->file, pc, found, SYMTAB_NAMES_MAX, &count, error);
    if (*ret_err || count > SYMTAB_NAMES_MAX)
        return *ret_err != ERR_OK;
    for (size_t i = 0; i < count; i++)
        ret_names[i] = found[i].name;
    *ret_count = count;
    return true;
}

enum err symtab_source_names(struct symbol_source *base, uint64_t pc,
                             struct span ret_names[static SYMTAB_NAMES_MAX], size_t *ret_count,
                             struct error *error) {
    struct symtab_source *source = symtab_source_of(base);
    enum err err = ERR_OK;
    if (may_scan(source) && names_by_scan(source, pc, ret_names, ret_count, &err, error))
        return err;
    err = need_winners(source, error);
    if (!err)
        *ret_count =
            names_below(&source->candidates, first_above(&source->candidates, pc), pc, ret_names);
    return err;
}

static void free_source(struct symbol_source *base) {
    struct symtab_source *source = symtab_source_of(base);
    symbol_candidates_clear(&source->candidates);
    free(source->winners);
    arena_free(source->stub_names);
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
    *ret_source = &source->base;
    return ERR_OK;
}
