#include "debuginfo/elf_object.h"

#include "debuginfo/elf_file_internal.h"

#define ALIGNMENT_MIN ((uint64_t)16)
#define ALIGNMENT_MAX ((uint64_t)1 << 21) /* of a huge page; more is damage */

static uint64_t alignment_of(const struct elf_section *section) {
    uint64_t alignment = section->alignment;
    bool is_power = (alignment & (alignment - 1)) == 0;
    if (!is_power || alignment < ALIGNMENT_MIN)
        return ALIGNMENT_MIN;
    return alignment < ALIGNMENT_MAX ? alignment : ALIGNMENT_MAX;
}

enum err elf_object_place(struct elf_file *file, struct error *error) {
    uint64_t end = file->header.is_64 ? (uint64_t)1 << 48 : UINT32_MAX;
    uint64_t place = ELF_OBJECT_BASE;
    if (file->header.type != ET_REL)
        return ERR_OK;
    for (size_t i = 0; i < file->section_count; i++) {
        struct elf_section *section = &file->sections[i];
        if (!(section->flags & SHF_ALLOC))
            continue;
        uint64_t alignment = alignment_of(section);
        place = (place + alignment - 1) & ~(alignment - 1);
        if (place >= end || section->size >= end - place)
            return error_set(error, ERR_MALFORMED,
                             "the sections of a relocatable file do not fit an address space");
        section->address = place;
        place += section->size + 1; /* an end is never the next one's begin */
    }
    return ERR_OK;
}

bool elf_file_section_address(const struct elf_file *file, struct span name, uint64_t offset,
                              uint64_t *ret_address) {
    for (size_t i = 0; i < file->section_count; i++) {
        const struct elf_section *section = &file->sections[i];
        if (!(section->flags & SHF_ALLOC) || offset >= section->size ||
            offset > UINT64_MAX - section->address || !span_equal(section->name, name))
            continue;
        *ret_address = section->address + offset;
        return true;
    }
    return false;
}

bool elf_file_code_address(const struct elf_file *file, uint64_t offset, uint64_t *ret_address) {
    if (file->header.type != ET_REL || offset >= ELF_OBJECT_BASE)
        return false;
    for (size_t i = 0; i < file->section_count; i++) {
        const struct elf_section *section = &file->sections[i];
        bool is_code = (section->flags & SHF_ALLOC) && (section->flags & SHF_EXECINSTR);
        if (!is_code || offset >= section->size)
            continue;
        *ret_address = section->address + offset;
        return true;
    }
    return false;
}
