#include "debuginfo/contents.h"

#include "debuginfo/elf_file_internal.h"
#include "debuginfo/elf_minidebug.h"
#include "debuginfo/elf_symbols.h"

/* Bytes that lie in the file and, if compressed, claim a size that can be true. */
static bool has_bytes(const struct elf_file *file, const struct elf_section *section) {
    struct elf_packed packed;
    struct error ignored;
    return section && elf_section_packed(file, section, &packed, &ignored) == ERR_OK &&
           packed.size > 0;
}

static bool ends_with(struct span name, const char *suffix) {
    size_t size = strlen(suffix);
    return name.size >= size && memcmp(name.data + name.size - size, suffix, size) == 0;
}

static bool has_pclntab(const struct elf_file *file) {
    for (size_t i = 0; i < elf_file_section_count(file); i++) {
        const struct elf_section *section = elf_file_section(file, i);
        if (ends_with(section->name, "gopclntab") && has_bytes(file, section))
            return true;
    }
    return false;
}

static bool has_code_entry(const struct elf_file *file, struct elf_symbol_table *table) {
    struct elf_symbol symbol;
    while (elf_symbol_table_next(table, &symbol))
        if (elf_symbol_is_code(file, &symbol))
            return true;
    return false;
}

static bool has_code_symbol(struct elf_file *file, uint32_t type) {
    struct elf_symbol_table table;
    struct error ignored;
    if (elf_symbol_table_open(file, type, &table, &ignored))
        return false;
    return has_code_entry(file, &table);
}

static bool has_minidebug(struct elf_file *file) {
    struct elf_file *inner;
    struct error ignored;
    if (elf_file_minidebug(file, &inner, &ignored))
        return false;
    struct elf_symbol_table table;
    if (elf_symbol_table_open(inner, SHT_SYMTAB, &table, &ignored))
        return false;
    return has_code_entry(file, &table);
}

void elf_contents_read(struct elf_file *file, struct elf_contents *ret_contents) {
    *ret_contents = (struct elf_contents){
        .has_dwarf = has_bytes(file, elf_file_section_by_name(file, ".debug_info")) &&
                     has_bytes(file, elf_file_section_by_name(file, ".debug_abbrev")),
        .has_pclntab = has_pclntab(file),
        .has_symtab = has_code_symbol(file, SHT_SYMTAB) || has_minidebug(file),
        .has_dynsym = has_code_symbol(file, SHT_DYNSYM),
    };
}
