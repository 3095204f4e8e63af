/*
 * The entries of .symtab and .dynsym, one after another (gABI 4.2, "Symbol Table"), and which of
 * them name code. Bytes are hostile: names are bounded one by one and in sum.
 */
#pragma once

#include "base/cursor.h"
#include "debuginfo/elf_file.h"

struct elf_symbol {
    struct span name;
    uint64_t value;
    uint64_t size;
    uint8_t binding;  /* STB_* */
    uint8_t type;     /* STT_* */
    uint16_t section; /* SHN_* or an index; SHN_XINDEX is some section */
    uint32_t name_offset;
};

struct elf_symbol_table {
    const struct elf_file *file;
    struct cursor cursor;
    struct span strings;
    struct span descriptors; /* .opd of 64-bit PowerPC's first ABI; else empty */
    uint64_t descriptors_address;
    struct span section_indices; /* of SHT_SYMTAB_SHNDX; read in ET_REL files only */
    uint64_t name_bytes_left;    /* bounds overlapping names */
    bool names_exhausted;        /* the bound was reached and reading stopped early */
};

/*
 * The first table of that type (SHT_SYMTAB or SHT_DYNSYM) with bytes. Its strings are those that
 * sh_link names, else .strtab or .dynstr. In a file without section headers the dynamic one is
 * found as the loader finds it (elf_dynamic.h). ERR_NOT_FOUND if there is none.
 */
enum err elf_symbol_table_open(struct elf_file *file, uint32_t type,
                               struct elf_symbol_table *ret_table, struct error *error);

/* The .symtab of an ET_REL file, for elf_symbol_table_value alone. */
enum err elf_symbol_table_open_values(struct elf_file *file, struct elf_symbol_table *ret_table,
                                      struct error *error);

/* What a relocation takes for a symbol: its value, in an ET_REL file with its section's place added
 * and without the Thumb bit; 0 of an undefined one. False when there is no such entry. */
bool elf_symbol_table_value(struct elf_symbol_table *table, uint32_t index, uint64_t *ret_value);

/* Moves to an entry by its index, 0 being the null symbol; past the end there is no next one. */
void elf_symbol_table_seek(struct elf_symbol_table *table, uint32_t index);

/*
 * The next entry; its name is empty where it cannot be read. Values in ET_REL files have their
 * section's place added (elf_object.h). The value of a function is where its code begins: bit 0 of
 * ARM functions is cleared, a function descriptor in .opd is followed. False at the end.
 */
bool elf_symbol_table_next(struct elf_symbol_table *table, struct elf_symbol *ret_symbol);

/* The same in two steps: names lie far away, and most are of no interest. */
bool elf_symbol_table_next_unnamed(struct elf_symbol_table *table, struct elf_symbol *ret_symbol);
void elf_symbol_table_read_name(struct elf_symbol_table *table, struct elf_symbol *symbol);

/* "name@VERSION" and "name@@VERSION" are the linker's spelling, not the function's name. */
struct span elf_symbol_name_without_version(struct span name);

/*
 * True if the symbol names code: a defined function or IFUNC, or an untyped symbol, whose address
 * lies in an executable extent; no mapping symbol and no compiler's label.
 */
bool elf_symbol_is_code(const struct elf_file *file, const struct elf_symbol *symbol);
