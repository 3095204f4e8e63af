/*
 * The file as libdw 0.188 can read it. That release knows no zstd, believes the size that a
 * compressed section claims, and gives up on all of DWARF when one debug section lies outside the
 * file. So it never sees such a section: wherever one is compressed or broken, or the byte order
 * is not ours (libelf converts in place), it reads an image that we lay out here.
 */
#include <assert.h>
#include <endian.h>
#include <inttypes.h>

#include "base/buffer.h"
#include "debuginfo/elf_file.h"
#include "debuginfo/elf_file_internal.h"
#include "debuginfo/elf_relocate.h"

/* What symbolization reads, each also with ".dwo" behind it. The rest (locations, macros, name
 * tables) stays out: inflating is the slowest stage of a build. */
static const char *const debug_names[] = {
    ".debug_info",         ".debug_abbrev",    ".debug_line",
    ".debug_str",          ".debug_line_str",  ".debug_str_offsets",
    ".debug_addr",         ".debug_ranges",    ".debug_rnglists",
    ".debug_types",        ".debug_info.dwo",  ".debug_abbrev.dwo",
    ".debug_line.dwo",     ".debug_str.dwo",   ".debug_str_offsets.dwo",
    ".debug_rnglists.dwo", ".debug_types.dwo",
};

enum { DEBUG_SECTION_MAX = ARRAY_SIZE(debug_names), SECTION_ALIGNMENT = 16 };

/* One section of the image. */
struct part {
    const char *name;
    const struct elf_section *section;
    struct elf_packed packed;
    uint64_t offset;      /* in the image */
    uint32_t name_offset; /* in its .shstrtab */
};

struct elf_debug_image {
    Elf *elf;
    char *bytes; /* NULL when elf reads the file itself */
    bool has_damage;
    struct error damage; /* the first section that was left out */
};

/* The image while it is laid out. */
struct layout {
    struct part parts[DEBUG_SECTION_MAX];
    size_t part_count;
    struct buffer names; /* .shstrtab */
    uint32_t names_name_offset;
    uint64_t names_offset;
    uint64_t headers_offset;
    uint64_t size;
};

static void layout_clear(struct layout *layout) {
    buffer_clear(&layout->names);
}

void elf_debug_image_free(struct elf_debug_image *image) {
    if (!image)
        return;
    elf_end(image->elf);
    free(image->bytes);
    free(image);
}

/* --- choosing the sections ------------------------------------------------------------------- */

static void note_damage(struct elf_debug_image *image, const struct error *error) {
    if (image->has_damage)
        return;
    image->has_damage = true;
    image->damage = *error;
}

/* Without these two there is no DWARF; every other section costs only what it holds. */
static bool is_required(const char *name) {
    return strcmp(name, ".debug_info") == 0 || strcmp(name, ".debug_abbrev") == 0;
}

static enum err choose_parts(const struct elf_file *file, struct elf_debug_image *image,
                             struct layout *layout, struct error *error) {
    for (size_t i = 0; i < DEBUG_SECTION_MAX; i++) {
        const struct elf_section *section = elf_file_section_by_name(file, debug_names[i]);
        if (!section || section->type == SHT_NOBITS || section->size == 0)
            continue;
        struct part part = {.name = debug_names[i], .section = section};
        struct error reason;
        enum err err = elf_section_packed(file, section, &part.packed, &reason);
        if (err && is_required(part.name)) {
            *error = reason;
            return err;
        }
        if (err)
            note_damage(image, &reason);
        else
            layout->parts[layout->part_count++] = part;
    }
    return ERR_OK;
}

static bool file_suits_libdw(const struct elf_file *file, const struct elf_debug_image *image,
                             const struct layout *layout) {
    if (image->has_damage || file->header.big_endian != (BYTE_ORDER == BIG_ENDIAN))
        return false;
    for (size_t i = 0; i < layout->part_count; i++)
        if (layout->parts[i].packed.compression != ELF_COMPRESSION_NONE ||
            elf_section_is_relocated(file, layout->parts[i].section))
            return false;
    /* A debug section that we do not read can still make libdw refuse the file. */
    for (size_t i = 0; i < file->section_count; i++) {
        const struct elf_section *section = &file->sections[i];
        struct span stored;
        struct error ignored;
        if (span_starts_with(section->name, ".zdebug_") ||
            (span_starts_with(section->name, ".debug_") &&
             ((section->flags & SHF_COMPRESSED) ||
              elf_section_stored(file, section, &stored, &ignored))))
            return false;
    }
    return true;
}

/* --- laying the image out --------------------------------------------------------------------- */

static uint64_t align_up(uint64_t offset) {
    return (offset + SECTION_ALIGNMENT - 1) & ~(uint64_t)(SECTION_ALIGNMENT - 1);
}

static uint32_t add_name(struct buffer *names, const char *name) {
    uint32_t offset = (uint32_t)names->size;
    buffer_append(names, name, strlen(name) + 1);
    return offset;
}

/* Reserving each section's size first keeps the sums far from overflow. */
static enum err place_parts(struct elf_file *file, struct layout *layout, struct error *error) {
    bool is_64 = file->header.is_64;
    uint64_t offset = is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    buffer_append_byte(&layout->names, '\0');
    for (size_t i = 0; i < layout->part_count; i++) {
        struct part *part = &layout->parts[i];
        enum err err = elf_inflate_reserve(file, part->packed.size, error);
        if (err)
            return err;
        part->offset = align_up(offset);
        part->name_offset = add_name(&layout->names, part->name);
        offset = part->offset + part->packed.size;
    }
    layout->names_name_offset = add_name(&layout->names, ".shstrtab");
    if (buffer_failed(&layout->names))
        return error_set(error, ERR_NO_MEMORY, "no memory for section names");
    layout->names_offset = align_up(offset);
    layout->headers_offset = align_up(layout->names_offset + layout->names.size);
    size_t header_size = is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    layout->size = layout->headers_offset + (layout->part_count + 2) * header_size;
    if (!is_64 && layout->size > UINT32_MAX)
        return error_set(error, ERR_LIMIT, "debug sections of %" PRIu64 " bytes in a 32-bit file",
                         layout->size);
    return ERR_OK;
}

/* --- writing headers in the file's own class and byte order ---------------------------------- */

struct writer {
    char *position;
    bool is_64;
    bool big_endian;
};

static void write_u16(struct writer *writer, uint16_t value) {
    uint16_t stored = writer->big_endian ? htobe16(value) : htole16(value);
    memcpy(writer->position, &stored, sizeof(stored));
    writer->position += sizeof(stored);
}

static void write_u32(struct writer *writer, uint32_t value) {
    uint32_t stored = writer->big_endian ? htobe32(value) : htole32(value);
    memcpy(writer->position, &stored, sizeof(stored));
    writer->position += sizeof(stored);
}

static void write_word(struct writer *writer, uint64_t value) {
    if (!writer->is_64) {
        write_u32(writer, (uint32_t)value);
        return;
    }
    uint64_t stored = writer->big_endian ? htobe64(value) : htole64(value);
    memcpy(writer->position, &stored, sizeof(stored));
    writer->position += sizeof(stored);
}

static void write_file_header(struct writer *writer, const struct elf_header *header,
                              const struct layout *layout) {
    const unsigned char ident[EI_NIDENT] = {
        ELFMAG0,
        ELFMAG1,
        ELFMAG2,
        ELFMAG3,
        header->is_64 ? ELFCLASS64 : ELFCLASS32,
        header->big_endian ? ELFDATA2MSB : ELFDATA2LSB,
        EV_CURRENT,
        header->osabi,
    };
    memcpy(writer->position, ident, sizeof(ident));
    writer->position += sizeof(ident);
    write_u16(writer, header->type);
    write_u16(writer, header->machine);
    write_u32(writer, EV_CURRENT);
    write_word(writer, 0); /* e_entry */
    write_word(writer, 0); /* e_phoff */
    write_word(writer, layout->headers_offset);
    write_u32(writer, 0); /* e_flags */
    write_u16(writer, header->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
    write_u16(writer, 0); /* e_phentsize */
    write_u16(writer, 0); /* e_phnum */
    write_u16(writer, header->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
    write_u16(writer, (uint16_t)(layout->part_count + 2));
    write_u16(writer, (uint16_t)(layout->part_count + 1)); /* e_shstrndx */
}

static void write_section_header(struct writer *writer, uint32_t name, uint32_t type,
                                 uint64_t offset, uint64_t size) {
    write_u32(writer, name);
    write_u32(writer, type);
    write_word(writer, 0); /* sh_flags */
    write_word(writer, 0); /* sh_addr */
    write_word(writer, offset);
    write_word(writer, size);
    write_u32(writer, 0);                         /* sh_link */
    write_u32(writer, 0);                         /* sh_info */
    write_word(writer, type == SHT_NULL ? 0 : 1); /* sh_addralign */
    write_word(writer, 0);                        /* sh_entsize */
}

static void write_headers(const struct elf_file *file, const struct layout *layout, char *bytes) {
    const struct elf_header *header = &file->header;
    struct writer writer = {bytes, header->is_64, header->big_endian};
    write_file_header(&writer, header, layout);
    memcpy(bytes + layout->names_offset, layout->names.data, layout->names.size);
    writer.position = bytes + layout->headers_offset;
    write_section_header(&writer, 0, SHT_NULL, 0, 0);
    for (size_t i = 0; i < layout->part_count; i++) {
        const struct part *part = &layout->parts[i];
        /* A section left out after all keeps its place with size 0. */
        write_section_header(&writer, part->name_offset, SHT_PROGBITS, part->offset,
                             part->packed.size);
    }
    write_section_header(&writer, layout->names_name_offset, SHT_STRTAB, layout->names_offset,
                         layout->names.size);
    assert(writer.position == bytes + layout->size);
}

/* --- filling it --------------------------------------------------------------------------------
 */

/* What was inflated here also answers elf_file_section_data, so that nothing is inflated twice. */
static void share_contents(struct elf_file *file, const struct part *part, char *bytes) {
    struct elf_contents_slot *slot = elf_file_slot(file, part->section);
    if (slot->is_known || part->packed.compression == ELF_COMPRESSION_NONE)
        return;
    *slot = (struct elf_contents_slot){
        .bytes = bytes + part->offset, .size = part->packed.size, .is_known = true};
}

static enum err fill_part(struct elf_file *file, const struct part *part, char *bytes,
                          struct error *error) {
    const struct elf_contents_slot *slot = elf_file_slot(file, part->section);
    struct span relocated;
    if (elf_section_is_relocated(file, part->section)) {
        enum err err = elf_file_section_data(file, part->section, &relocated, error);
        if (err)
            return err;
    }
    if (slot->is_known) {
        memcpy(bytes + part->offset, slot->bytes, slot->size);
        return ERR_OK;
    }
    enum err err = elf_inflate(&part->packed, bytes + part->offset, error);
    return err ? error_prefix(error, "section %u (%s)", part->section->index, part->name) : ERR_OK;
}

static enum err fill_parts(struct elf_file *file, struct elf_debug_image *image,
                           struct layout *layout, char *bytes, struct error *error) {
    for (size_t i = 0; i < layout->part_count; i++) {
        struct part *part = &layout->parts[i];
        struct error reason;
        enum err err = fill_part(file, part, bytes, &reason);
        if (err && (is_required(part->name) || err == ERR_NO_MEMORY)) {
            *error = reason;
            return err;
        }
        if (err) {
            note_damage(image, &reason);
            part->packed.size = 0;
        }
    }
    return ERR_OK;
}

/* Sets image->bytes; only then may sections' contents point into it. */
static enum err make_bytes(struct elf_file *file, struct elf_debug_image *image,
                           struct layout *layout, struct error *error) {
    uint64_t inflated_before = file->inflated_size;
    enum err err = place_parts(file, layout, error);
    CLEANUP(cleanup_free) char *bytes = err ? NULL : calloc(1, layout->size);
    if (!err && !bytes)
        err = error_set(error, ERR_NO_MEMORY, "no memory for %" PRIu64 " bytes of debug sections",
                        layout->size);
    if (!err)
        err = fill_parts(file, image, layout, bytes, error);
    if (err) {
        file->inflated_size = inflated_before;
        return err;
    }
    write_headers(file, layout, bytes);
    image->bytes = TAKE(bytes);
    return ERR_OK;
}

static void share_all_contents(struct elf_file *file, const struct elf_debug_image *image,
                               const struct layout *layout) {
    for (size_t i = 0; i < layout->part_count; i++)
        if (layout->parts[i].packed.size > 0)
            share_contents(file, &layout->parts[i], image->bytes);
}

static enum err open_elf(struct elf_debug_image *image, struct span bytes, struct error *error) {
    elf_version(EV_CURRENT);
    /* The bytes are only read: ELF_C_READ semantics, in the byte order of this machine or our own
     * writable copy. */
    image->elf = elf_memory((char *)bytes.data, bytes.size);
    if (!image->elf)
        return error_set(error, ERR_MALFORMED, "libelf: %s", elf_errmsg(-1));
    return ERR_OK;
}

static bool has_debug_info(const struct elf_file *file) {
    const struct elf_section *info = elf_file_section_by_name(file, ".debug_info");
    return info && info->type != SHT_NOBITS && info->size > 0;
}

static enum err make_image(struct elf_file *file, struct elf_debug_image **ret_image,
                           struct error *error) {
    CLEANUP(cleanup_elf_debug_image) struct elf_debug_image *image = calloc(1, sizeof(*image));
    if (!image)
        return error_set(error, ERR_NO_MEMORY, "no memory for debug sections");
    CLEANUP(layout_clear) struct layout layout = {.names.size_max = 4096};
    enum err err = choose_parts(file, image, &layout, error);
    if (err)
        return err;
    if (file_suits_libdw(file, image, &layout)) {
        err = open_elf(image, file->bytes, error);
    } else {
        err = make_bytes(file, image, &layout, error);
        if (!err)
            err = open_elf(image, span_of(image->bytes, layout.size), error);
        if (!err)
            share_all_contents(file, image, &layout);
    }
    if (err)
        return err;
    *ret_image = TAKE(image);
    return ERR_OK;
}

enum err elf_file_debug_elf(struct elf_file *file, Elf **ret_elf, struct error *error) {
    if (!has_debug_info(file))
        return error_set(error, ERR_NOT_FOUND, "the file has no .debug_info");
    if (!file->debug_image) {
        enum err err = make_image(file, &file->debug_image, error);
        if (err)
            return err;
    }
    *ret_elf = file->debug_image->elf;
    return ERR_OK;
}

const char *elf_file_debug_damage(const struct elf_file *file) {
    const struct elf_debug_image *image = file->debug_image;
    return image && image->has_damage ? image->damage.text : elf_file_relocation_damage(file);
}
