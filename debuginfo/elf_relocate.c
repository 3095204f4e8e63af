#include <endian.h>
#include <inttypes.h>

#include "debuginfo/elf_file_internal.h"
#include "debuginfo/elf_relocate_internal.h"
#include "debuginfo/elf_relocations.h"
#include "debuginfo/elf_symbols.h"

/* One section while it is relocated. */
struct relocating {
    struct elf_file *file;
    const struct elf_section *section;
    char *bytes;
    size_t size;
    struct elf_symbol_table symbols;
};

static bool is_table(const struct elf_section *section) {
    return section->type == SHT_REL || section->type == SHT_RELA;
}

/* What is read of an object: debug data, frames, and PowerPC64's function descriptors. Tables are
 * never relocated, whatever they are called. */
static bool is_wanted(const struct elf_section *section) {
    if (is_table(section) || section->type == SHT_SYMTAB || section->type == SHT_STRTAB ||
        section->type == SHT_NOBITS || section->type == SHT_SYMTAB_SHNDX)
        return false;
    return span_starts_with(section->name, ".debug_") ||
           span_starts_with(section->name, ".zdebug_") ||
           span_equal_cstr(section->name, ".eh_frame") || span_equal_cstr(section->name, ".opd");
}

/* The next section after `position` that relocates this one; NULL when there is none. */
static const struct elf_section *next_table(const struct elf_file *file,
                                            const struct elf_section *section, size_t *position) {
    while (*position < file->section_count) {
        const struct elf_section *table = &file->sections[(*position)++];
        if (is_table(table) && table->info == section->index && table->size > 0)
            return table;
    }
    return NULL;
}

bool elf_section_is_relocated(const struct elf_file *file, const struct elf_section *section) {
    size_t position = 0;
    return file->header.type == ET_REL && is_wanted(section) &&
           next_table(file, section, &position);
}

static void note(struct relocating *work, const char *what, const struct elf_relocation *about) {
    struct elf_file *file = work->file;
    if (file->relocation_damage.code)
        return;
    int name_size = work->section->name.size < 64 ? (int)work->section->name.size : 64;
    error_set(&file->relocation_damage, ERR_MALFORMED,
              "relocations of section %u (%.*s): %s (type %" PRIu32 " at %#" PRIx64 ")",
              work->section->index, name_size, work->section->name.data, what, about->type,
              about->offset);
}

/* --- numbers in the file's byte order ------------------------------------------------------------
 */

static uint64_t load(const struct relocating *work, const char *at, unsigned size) {
    bool big_endian = work->file->header.big_endian;
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)(uint8_t)at[i] << 8 * (big_endian ? size - 1 - i : i);
    return value;
}

static void store(const struct relocating *work, char *at, unsigned size, uint64_t value) {
    bool big_endian = work->file->header.big_endian;
    for (unsigned i = 0; i < size; i++)
        at[i] = (char)(value >> 8 * (big_endian ? size - 1 - i : i));
}

static int64_t sign_extended(uint64_t value, unsigned bits) {
    unsigned shift = 64 - bits;
    return (int64_t)(value << shift) >> shift;
}

/* --- one relocation ------------------------------------------------------------------------------
 */

static uint64_t result_of(enum relocation_action action, uint64_t there, uint64_t value,
                          uint64_t place) {
    if (action == RELOCATION_ADD)
        return there + value;
    if (action == RELOCATION_SUBTRACT)
        return there - value;
    return action == RELOCATION_DISTANCE ? value - place : value;
}

static void apply_fixed(struct relocating *work, const struct relocation_rule *rule,
                        const struct elf_relocation *relocation, uint64_t symbol, bool has_addend) {
    unsigned size = rule->bits < 8 ? 1 : rule->bits / 8;
    if (relocation->offset > work->size || size > work->size - relocation->offset) {
        note(work, "outside of it", relocation);
        return;
    }
    char *at = work->bytes + relocation->offset;
    uint64_t stored = load(work, at, size);
    uint64_t mask = rule->bits < 64 ? ((uint64_t)1 << rule->bits) - 1 : UINT64_MAX;
    int64_t addend = has_addend ? relocation->addend : sign_extended(stored & mask, rule->bits);
    uint64_t place = work->section->address + relocation->offset;
    uint64_t result = result_of(rule->action, stored & mask, symbol + (uint64_t)addend, place);
    store(work, at, size, (stored & ~mask) | (result & mask));
}

/* The ULEB128 that is there, and its size; 0 if it has no end. */
static size_t load_uleb(const char *at, size_t left, uint64_t *ret_value) {
    uint64_t value = 0;
    for (size_t i = 0; i < left && i < 10; i++) {
        value |= (uint64_t)(at[i] & 0x7f) << 7 * i;
        if (!(at[i] & 0x80)) {
            *ret_value = value;
            return i + 1;
        }
    }
    return 0;
}

static void apply_uleb(struct relocating *work, const struct relocation_rule *rule,
                       const struct elf_relocation *relocation, uint64_t symbol) {
    uint64_t there = 0;
    size_t size = 0;
    if (relocation->offset < work->size)
        size = load_uleb(work->bytes + relocation->offset, work->size - relocation->offset, &there);
    if (size == 0) {
        note(work, "no ULEB128 there", relocation);
        return;
    }
    uint64_t value = symbol + (uint64_t)relocation->addend;
    if (rule->action == RELOCATION_SUBTRACT_ULEB)
        value = there - value;
    for (size_t i = 0; i < size; i++, value >>= 7)
        work->bytes[relocation->offset + i] = (char)((value & 0x7f) | (i + 1 < size ? 0x80 : 0));
}

static void apply(struct relocating *work, const struct elf_relocation *relocation,
                  bool has_addend) {
    struct relocation_rule rule =
        relocation_rule_find(work->file->header.machine, relocation->type);
    if (rule.action == RELOCATION_IGNORED)
        return;
    if (rule.action == RELOCATION_UNKNOWN) {
        note(work, "of a type we do not know", relocation);
        return;
    }
    uint64_t symbol = 0;
    if (relocation->symbol &&
        !elf_symbol_table_value(&work->symbols, relocation->symbol, &symbol)) {
        note(work, "no such symbol", relocation);
        return;
    }
    if (rule.bits == 0)
        apply_uleb(work, &rule, relocation, symbol);
    else
        apply_fixed(work, &rule, relocation, symbol, has_addend);
}

static void apply_table(struct relocating *work, const struct elf_section *section) {
    struct elf_relocation_table table;
    struct elf_relocation relocation = {0};
    struct error reason;
    if (elf_relocation_table_open(work->file, section, &table, &reason)) {
        if (!work->file->relocation_damage.code)
            work->file->relocation_damage = reason;
        return;
    }
    while (elf_relocation_table_next(&table, &relocation))
        apply(work, &relocation, table.has_addend);
}

enum err elf_relocate(struct elf_file *file, const struct elf_section *section, char *bytes,
                      size_t size, struct error *error) {
    struct relocating work = {.file = file, .section = section, .bytes = bytes, .size = size};
    struct error reason;
    enum err err = elf_symbol_table_open_values(file, &work.symbols, &reason);
    if (err == ERR_NO_MEMORY) {
        *error = reason;
        return err;
    }
    if (err) {
        if (!file->relocation_damage.code)
            file->relocation_damage = reason;
        return ERR_OK;
    }
    size_t position = 0;
    const struct elf_section *table;
    while ((table = next_table(file, section, &position)) != NULL)
        apply_table(&work, table);
    return ERR_OK;
}
