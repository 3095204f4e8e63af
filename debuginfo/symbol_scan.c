#include "debuginfo/symbol_scan.h"

#include "debuginfo/symbol_candidates_internal.h"

struct scan {
    const struct elf_file *file;
    uint64_t pc;
    enum symbol_table table;
    struct elf_symbol_table entries;

    struct symbol_candidate best; /* the sized function that covers pc */
    bool has_best;
    bool has_untyped; /* an untyped symbol covers pc */

    uint64_t nearest; /* where the last symbol at or before pc begins */
    bool has_nearest;
    bool nearest_is_sizeless; /* one of those that begin there */

    struct symbol_candidate *list;
    size_t count;
    size_t most;
};

typedef void visit_entry(struct scan *scan, struct elf_symbol *symbol);

/* Names are read last: for most entries the address is enough. */
static bool is_code(struct scan *scan, struct elf_symbol *symbol) {
    elf_symbol_table_read_name(&scan->entries, symbol);
    return elf_symbol_is_code(scan->file, symbol);
}

static void visit_covering(struct scan *scan, struct elf_symbol *symbol) {
    if (symbol->value > scan->pc || scan->pc - symbol->value >= symbol->size ||
        !is_code(scan, symbol) ||
        scan->pc >= symbol_candidates_extent_end(scan->file, symbol->value))
        return;
    struct symbol_candidate candidate = symbol_candidate_of(symbol, scan->table);
    if (candidate.kind != SYMBOL_KIND_SIZED) {
        scan->has_untyped = true;
    } else if (!scan->has_best || symbol_candidate_compare(&candidate, &scan->best) > 0) {
        scan->best = candidate;
        scan->has_best = true;
    }
}

static void visit_nearest(struct scan *scan, struct elf_symbol *symbol) {
    if (symbol->value > scan->pc || (scan->has_nearest && symbol->value < scan->nearest) ||
        !is_code(scan, symbol))
        return;
    if (!scan->has_nearest || symbol->value > scan->nearest)
        scan->nearest_is_sizeless = false;
    scan->has_nearest = true;
    scan->nearest = symbol->value;
    scan->nearest_is_sizeless |= symbol->size == 0;
}

static void visit_beginning(struct scan *scan, struct elf_symbol *symbol) {
    if (symbol->value != scan->pc || !is_code(scan, symbol))
        return;
    if (scan->count < scan->most)
        scan->list[scan->count] = symbol_candidate_of(symbol, scan->table);
    scan->count++;
}

static enum err visit_all(struct scan *scan, struct elf_file *file, visit_entry *visit,
                          struct error *error) {
    for (int table = 0; table < SYMBOL_TABLE_COUNT; table++) {
        struct error reason;
        struct elf_symbol symbol;
        scan->table = (enum symbol_table)table;
        enum err err = symbol_table_open(file, scan->table, &scan->entries, &reason);
        if (err == ERR_NO_MEMORY) {
            *error = reason;
            return err;
        }
        if (err)
            continue;
        while (elf_symbol_table_next_unnamed(&scan->entries, &symbol))
            visit(scan, &symbol);
    }
    return ERR_OK;
}

enum err symbol_scan(struct elf_file *file, uint64_t pc, enum symbol_scan *ret_result,
                     struct symbol_candidate *ret_candidate, struct error *error) {
    struct scan scan = {.file = file, .pc = pc};
    enum err err = visit_all(&scan, file, visit_covering, error);
    if (!err && !scan.has_best && !scan.has_untyped)
        err = visit_all(&scan, file, visit_nearest, error);
    if (err)
        return err;
    if (scan.has_best) {
        *ret_candidate = scan.best;
        *ret_result = SYMBOL_SCAN_FOUND;
    } else {
        /* A sizeless symbol ends at the next begin: only the nearest can reach pc. */
        *ret_result = scan.has_untyped || scan.nearest_is_sizeless ? SYMBOL_SCAN_UNDECIDED
                                                                   : SYMBOL_SCAN_NOTHING;
    }
    return ERR_OK;
}

static int compare_best_first(const void *left, const void *right) {
    return symbol_candidate_compare(right, left);
}

enum err symbol_scan_names(struct elf_file *file, uint64_t pc,
                           struct symbol_candidate *ret_candidates, size_t most, size_t *ret_count,
                           struct error *error) {
    struct scan scan = {.file = file, .pc = pc, .list = ret_candidates, .most = most};
    enum err err = visit_all(&scan, file, visit_beginning, error);
    if (err)
        return err;
    size_t kept = scan.count < most ? scan.count : most;
    if (kept > 0)
        qsort(ret_candidates, kept, sizeof(*ret_candidates), compare_best_first);
    *ret_count = scan.count;
    return ERR_OK;
}
