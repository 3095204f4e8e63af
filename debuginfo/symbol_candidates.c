#include "debuginfo/symbol_candidates_internal.h"

#include "debuginfo/elf_minidebug.h"
#include "debuginfo/frame_table.h"

static enum symbol_origin origin_of(enum symbol_table table) {
    return table == SYMBOL_TABLE_DYNSYM ? SYMBOL_ORIGIN_DYNSYM : SYMBOL_ORIGIN_SYMTAB;
}

/* --- collecting --------------------------------------------------------------------------------
 */

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

/* Among equal aliases the plain one: "malloc" rather than "__libc_malloc", and rather than
 * ".malloc", as 64-bit PowerPC's first ABI calls the code behind a descriptor. */
static uint32_t prefix_count(struct span name) {
    uint32_t count = 0;
    while (count < 15 && count < name.size && strchr("_.", name.data[count]))
        count++;
    return count;
}

static uint32_t rank_of(const struct elf_symbol *symbol, enum symbol_table table) {
    uint32_t untyped = symbol->type == STT_NOTYPE;
    return untyped << 16 | binding_rank(symbol->binding) << 8 | (uint32_t)table << 4 |
           prefix_count(symbol->name);
}

static enum symbol_kind kind_of(const struct elf_symbol *symbol) {
    if (symbol->size == 0)
        return SYMBOL_KIND_SIZELESS;
    return symbol->type == STT_NOTYPE ? SYMBOL_KIND_UNTYPED_SIZED : SYMBOL_KIND_SIZED;
}

enum err symbol_candidates_add(struct symbol_candidates *list,
                               const struct symbol_candidate *candidate, struct error *error) {
    if (list->count == UINT32_MAX)
        return error_set(error, ERR_LIMIT, "more than %u symbols", UINT32_MAX);
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 256;
        struct symbol_candidate *grown = realloc(list->items, capacity * sizeof(*grown));
        if (!grown)
            return error_set(error, ERR_NO_MEMORY, "no memory for %zu symbols", capacity);
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = *candidate;
    return ERR_OK;
}

struct symbol_candidate symbol_candidate_of(const struct elf_symbol *symbol,
                                            enum symbol_table table) {
    uint64_t end = symbol->size > UINT64_MAX - symbol->value ? UINT64_MAX
                                                             : symbol->value + symbol->size;
    return (struct symbol_candidate){
        .name = elf_symbol_name_without_version(symbol->name),
        .begin = symbol->value,
        .end = end, /* of a sizeless one: still its begin, see settle_ends */
        .kind = kind_of(symbol),
        .rank = rank_of(symbol, table),
        .origin = origin_of(table),
    };
}

void symbol_candidates_note(struct symbol_candidates *list, const struct error *error) {
    if (list->damage_count < ARRAY_SIZE(list->damage))
        list->damage[list->damage_count++] = *error;
}

static enum err collect_entries(struct symbol_candidates *list, struct elf_symbol_table *entries,
                                enum symbol_table table, struct error *error) {
    struct elf_symbol symbol;
    while (elf_symbol_table_next(entries, &symbol)) {
        if (!elf_symbol_is_code(list->file, &symbol))
            continue;
        struct symbol_candidate candidate = symbol_candidate_of(&symbol, table);
        enum err err = symbol_candidates_add(list, &candidate, error);
        if (err)
            return err;
    }
    if (entries->names_exhausted) {
        struct error reason;
        error_set(&reason, ERR_LIMIT, "%s: names overlap beyond reason; the rest was left out",
                  symbol_origin_name(origin_of(table)));
        symbol_candidates_note(list, &reason);
    }
    return ERR_OK;
}

enum err symbol_table_open(struct elf_file *file, enum symbol_table table,
                           struct elf_symbol_table *ret_entries, struct error *error) {
    if (table == SYMBOL_TABLE_MINIDEBUG) {
        enum err err = elf_file_minidebug(file, &file, error);
        if (err)
            return err;
    }
    return elf_symbol_table_open(file, table == SYMBOL_TABLE_DYNSYM ? SHT_DYNSYM : SHT_SYMTAB,
                                 ret_entries, error);
}

/* A table that cannot be read is damage, not a failure: the others may do. */
static enum err collect(struct symbol_candidates *list, struct elf_file *file,
                        enum symbol_table table, struct error *error) {
    struct elf_symbol_table entries;
    struct error reason;
    enum err err = symbol_table_open(file, table, &entries, &reason);
    if (err == ERR_NO_MEMORY) {
        *error = reason;
        return err;
    }
    if (err && err != ERR_NOT_FOUND)
        symbol_candidates_note(list, &reason);
    return err ? ERR_OK : collect_entries(list, &entries, table, error);
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

uint64_t symbol_candidates_extent_end(const struct elf_file *file, uint64_t pc) {
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

static void settle_end(const struct symbol_candidates *list, const struct bounds *bounds,
                       struct symbol_candidate *candidate) {
    uint64_t limit = symbol_candidates_extent_end(list->file, candidate->begin);
    if (candidate->kind == SYMBOL_KIND_SIZELESS)
        candidate->end = sizeless_end(bounds, candidate, limit);
    if (candidate->end > limit)
        candidate->end = limit;
}

static enum err find_bounds(struct symbol_candidates *list, struct elf_file *file,
                            struct bounds *bounds, struct error *error) {
    size_t count = list->count;
    bounds->begins = calloc(count ? count : 1, sizeof(*bounds->begins));
    if (!bounds->begins)
        return error_set(error, ERR_NO_MEMORY, "no memory for %zu symbols", count);
    bounds->count = count;
    bool any_sizeless = false;
    for (size_t i = 0; i < count; i++) {
        bounds->begins[i] = list->items[i].begin;
        any_sizeless |= list->items[i].kind == SYMBOL_KIND_SIZELESS;
    }
    qsort(bounds->begins, count, sizeof(*bounds->begins), compare_addresses);
    enum err err = any_sizeless ? frame_table_new(file, &bounds->frames, error) : ERR_OK;
    return err == ERR_NOT_FOUND ? ERR_OK : err;
}

static enum err settle_ends(struct symbol_candidates *list, struct elf_file *file,
                            struct error *error) {
    CLEANUP(bounds_clear) struct bounds bounds = {0};
    enum err err = find_bounds(list, file, &bounds, error);
    for (size_t i = 0; !err && i < list->count; i++)
        settle_end(list, &bounds, &list->items[i]);
    return err;
}

void symbol_candidates_clear(struct symbol_candidates *list) {
    free(list->items);
    *list = (struct symbol_candidates){0};
}

enum err symbol_candidates_read(struct symbol_candidates *list, struct elf_file *file,
                                struct error *error) {
    enum err err = ERR_OK;
    list->file = file;
    for (int table = 0; !err && table < SYMBOL_TABLE_COUNT; table++)
        err = collect(list, file, (enum symbol_table)table, error);
    return err ? err : settle_ends(list, file, error);
}
