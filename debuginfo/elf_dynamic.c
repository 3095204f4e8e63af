#include "debuginfo/elf_dynamic.h"

#include <inttypes.h>

#include "base/cursor.h"

/* Real ones have a few dozen. */
#define ENTRY_COUNT_MAX 4096

/* Tags that are younger than some elf.h, or of one machine. */
#define TAG_GNU_HASH 0x6ffffef5
#define TAG_MIPS_SYMTABNO 0x70000011
#define TAG_PPC64_OPD 0x70000001
#define TAG_PPC64_OPDSZ 0x70000002

/* The entries that matter here; 0: not there. */
struct dynamic_entries {
    uint64_t symbols;
    uint64_t strings;
    uint64_t strings_size;
    uint64_t hash;
    uint64_t gnu_hash;
    uint64_t mips_symbol_count;
    uint64_t descriptors;
    uint64_t descriptors_size;
    uint64_t plt_got;
};

static void take_entry(const struct elf_file *file, uint64_t tag, uint64_t value,
                       struct dynamic_entries *entries) {
    uint16_t machine = elf_file_header(file)->machine;
    if (tag == DT_SYMTAB)
        entries->symbols = value;
    else if (tag == DT_STRTAB)
        entries->strings = value;
    else if (tag == DT_STRSZ)
        entries->strings_size = value;
    else if (tag == DT_HASH)
        entries->hash = value;
    else if (tag == DT_PLTGOT)
        entries->plt_got = value;
    else if (tag == TAG_GNU_HASH)
        entries->gnu_hash = value;
    else if (tag == TAG_MIPS_SYMTABNO && machine == EM_MIPS)
        entries->mips_symbol_count = value;
    else if (tag == TAG_PPC64_OPD && machine == EM_PPC64)
        entries->descriptors = value;
    else if (tag == TAG_PPC64_OPDSZ && machine == EM_PPC64)
        entries->descriptors_size = value;
}

static const struct elf_segment *find_segment(const struct elf_file *file, uint32_t type) {
    for (size_t i = 0; i < elf_file_segment_count(file); i++)
        if (elf_file_segment(file, i)->type == type)
            return elf_file_segment(file, i);
    return NULL;
}

static enum err read_entries(const struct elf_file *file, struct dynamic_entries *ret_entries,
                             struct error *error) {
    const struct elf_segment *segment = find_segment(file, PT_DYNAMIC);
    if (!segment || segment->file_size == 0)
        return error_set(error, ERR_NOT_FOUND, "the file has no PT_DYNAMIC");
    const struct elf_header *header = elf_file_header(file);
    struct cursor cursor = cursor_of(elf_file_bytes(file), header->big_endian, "PT_DYNAMIC");
    cursor_seek(&cursor, segment->offset);
    uint64_t count = segment->file_size / (header->is_64 ? 16 : 8);
    struct dynamic_entries entries = {0};
    for (uint64_t i = 0; i < count && i < ENTRY_COUNT_MAX; i++) {
        uint64_t tag = header->is_64 ? cursor_u64(&cursor) : cursor_u32(&cursor);
        uint64_t value = header->is_64 ? cursor_u64(&cursor) : cursor_u32(&cursor);
        if (tag == DT_NULL) /* also what a failed cursor reads */
            break;
        take_entry(file, tag, value, &entries);
    }
    enum err err = cursor_check(&cursor, error);
    if (err)
        return err;
    *ret_entries = entries;
    return ERR_OK;
}

/* From an address up to the last byte of its PT_LOAD that is in the file; empty when none is. */
static struct span bytes_at(const struct elf_file *file, uint64_t address) {
    struct span all = elf_file_bytes(file);
    for (size_t i = 0; i < elf_file_segment_count(file); i++) {
        const struct elf_segment *segment = elf_file_segment(file, i);
        if (segment->type != PT_LOAD || address < segment->address ||
            address - segment->address >= segment->file_size || segment->offset > all.size)
            continue;
        uint64_t skip = address - segment->address;
        uint64_t present = all.size - segment->offset;
        if (present > segment->file_size)
            present = segment->file_size;
        if (skip < present)
            return span_of(all.data + segment->offset + skip, present - skip);
    }
    return (struct span){NULL, 0};
}

/* --- how many symbols ----------------------------------------------------------------------------
 */

/* The gABI's table: its chain has one word per symbol. Two 64-bit machines made the words wide. */
static bool count_by_hash(const struct elf_file *file, uint64_t address, uint64_t *ret_count) {
    const struct elf_header *header = elf_file_header(file);
    bool is_wide = header->is_64 && (header->machine == EM_S390 || header->machine == EM_ALPHA);
    struct cursor cursor = cursor_of(bytes_at(file, address), header->big_endian, "DT_HASH");
    cursor_skip(&cursor, is_wide ? 8 : 4); /* nbucket */
    uint64_t count = is_wide ? cursor_u64(&cursor) : cursor_u32(&cursor);
    if (cursor_failed(&cursor))
        return false;
    *ret_count = count;
    return true;
}

/*
 * GNU's table: buckets name the first symbol of each chain, and the last word of a chain has bit 0
 * set, so the last symbol ends the chain that begins last. Symbols below `first` are not hashed.
 */
static bool count_by_gnu_hash(const struct elf_file *file, uint64_t address, uint64_t *ret_count) {
    const struct elf_header *header = elf_file_header(file);
    struct cursor cursor = cursor_of(bytes_at(file, address), header->big_endian, "DT_GNU_HASH");
    uint32_t bucket_count = cursor_u32(&cursor);
    uint32_t first = cursor_u32(&cursor);
    uint32_t filter_words = cursor_u32(&cursor);
    cursor_skip(&cursor, 4); /* the filter's shift */
    cursor_skip(&cursor, (uint64_t)filter_words * (header->is_64 ? 8 : 4));
    uint32_t last = 0;
    for (uint32_t i = 0; i < bucket_count && !cursor_failed(&cursor); i++) {
        uint32_t begin = cursor_u32(&cursor);
        last = begin > last ? begin : last;
    }
    if (last >= first && last > 0) {
        cursor_skip(&cursor, (uint64_t)(last - first) * 4);
        while (!cursor_failed(&cursor) && !(cursor_u32(&cursor) & 1))
            last++;
        last++;
    }
    if (cursor_failed(&cursor))
        return false;
    *ret_count = last > first ? last : first;
    return true;
}

static bool count_symbols(const struct elf_file *file, const struct dynamic_entries *entries,
                          uint64_t *ret_count) {
    if (entries->mips_symbol_count > 0) {
        *ret_count = entries->mips_symbol_count;
        return true;
    }
    return (entries->hash && count_by_hash(file, entries->hash, ret_count)) ||
           (entries->gnu_hash && count_by_gnu_hash(file, entries->gnu_hash, ret_count));
}

enum err elf_dynamic_symbols_find(const struct elf_file *file,
                                  struct elf_dynamic_symbols *ret_symbols, struct error *error) {
    struct dynamic_entries entries;
    enum err err = read_entries(file, &entries, error);
    if (err)
        return err;
    if (!entries.symbols)
        return error_set(error, ERR_NOT_FOUND, "PT_DYNAMIC names no symbol table");
    struct span symbols = bytes_at(file, entries.symbols);
    struct span strings = bytes_at(file, entries.strings);
    if (symbols.size == 0 || strings.size < entries.strings_size || entries.strings_size == 0)
        return error_set(error, ERR_MALFORMED, "PT_DYNAMIC: its symbols do not lie in the file");
    uint64_t count;
    if (!count_symbols(file, &entries, &count))
        return error_set(error, ERR_MALFORMED, "PT_DYNAMIC: no hash table tells how many symbols");
    size_t entry_size = elf_file_header(file)->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    if (count > symbols.size / entry_size)
        return error_set(error, ERR_MALFORMED,
                         "PT_DYNAMIC: %" PRIu64 " symbols do not lie in the file", count);
    *ret_symbols = (struct elf_dynamic_symbols){
        .symbols = span_of(symbols.data, count * entry_size),
        .strings = span_of(strings.data, entries.strings_size),
    };
    return ERR_OK;
}

bool elf_dynamic_descriptors(const struct elf_file *file, struct span *ret_bytes,
                             uint64_t *ret_address) {
    struct dynamic_entries entries;
    struct error ignored;
    if (read_entries(file, &entries, &ignored) || !entries.descriptors)
        return false;
    struct span bytes = bytes_at(file, entries.descriptors);
    if (bytes.size < entries.descriptors_size)
        return false;
    *ret_bytes = span_of(bytes.data, entries.descriptors_size);
    *ret_address = entries.descriptors;
    return true;
}

uint64_t elf_dynamic_plt_got(const struct elf_file *file) {
    struct dynamic_entries entries;
    struct error ignored;
    return read_entries(file, &entries, &ignored) ? 0 : entries.plt_got;
}
