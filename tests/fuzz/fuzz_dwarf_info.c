/*
 * Property: whatever the debug sections hold, our own DWARF source keeps the promises of
 * tests/support/source_check.h. The input is one byte of choices (1: big-endian, 2: of 32 bits,
 * 4: nothing is known of where code lies), then the sections, each behind its size in two bytes;
 * the last one is what is left.
 */
#include <stdint.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "debuginfo/dwarf_source.h"
#include "tests/support/elf_image.h"
#include "tests/support/source_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {".debug_abbrev",   ".debug_types",       ".debug_line",
                                    ".debug_str",      ".debug_str_offsets", ".debug_addr",
                                    ".debug_rnglists", ".debug_ranges",      ".debug_info"};

enum { IS_BIG_ENDIAN = 1, IS_32_BIT = 2, NO_EXTENTS = 4 };

static struct elf_image *make_image(struct cursor *input) {
    uint8_t choices = cursor_u8(input);
    struct elf_image *image =
        elf_image_new(!(choices & IS_32_BIT), choices & IS_BIG_ENDIAN, ET_DYN, EM_X86_64);
    if (!(choices & NO_EXTENTS))
        elf_image_add(image, &(struct elf_image_section){.name = ".text",
                                                         .type = SHT_NOBITS,
                                                         .flags = SHF_ALLOC | SHF_EXECINSTR,
                                                         .address = 0x1000,
                                                         .claimed_size = 0x100000});
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t left = cursor_left(input);
        size_t size = i + 1 < ARRAY_SIZE(names) ? cursor_u16(input) : left;
        left = cursor_left(input);
        struct span bytes = cursor_bytes(input, size < left ? size : left);
        if (bytes.size > 0)
            elf_image_add_bytes(image, names[i], bytes);
    }
    return image;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct cursor input = cursor_of(span_of(data, size), false, "input");
    CLEANUP(cleanup_elf_image) struct elf_image *image = make_image(&input);
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    CLEANUP(cleanup_symbol_source) struct symbol_source *source = NULL;
    struct error error;
    if (elf_file_open_memory(elf_image_finish(image, ELF_IMAGE_PLAIN), &(struct elf_limits){0},
                             &file, &error) ||
        dwarf_source_new(file, &source, &error))
        return 0;
    source_check(file, source, true);
    return 0;
}
