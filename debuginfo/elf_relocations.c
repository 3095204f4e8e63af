#include "debuginfo/elf_relocations.h"

#include <assert.h>

enum err elf_relocation_table_open(struct elf_file *file, const struct elf_section *section,
                                   struct elf_relocation_table *ret_table, struct error *error) {
    assert(section->type == SHT_REL || section->type == SHT_RELA);
    const struct elf_header *header = elf_file_header(file);
    struct span bytes = {NULL, 0};
    enum err err = elf_file_section_data(file, section, &bytes, error);
    if (err)
        return err;
    *ret_table = (struct elf_relocation_table){
        .cursor = cursor_of(bytes, header->big_endian, "relocations"),
        .is_64 = header->is_64,
        .has_addend = section->type == SHT_RELA,
        .is_mips64 = header->is_64 && header->machine == EM_MIPS,
    };
    return ERR_OK;
}

/* 64-bit MIPS: a word of the file's byte order, then four bytes: a special symbol and three types,
 * the first one last. */
static void read_mips64_info(struct cursor *cursor, struct elf_relocation *relocation) {
    relocation->symbol = cursor_u32(cursor);
    cursor_skip(cursor, 3);
    relocation->type = cursor_u8(cursor);
}

bool elf_relocation_table_next(struct elf_relocation_table *table,
                               struct elf_relocation *ret_relocation) {
    struct cursor *cursor = &table->cursor;
    struct elf_relocation relocation = {0};
    relocation.offset = table->is_64 ? cursor_u64(cursor) : cursor_u32(cursor);
    if (table->is_mips64) {
        read_mips64_info(cursor, &relocation);
    } else if (table->is_64) {
        uint64_t info = cursor_u64(cursor);
        relocation.symbol = (uint32_t)(info >> 32);
        relocation.type = (uint32_t)info;
    } else {
        uint32_t info = cursor_u32(cursor);
        relocation.symbol = info >> 8;
        relocation.type = info & 0xff;
    }
    if (table->has_addend)
        relocation.addend = table->is_64 ? (int64_t)cursor_u64(cursor)
                                         : (int32_t)cursor_u32(cursor);
    if (cursor_failed(cursor))
        return false;
    *ret_relocation = relocation;
    return true;
}
