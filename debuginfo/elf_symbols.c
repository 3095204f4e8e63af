#include "debuginfo/elf_symbols.h"

#include "debuginfo/elf_dynamic.h"

/* Mangled names of heavy templates reach some tens of KiB. */
#define SYMBOL_NAME_MAX ((size_t)65536)

/* Linkers let names share tails, so that their sum is larger than the table, but not by much. */
#define NAME_SHARING_MAX ((uint64_t)16)
#define NAME_BYTES_SLACK ((uint64_t)1 << 20)

/* EI_OSABI does not matter: no other system gives this type another meaning. */
#define TYPE_IFUNC 10

static const struct elf_section *find_table(const struct elf_file *file, uint32_t type) {
    for (size_t i = 0; i < elf_file_section_count(file); i++) {
        const struct elf_section *section = elf_file_section(file, i);
        if (section->type == type && section->size > 0)
            return section;
    }
    return NULL;
}

/* Agents keep sh_link for these two tables only, and by name. */
static const struct elf_section *find_strings(const struct elf_file *file,
                                              const struct elf_section *table) {
    if (table->link > 0 && table->link <= elf_file_section_count(file)) {
        const struct elf_section *linked = elf_file_section(file, table->link - 1);
        if (linked->type == SHT_STRTAB)
            return linked;
    }
    return elf_file_section_by_name(file, table->type == SHT_DYNSYM ? ".dynstr" : ".strtab");
}

static size_t entry_size(const struct elf_file *file) {
    return elf_file_header(file)->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

/* In the first 64-bit PowerPC ABI a function's symbol is the address of a descriptor, whose first
 * word is the address of the code. */
static void find_descriptors(struct elf_file *file, struct elf_symbol_table *table) {
    if (elf_file_header(file)->machine != EM_PPC64)
        return;
    if (elf_file_section_count(file) == 0)
        elf_dynamic_descriptors(file, &table->descriptors, &table->descriptors_address);
    else
        table->descriptors = elf_file_loaded_bytes(file, ".opd", &table->descriptors_address);
}

static enum err find_in_sections(struct elf_file *file, uint32_t type, struct span *ret_symbols,
                                 struct span *ret_strings, struct error *error) {
    const char *what = type == SHT_DYNSYM ? ".dynsym" : ".symtab";
    const struct elf_section *section = find_table(file, type);
    if (!section)
        return error_set(error, ERR_NOT_FOUND, "the file has no %s", what);
    if (section->entry_size != 0 && section->entry_size != entry_size(file))
        return error_set(error, ERR_MALFORMED, "%s has entries of %llu bytes", what,
                         (unsigned long long)section->entry_size);
    const struct elf_section *strings = find_strings(file, section);
    if (!strings)
        return error_set(error, ERR_MALFORMED, "%s has no string table", what);
    enum err err = elf_file_section_data(file, section, ret_symbols, error);
    return err ? err : elf_file_section_data(file, strings, ret_strings, error);
}

/* What is left where somebody stripped the section headers. Files that have them, but no .dynsym,
 * are debug files: their PT_DYNAMIC points at bytes that are not there. */
static enum err find_in_dynamic(const struct elf_file *file, struct span *ret_symbols,
                                struct span *ret_strings, struct error *error) {
    struct elf_dynamic_symbols found;
    enum err err = elf_dynamic_symbols_find(file, &found, error);
    if (err)
        return err;
    *ret_symbols = found.symbols;
    *ret_strings = found.strings;
    return ERR_OK;
}

/* Without the table of indices over 65,279 symbols of such sections stay where they are. */
static struct span find_section_indices(struct elf_file *file) {
    const struct elf_section *section = find_table(file, SHT_SYMTAB_SHNDX);
    struct span bytes = {NULL, 0};
    struct error ignored;
    if (elf_file_header(file)->type == ET_REL && section)
        elf_file_section_data(file, section, &bytes, &ignored);
    return bytes;
}

/* The table but for function descriptors, which in an object need values to be relocated by. */
static enum err open_table(struct elf_file *file, uint32_t type, struct elf_symbol_table *ret_table,
                           struct error *error) {
    struct span symbols = {NULL, 0};
    struct span strings = {NULL, 0};
    enum err err = type == SHT_DYNSYM && elf_file_section_count(file) == 0
                       ? find_in_dynamic(file, &symbols, &strings, error)
                       : find_in_sections(file, type, &symbols, &strings, error);
    if (err)
        return err;
    *ret_table = (struct elf_symbol_table){
        .file = file,
        .cursor = cursor_of(symbols, elf_file_header(file)->big_endian, "symbol table"),
        .strings = strings,
        .section_indices = find_section_indices(file),
        .name_bytes_left = NAME_SHARING_MAX * strings.size + NAME_BYTES_SLACK,
    };
    cursor_skip(&ret_table->cursor, entry_size(file)); /* the null symbol */
    return ERR_OK;
}

enum err elf_symbol_table_open(struct elf_file *file, uint32_t type,
                               struct elf_symbol_table *ret_table, struct error *error) {
    enum err err = open_table(file, type, ret_table, error);
    if (!err)
        find_descriptors(file, ret_table);
    return err;
}

enum err elf_symbol_table_open_values(struct elf_file *file, struct elf_symbol_table *ret_table,
                                      struct error *error) {
    return open_table(file, SHT_SYMTAB, ret_table, error);
}

void elf_symbol_table_seek(struct elf_symbol_table *table, uint32_t index) {
    table->cursor.failed = false;
    cursor_seek(&table->cursor, (uint64_t)index * entry_size(table->file));
}

static struct span name_at(struct elf_symbol_table *table, uint32_t offset) {
    struct span strings = table->strings;
    if (offset >= strings.size)
        return (struct span){NULL, 0};
    size_t bound = strings.size - offset < SYMBOL_NAME_MAX ? strings.size - offset
                                                           : SYMBOL_NAME_MAX;
    const char *start = strings.data + offset;
    const char *nul = memchr(start, 0, bound);
    size_t scanned = nul ? (size_t)(nul - start) : bound;
    if (scanned > table->name_bytes_left) {
        table->names_exhausted = true;
        return (struct span){NULL, 0};
    }
    table->name_bytes_left -= scanned;
    return nul ? span_of(start, scanned) : (struct span){NULL, 0};
}

static bool is_function(uint8_t type) {
    return type == STT_FUNC || type == TYPE_IFUNC;
}

static uint64_t code_address(const struct elf_symbol_table *table, uint64_t value) {
    const struct elf_header *header = elf_file_header(table->file);
    if (header->machine == EM_ARM)
        return value & ~(uint64_t)1; /* set for Thumb code */
    uint64_t offset = value - table->descriptors_address;
    if (table->descriptors.size < 8 || offset > table->descriptors.size - 8)
        return value;
    struct cursor cursor = cursor_of(table->descriptors, header->big_endian, ".opd");
    cursor_seek(&cursor, offset);
    return cursor_u64(&cursor);
}

/* The section of an entry whose st_shndx is that; NULL when it is none of ours. */
static const struct elf_section *section_of(const struct elf_symbol_table *table, uint32_t entry,
                                            uint16_t index) {
    uint32_t position = index;
    if (index == SHN_XINDEX) {
        struct cursor cursor = cursor_of(table->section_indices,
                                         elf_file_header(table->file)->big_endian, ".symtab_shndx");
        cursor_seek(&cursor, (uint64_t)entry * sizeof(uint32_t));
        position = cursor_u32(&cursor); /* 0 if it is not there */
    } else if (index >= SHN_LORESERVE) {
        return NULL;
    }
    if (position == SHN_UNDEF || position > elf_file_section_count(table->file))
        return NULL;
    return elf_file_section(table->file, position - 1);
}

/* In an object a value is an offset in its section, which has a place of its own. */
static uint64_t placed_value(const struct elf_symbol_table *table, uint32_t entry,
                             const struct elf_symbol *symbol) {
    if (elf_file_header(table->file)->type != ET_REL)
        return symbol->value;
    const struct elf_section *section = section_of(table, entry, symbol->section);
    return section && (section->flags & SHF_ALLOC) ? symbol->value + section->address
                                                   : symbol->value;
}

/* The entry at the cursor as it is stored, in its place. */
static bool read_fields(struct elf_symbol_table *table, struct elf_symbol *ret_symbol) {
    struct cursor *cursor = &table->cursor;
    bool is_64 = elf_file_header(table->file)->is_64;
    struct elf_symbol symbol = {0};
    uint32_t entry = (uint32_t)(cursor_offset(cursor) / entry_size(table->file));
    symbol.name_offset = cursor_u32(cursor);
    if (!is_64) {
        symbol.value = cursor_u32(cursor);
        symbol.size = cursor_u32(cursor);
    }
    uint8_t info = cursor_u8(cursor);
    cursor_u8(cursor); /* st_other */
    symbol.section = cursor_u16(cursor);
    if (is_64) {
        symbol.value = cursor_u64(cursor);
        symbol.size = cursor_u64(cursor);
    }
    if (cursor_failed(cursor))
        return false;
    symbol.binding = ELF64_ST_BIND(info);
    symbol.type = ELF64_ST_TYPE(info);
    symbol.value = placed_value(table, entry, &symbol);
    *ret_symbol = symbol;
    return true;
}

bool elf_symbol_table_next_unnamed(struct elf_symbol_table *table, struct elf_symbol *ret_symbol) {
    struct elf_symbol symbol;
    if (table->names_exhausted || !read_fields(table, &symbol))
        return false;
    if (is_function(symbol.type))
        symbol.value = code_address(table, symbol.value);
    *ret_symbol = symbol;
    return true;
}

void elf_symbol_table_read_name(struct elf_symbol_table *table, struct elf_symbol *symbol) {
    symbol->name = name_at(table, symbol->name_offset);
}

bool elf_symbol_table_next(struct elf_symbol_table *table, struct elf_symbol *ret_symbol) {
    struct elf_symbol symbol;
    if (!elf_symbol_table_next_unnamed(table, &symbol))
        return false;
    elf_symbol_table_read_name(table, &symbol);
    *ret_symbol = symbol;
    return true;
}

bool elf_symbol_table_value(struct elf_symbol_table *table, uint32_t index, uint64_t *ret_value) {
    struct elf_symbol symbol;
    elf_symbol_table_seek(table, index);
    if (!read_fields(table, &symbol))
        return false;
    bool is_thumb = elf_file_header(table->file)->machine == EM_ARM && is_function(symbol.type);
    uint64_t value = is_thumb ? symbol.value & ~(uint64_t)1 : symbol.value;
    *ret_value = symbol.section == SHN_UNDEF ? 0 : value;
    return true;
}

struct span elf_symbol_name_without_version(struct span name) {
    const char *at = name.size > 1 ? memchr(name.data + 1, '@', name.size - 1) : NULL;
    return at ? span_of(name.data, (size_t)(at - name.data)) : name;
}

/* Mapping symbols say where code and data begin: $a $t $d $x, also as "$x.17" or "$xrv64gc". They
 * have no type: a function may be called so too. */
static bool is_mapping_symbol(const struct elf_symbol *symbol) {
    struct span name = symbol->name;
    return symbol->type == STT_NOTYPE && name.size >= 2 && name.data[0] == '$' &&
           strchr("atdx", name.data[1]) &&
           (name.size == 2 || name.data[2] == '.' || span_starts_with(name, "$xrv"));
}

/* Labels that only the assembler means: ".L7" of GCC and Clang, "..@7.loop" of NASM's macros, whose
 * '@' begins no version. */
static bool is_label(const struct elf_symbol *symbol) {
    return span_starts_with(symbol->name, ".L") ||
           (symbol->type == STT_NOTYPE && span_starts_with(symbol->name, "..@"));
}

bool elf_symbol_is_code(const struct elf_file *file, const struct elf_symbol *symbol) {
    if (!is_function(symbol->type) && symbol->type != STT_NOTYPE)
        return false;
    if (symbol->section == SHN_UNDEF || symbol->section == SHN_ABS || symbol->section == SHN_COMMON)
        return false;
    return symbol->name.size > 0 && !is_mapping_symbol(symbol) && !is_label(symbol) &&
           symbol->value != UINT64_MAX && elf_file_is_executable(file, symbol->value);
}
