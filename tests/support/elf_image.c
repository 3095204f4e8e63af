#include "tests/support/elf_image.h"

#include <endian.h>
#include <libdeflate.h>
#include <stdio.h>
#include <zstd.h>

#include "base/buffer.h"

struct stored_section {
    char *name;
    char *bytes;
    struct elf_image_section fields;
    uint64_t offset;
    uint32_t name_offset;
};

struct elf_image {
    bool is_64;
    bool big_endian;
    uint16_t type;
    uint16_t machine;
    struct stored_section *sections;
    size_t section_count;
    size_t section_capacity;
    struct elf_image_segment *segments;
    size_t segment_count;
    struct buffer notes[16];
    size_t note_count;
    struct buffer file;
};

static void *must(void *pointer) {
    if (!pointer) {
        fputs("elf_image: out of memory or room\n", stderr);
        abort();
    }
    return pointer;
}

struct elf_image *elf_image_new(bool is_64, bool big_endian, uint16_t type, uint16_t machine) {
    struct elf_image *image = must(calloc(1, sizeof(*image)));
    image->is_64 = is_64;
    image->big_endian = big_endian;
    image->type = type;
    image->machine = machine;
    return image;
}

void elf_image_free(struct elf_image *image) {
    if (!image)
        return;
    for (size_t i = 0; i < image->section_count; i++) {
        free(image->sections[i].name);
        free(image->sections[i].bytes);
    }
    for (size_t i = 0; i < image->note_count; i++)
        buffer_clear(&image->notes[i]);
    free(image->sections);
    free(image->segments);
    buffer_clear(&image->file);
    free(image);
}

uint32_t elf_image_add(struct elf_image *image, const struct elf_image_section *section) {
    size_t count = image->section_count + 1;
    if (count > image->section_capacity) {
        image->section_capacity = 2 * count;
        size_t size = image->section_capacity * sizeof(*image->sections);
        image->sections = must(realloc(image->sections, size));
    }
    struct stored_section *stored = &image->sections[image->section_count];
    *stored = (struct stored_section){.name = must(strdup(section->name)), .fields = *section};
    stored->bytes = must(malloc(section->bytes.size + 1));
    if (section->bytes.size)
        memcpy(stored->bytes, section->bytes.data, section->bytes.size);
    image->section_count = count;
    return (uint32_t)count;
}

uint32_t elf_image_add_bytes(struct elf_image *image, const char *name, struct span bytes) {
    return elf_image_add(
        image, &(struct elf_image_section){.name = name, .type = SHT_PROGBITS, .bytes = bytes});
}

void elf_image_add_segment(struct elf_image *image, const struct elf_image_segment *segment) {
    size_t count = image->segment_count + 1;
    image->segments = must(realloc(image->segments, count * sizeof(*image->segments)));
    image->segments[image->segment_count] = *segment;
    image->segment_count = count;
}

/* --- numbers in the image's own byte order ---------------------------------------------------- */

static void put_u16(const struct elf_image *image, struct buffer *buffer, uint16_t value) {
    value = image->big_endian ? htobe16(value) : htole16(value);
    buffer_append(buffer, &value, sizeof(value));
}

static void put_u32(const struct elf_image *image, struct buffer *buffer, uint32_t value) {
    value = image->big_endian ? htobe32(value) : htole32(value);
    buffer_append(buffer, &value, sizeof(value));
}

static void put_word(const struct elf_image *image, struct buffer *buffer, uint64_t value) {
    if (!image->is_64) {
        put_u32(image, buffer, (uint32_t)value);
        return;
    }
    value = image->big_endian ? htobe64(value) : htole64(value);
    buffer_append(buffer, &value, sizeof(value));
}

static void pad(struct buffer *buffer, size_t alignment) {
    while (buffer->size % alignment)
        buffer_append_byte(buffer, '\0');
}

/* --- contents ----------------------------------------------------------------------------------
 */

static void pack_zlib(struct span bytes, struct buffer *out) {
    struct libdeflate_compressor *compressor = must(libdeflate_alloc_compressor(6));
    size_t bound = libdeflate_zlib_compress_bound(compressor, bytes.size);
    char *room = must(buffer_reserve(out, bound));
    out->size += libdeflate_zlib_compress(compressor, bytes.data, bytes.size, room, bound);
    libdeflate_free_compressor(compressor);
}

static void pack_zstd(struct span bytes, struct buffer *out) {
    size_t bound = ZSTD_compressBound(bytes.size);
    char *room = must(buffer_reserve(out, bound));
    size_t size = ZSTD_compress(room, bound, bytes.data, bytes.size, 3);
    must(ZSTD_isError(size) ? NULL : room);
    out->size += size;
}

uint32_t elf_image_add_packed(struct elf_image *image, const char *name, struct span bytes,
                              enum elf_image_packing packing, uint64_t claimed_size) {
    CLEANUP(buffer_clear) struct buffer packed = {0};
    uint64_t claim = claimed_size ? claimed_size : bytes.size;
    if (packing == ELF_IMAGE_ZDEBUG) {
        uint64_t size = htobe64(claim);
        buffer_append_cstr(&packed, "ZLIB");
        buffer_append(&packed, &size, sizeof(size));
    } else {
        put_u32(image, &packed, packing == ELF_IMAGE_ZLIB ? 1 : 2);
        if (image->is_64)
            put_u32(image, &packed, 0);
        put_word(image, &packed, claim);
        put_word(image, &packed, 1);
    }
    if (packing == ELF_IMAGE_ZSTD)
        pack_zstd(bytes, &packed);
    else
        pack_zlib(bytes, &packed);
    return elf_image_add(image, &(struct elf_image_section){
                                    .name = name,
                                    .type = SHT_PROGBITS,
                                    .flags = packing == ELF_IMAGE_ZDEBUG ? 0 : SHF_COMPRESSED,
                                    .bytes = buffer_span(&packed)});
}

static void put_symbol(const struct elf_image *image, struct buffer *table, uint32_t name,
                       const struct elf_image_symbol *symbol) {
    uint8_t info = ELF64_ST_INFO(symbol->binding, symbol->type);
    put_u32(image, table, name);
    if (!image->is_64) {
        put_u32(image, table, (uint32_t)symbol->value);
        put_u32(image, table, (uint32_t)symbol->size);
    }
    buffer_append_byte(table, (char)info);
    buffer_append_byte(table, 0); /* st_other */
    put_u16(image, table, symbol->section);
    if (image->is_64) {
        put_word(image, table, symbol->value);
        put_word(image, table, symbol->size);
    }
}

uint32_t elf_image_add_symbols(struct elf_image *image, const char *name,
                               const struct elf_image_symbol *symbols, size_t count) {
    bool is_dynamic = strcmp(name, ".dynsym") == 0;
    CLEANUP(buffer_clear) struct buffer table = {0};
    CLEANUP(buffer_clear) struct buffer strings = {0};
    buffer_append_byte(&strings, '\0');
    put_symbol(image, &table, 0, &(struct elf_image_symbol){0});
    for (size_t i = 0; i < count; i++) {
        put_symbol(image, &table, (uint32_t)strings.size, &symbols[i]);
        buffer_append(&strings, symbols[i].name, strlen(symbols[i].name) + 1);
    }
    uint32_t link =
        elf_image_add(image, &(struct elf_image_section){.name = is_dynamic ? ".dynstr" : ".strtab",
                                                         .type = SHT_STRTAB,
                                                         .bytes = buffer_span(&strings)});
    return elf_image_add(image,
                         &(struct elf_image_section){
                             .name = name,
                             .type = is_dynamic ? SHT_DYNSYM : SHT_SYMTAB,
                             .bytes = buffer_span(&table),
                             .link = link,
                             .entry_size = image->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)});
}

struct span elf_image_note(struct elf_image *image, const char *name, uint32_t type,
                           struct span descriptor, size_t alignment) {
    must(image->note_count < ARRAY_SIZE(image->notes) ? image : NULL);
    struct buffer *note = &image->notes[image->note_count++];
    put_u32(image, note, (uint32_t)strlen(name) + 1);
    put_u32(image, note, (uint32_t)descriptor.size);
    put_u32(image, note, type);
    buffer_append(note, name, strlen(name) + 1);
    pad(note, alignment);
    buffer_append(note, descriptor.data, descriptor.size);
    pad(note, alignment);
    return buffer_span(note);
}

/* --- layout ------------------------------------------------------------------------------------
 */

static void put_header(struct elf_image *image, uint64_t segments_offset, unsigned shape) {
    struct buffer *file = &image->file;
    const char ident[EI_NIDENT] = {0x7f,
                                   'E',
                                   'L',
                                   'F',
                                   image->is_64 ? ELFCLASS64 : ELFCLASS32,
                                   image->big_endian ? ELFDATA2MSB : ELFDATA2LSB,
                                   EV_CURRENT};
    bool extended = shape & ELF_IMAGE_EXTENDED_COUNTS;
    bool no_sections = shape & ELF_IMAGE_NO_SECTION_TABLE;
    uint16_t count = no_sections ? 0 : (uint16_t)(image->section_count + 1);
    buffer_append(file, ident, sizeof(ident));
    put_u16(image, file, image->type);
    put_u16(image, file, image->machine);
    put_u32(image, file, EV_CURRENT);
    put_word(image, file, 0); /* e_entry */
    put_word(image, file, image->segment_count ? segments_offset : 0);
    put_word(image, file, 0); /* e_shoff, patched when it is known */
    put_u32(image, file, 0);  /* e_flags */
    put_u16(image, file, image->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
    put_u16(image, file, image->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
    put_u16(image, file, (uint16_t)image->segment_count);
    put_u16(image, file, image->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
    put_u16(image, file, extended ? 0 : count);
    put_u16(image, file, no_sections ? 0 : extended ? SHN_XINDEX : (uint16_t)(count - 1));
}

static void put_segment(struct elf_image *image, const struct elf_image_segment *segment) {
    struct buffer *file = &image->file;
    put_u32(image, file, segment->type);
    if (image->is_64)
        put_u32(image, file, segment->flags);
    put_word(image, file, segment->offset);
    put_word(image, file, segment->address);
    put_word(image, file, segment->address);
    put_word(image, file, segment->file_size);
    put_word(image, file, segment->memory_size);
    if (!image->is_64)
        put_u32(image, file, segment->flags);
    put_word(image, file, 4);
}

static void put_section(struct elf_image *image, const struct stored_section *section) {
    struct buffer *file = &image->file;
    const struct elf_image_section *fields = &section->fields;
    put_u32(image, file, section->name_offset);
    put_u32(image, file, fields->type);
    put_word(image, file, fields->flags);
    put_word(image, file, fields->address);
    put_word(image, file, section->offset);
    put_word(image, file, fields->claimed_size ? fields->claimed_size : fields->bytes.size);
    put_u32(image, file, fields->link);
    put_u32(image, file, fields->info);
    put_word(image, file, 1);
    put_word(image, file, fields->entry_size);
}

static void add_section_names(struct elf_image *image) {
    CLEANUP(buffer_clear) struct buffer names = {0};
    buffer_append_byte(&names, '\0');
    for (size_t i = 0; i < image->section_count; i++) {
        struct stored_section *section = &image->sections[i];
        section->name_offset = (uint32_t)names.size;
        buffer_append(&names, section->name, strlen(section->name) + 1);
    }
    uint32_t own = (uint32_t)names.size;
    buffer_append(&names, ".shstrtab", sizeof(".shstrtab"));
    uint32_t index = elf_image_add(
        image, &(struct elf_image_section){
                   .name = ".shstrtab", .type = SHT_STRTAB, .bytes = buffer_span(&names)});
    image->sections[index - 1].name_offset = own;
}

static void patch_section_table_offset(struct elf_image *image) {
    CLEANUP(buffer_clear) struct buffer offset = {0};
    put_word(image, &offset, image->file.size);
    size_t at = image->is_64 ? offsetof(Elf64_Ehdr, e_shoff) : offsetof(Elf32_Ehdr, e_shoff);
    memcpy(image->file.data + at, offset.data, offset.size);
}

struct span elf_image_finish(struct elf_image *image, unsigned shape) {
    struct buffer *file = &image->file;
    size_t alignment = shape & ELF_IMAGE_UNALIGNED ? 1 : 16;
    add_section_names(image);
    put_header(image, image->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr), shape);
    for (size_t i = 0; i < image->segment_count; i++)
        put_segment(image, &image->segments[i]);
    if (shape & ELF_IMAGE_UNALIGNED)
        buffer_append_byte(file, 'x');
    for (size_t i = 0; i < image->section_count; i++) {
        struct stored_section *section = &image->sections[i];
        pad(file, alignment);
        section->offset = file->size;
        if (section->fields.type != SHT_NOBITS)
            buffer_append(file, section->bytes, section->fields.bytes.size);
    }
    if (shape & ELF_IMAGE_NO_SECTION_TABLE)
        return buffer_span(file);
    pad(file, alignment);
    patch_section_table_offset(image);
    struct stored_section null = {0};
    if (shape & ELF_IMAGE_EXTENDED_COUNTS) {
        null.fields.claimed_size = image->section_count + 1;
        null.fields.link = (uint32_t)image->section_count;
    }
    null.offset = 0;
    put_section(image, &null);
    for (size_t i = 0; i < image->section_count; i++)
        put_section(image, &image->sections[i]);
    return buffer_span(file);
}
