/*
 * Builds small ELF files in memory for tests: any class and byte order, with sections, segments
 * and symbols that may be as odd as a test needs. Running out of memory ends the test.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/span.h"

struct elf_image;

struct elf_image *elf_image_new(bool is_64, bool big_endian, uint16_t type, uint16_t machine);
void elf_image_free(struct elf_image *image);
DEFINE_CLEANUP(elf_image, struct elf_image, elf_image_free)

struct elf_image_section {
    const char *name; /* copied */
    uint32_t type;
    uint64_t flags;
    uint64_t address;
    struct span bytes;     /* copied */
    uint64_t claimed_size; /* sh_size where it shall differ from bytes.size */
    uint32_t link;
    uint32_t info;
    uint64_t entry_size;
};

/* Appends and returns the section's index; the first is 1. */
uint32_t elf_image_add(struct elf_image *image, const struct elf_image_section *section);

/* A PROGBITS section without flags. */
uint32_t elf_image_add_bytes(struct elf_image *image, const char *name, struct span bytes);

enum elf_image_packing { ELF_IMAGE_ZLIB, ELF_IMAGE_ZSTD, ELF_IMAGE_ZDEBUG };

/* A debug section compressed that way; claimed_size 0 claims the truth. */
uint32_t elf_image_add_packed(struct elf_image *image, const char *name, struct span bytes,
                              enum elf_image_packing packing, uint64_t claimed_size);

struct elf_image_segment {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t address;
    uint64_t file_size;
    uint64_t memory_size;
};

void elf_image_add_segment(struct elf_image *image, const struct elf_image_segment *segment);

struct elf_image_symbol {
    const char *name;
    uint64_t value;
    uint64_t size;
    unsigned char binding; /* STB_* */
    unsigned char type;    /* STT_* */
    uint16_t section;
};

/* A symbol table (SHT_SYMTAB or SHT_DYNSYM by its name) with its string table linked. */
uint32_t elf_image_add_symbols(struct elf_image *image, const char *name,
                               const struct elf_image_symbol *symbols, size_t count);

/* A note with its name and descriptor padded to `alignment` (4 or 8); bytes for a section. */
struct span elf_image_note(struct elf_image *image, const char *name, uint32_t type,
                           struct span descriptor, size_t alignment);

enum elf_image_shape {
    ELF_IMAGE_PLAIN = 0,
    ELF_IMAGE_UNALIGNED = 1u << 0,        /* pack sections and headers without any alignment */
    ELF_IMAGE_EXTENDED_COUNTS = 1u << 1,  /* e_shnum 0 and SHN_XINDEX, as for 65,280 sections */
    ELF_IMAGE_NO_SECTION_TABLE = 1u << 2, /* e_shoff 0 */
};

/* Lays the file out. The bytes belong to the image. */
struct span elf_image_finish(struct elf_image *image, unsigned shape);
