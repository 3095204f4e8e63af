/* What the parts of elf_file (headers, inflating, extents, the image for libdw) share. */
#pragma once

#include "debuginfo/elf_file.h"

struct elf_debug_image;
struct elf_joined;
struct elf_minidebug;

struct elf_file {
    struct span bytes;
    bool is_mapped; /* bytes are our own mapping */
    struct elf_header header;

    struct elf_section *sections; /* without the null section */
    size_t section_count;
    struct elf_contents_slot *slots; /* beside sections: what was inflated so far */

    struct elf_segment *segments;
    size_t segment_count;

    struct elf_file *beside; /* the executable of a debug file; NULL: none */

    struct pc_range *extents;
    size_t extent_count;
    bool extents_exact;

    struct error relocation_damage; /* code 0: none */

    uint64_t inflated_size_max;
    uint64_t inflated_size;

    struct elf_debug_image *debug_image; /* NULL until asked for */
    struct elf_minidebug *minidebug;     /* likewise */
    struct elf_joined *joined;           /* sections in pieces, as far as they were asked for */
};

/* The inflated bytes of one section, once they were wanted. */
struct elf_contents_slot {
    char *bytes;
    size_t size;
    bool is_known;
    bool is_owned; /* else they lie in the debug image */
};

enum elf_compression {
    ELF_COMPRESSION_NONE,
    ELF_COMPRESSION_ZLIB,
    ELF_COMPRESSION_ZSTD,
};

/* How a section's contents are to be had: the stored bytes, and how large they become. */
struct elf_packed {
    enum elf_compression compression;
    struct span stored; /* without compression header */
    uint64_t size;      /* inflated; believable for the stored size */
};

/* Where the section's bytes lie; ERR_MALFORMED if outside the file. Empty for NOBITS. */
enum err elf_section_stored(const struct elf_file *file, const struct elf_section *section,
                            struct span *ret_stored, struct error *error);

/* Reads the compression header and checks the claimed size before anybody takes memory for it. */
enum err elf_section_packed(const struct elf_file *file, const struct elf_section *section,
                            struct elf_packed *ret_packed, struct error *error);

/* Takes `size` from what the file's limits still allow to be inflated. */
enum err elf_inflate_reserve(struct elf_file *file, uint64_t size, struct error *error);

/* Fills exactly packed->size bytes at `target`. */
enum err elf_inflate(const struct elf_packed *packed, char *target, struct error *error);

struct elf_contents_slot *elf_file_slot(struct elf_file *file, const struct elf_section *section);

/* Gives the sections of an ET_REL file their places; see elf_object.h. */
enum err elf_object_place(struct elf_file *file, struct error *error);

/* Fills file->extents from the headers that were read before. */
enum err elf_extents_compute(struct elf_file *file, struct error *error);

void elf_minidebug_free(struct elf_minidebug *minidebug);
void elf_joined_free(struct elf_joined *joined);

void elf_debug_image_free(struct elf_debug_image *image);
DEFINE_CLEANUP(elf_debug_image, struct elf_debug_image, elf_debug_image_free)
