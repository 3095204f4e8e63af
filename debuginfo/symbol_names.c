#include "debuginfo/symbol_names.h"

#include <elf.h>

#include "debuginfo/elf_symbols.h"

static bool open_table(struct elf_file *file, struct elf_symbol_table *ret_table) {
    struct error ignored;
    return !elf_symbol_table_open(file, SHT_SYMTAB, ret_table, &ignored) ||
           !elf_symbol_table_open(file, SHT_DYNSYM, ret_table, &ignored);
}

/* Neither undefined, absolute nor common; untyped ones are what assembly defines. */
static bool is_defined(const struct elf_symbol *symbol) {
    bool is_typed = symbol->type == STT_FUNC || symbol->type == STT_OBJECT ||
                    symbol->type == STT_GNU_IFUNC || symbol->type == STT_NOTYPE;
    bool is_placed = symbol->section < SHN_LORESERVE || symbol->section == SHN_XINDEX;
    return is_typed && is_placed && symbol->section != SHN_UNDEF;
}

static struct named_symbol named(struct elf_symbol_table *table, struct elf_symbol *symbol) {
    elf_symbol_table_read_name(table, symbol);
    return (struct named_symbol){elf_symbol_name_without_version(symbol->name), symbol->value,
                                 symbol->size};
}

size_t symbol_names_find(struct elf_file *file, struct span name, struct named_symbol *ret_symbols,
                         size_t count_max) {
    struct elf_symbol_table table;
    struct elf_symbol symbol;
    size_t count = 0;
    if (!open_table(file, &table))
        return 0;
    while (count < count_max && elf_symbol_table_next_unnamed(&table, &symbol)) {
        if (!is_defined(&symbol))
            continue;
        ret_symbols[count] = named(&table, &symbol);
        count += span_equal(ret_symbols[count].name, name);
    }
    return count;
}

static bool covers(const struct elf_symbol *symbol, uint64_t address) {
    uint64_t offset = address - symbol->value;
    return address >= symbol->value && (offset == 0 || offset < symbol->size);
}

bool symbol_names_at(struct elf_file *file, uint64_t address, struct named_symbol *ret_symbol) {
    struct elf_symbol_table table;
    struct elf_symbol symbol;
    bool found = false;
    struct named_symbol best = {0};
    if (!open_table(file, &table))
        return false;
    while (elf_symbol_table_next_unnamed(&table, &symbol)) {
        if (!is_defined(&symbol) || !covers(&symbol, address))
            continue;
        if (found &&
            (symbol.value < best.value || (symbol.value == best.value && symbol.size < best.size)))
            continue;
        struct named_symbol covering = named(&table, &symbol);
        if (covering.name.size == 0)
            continue;
        best = covering;
        found = true;
    }
    if (found)
        *ret_symbol = best;
    return found;
}
