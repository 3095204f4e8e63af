/*
 * The entries of SHT_REL and SHT_RELA sections, one after another (gABI 4.2, "Relocation"). Bytes
 * are hostile; a symbol's index is only a number until it is looked up.
 */
#pragma once

#include "base/cursor.h"
#include "debuginfo/elf_file.h"

struct elf_relocation {
    uint64_t offset; /* address, or in an ET_REL file offset in the section it belongs to */
    uint32_t symbol; /* 0: none */
    uint32_t type;   /* R_*; of 64-bit MIPS the first of three */
    int64_t addend;  /* 0 in an SHT_REL section: there it stands in the bytes */
};

struct elf_relocation_table {
    struct cursor cursor;
    bool is_64;
    bool has_addend;
    bool is_mips64; /* r_info is made of bytes there */
};

/* A section of type SHT_REL or SHT_RELA. ERR_MALFORMED as for any section's contents. */
enum err elf_relocation_table_open(struct elf_file *file, const struct elf_section *section,
                                   struct elf_relocation_table *ret_table, struct error *error);

/* False at the end. */
bool elf_relocation_table_next(struct elf_relocation_table *table,
                               struct elf_relocation *ret_relocation);
