/*
 * libdw looks for the file that .gnu_debugaltlink names when a reference into it is first met:
 * under whatever path the input says, and below /usr/lib/debug. Hostile input shall not choose what
 * we open, nor shall an answer depend on what the machine has installed. A supplementary file
 * without any data in its place makes such references fail, each of which costs one name. It has
 * the sections that libdw reads without asking whether they are there.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo/libdw_internal.h"

struct empty_image {
    Elf64_Ehdr header;
    Elf64_Shdr sections[4];
    char names[40];
    char zeros[8]; /* what both other sections hold */
};

#define NAMES "\0.shstrtab\0.debug_str\0.debug_info" /* at 1, 11 and 22 */

static void fill_image(struct empty_image *image) {
    *image = (struct empty_image){
        .header = {.e_type = ET_REL,
                   .e_machine = EM_NONE,
                   .e_version = EV_CURRENT,
                   .e_shoff = offsetof(struct empty_image, sections),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 4,
                   .e_shstrndx = 1},
        .sections = {[1] = {.sh_name = 1,
                            .sh_type = SHT_STRTAB,
                            .sh_offset = offsetof(struct empty_image, names),
                            .sh_size = sizeof(NAMES),
                            .sh_addralign = 1},
                     [2] = {.sh_name = 11,
                            .sh_type = SHT_PROGBITS,
                            .sh_offset = offsetof(struct empty_image, zeros),
                            .sh_size = sizeof(image->zeros),
                            .sh_addralign = 1},
                     [3] = {.sh_name = 22,
                            .sh_type = SHT_PROGBITS,
                            .sh_offset = offsetof(struct empty_image, zeros),
                            .sh_size = sizeof(image->zeros),
                            .sh_addralign = 1}},
        .names = NAMES,
    };
    memcpy(image->header.e_ident, ELFMAG, SELFMAG);
    image->header.e_ident[EI_CLASS] = ELFCLASS64;
    image->header.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
                                                                               : ELFDATA2MSB;
    image->header.e_ident[EI_VERSION] = EV_CURRENT;
}

enum err libdw_supplement_none(struct libdw_source *source, struct error *error) {
    source->no_supplement = calloc(1, sizeof(*source->no_supplement));
    if (!source->no_supplement)
        return error_set(error, ERR_NO_MEMORY, "no memory for a DWARF reader");
    fill_image(source->no_supplement);
    source->supplement_elf =
        elf_memory((char *)source->no_supplement, sizeof(*source->no_supplement));
    source->supplement = dwarf_begin_elf(source->supplement_elf, DWARF_C_READ, NULL);
    if (!source->supplement)
        return error_set(error, ERR_NO_MEMORY, "DWARF: %s", dwarf_errmsg(-1));
    dwarf_setalt(source->dwarf, source->supplement);
    return ERR_OK;
}

void libdw_supplement_clear(struct libdw_source *source) {
    dwarf_end(source->supplement);
    elf_end(source->supplement_elf);
    free(source->no_supplement);
}
