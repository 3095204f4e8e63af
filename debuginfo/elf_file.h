/*
 * An ELF file (gABI 4.2 draft; generic to 32 and 64 bit, both byte orders), opened from an fd or
 * from memory. Sections by name with transparent decompression, program headers, and the
 * executable extents that tell live code from what the linker dropped.
 *
 * The bytes are hostile: every offset is checked, every decompression is bounded before memory is
 * taken (a claimed size over 1032 times the input plus 64 KiB is refused, and so is the sum over
 * limits->inflated_size_max).
 *
 * It also reads files as Parca Agent extracts them: sections other than debug data are NOBITS with
 * sh_size 0, there is no PT_LOAD, section offsets are unaligned, sh_link is 0 except for symbol
 * tables, and symbols' section indices may be stale.
 *
 * Ownership: everything handed out belongs to the elf_file and lives as long as it does.
 * Threads: one file is used by one thread at a time (section data is inflated on first use).
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"
#include "base/symbol.h"

struct elf_file;

struct elf_limits {
    uint64_t inflated_size_max; /* sum over all sections; 0 means 16 GiB */
};

/* Maps the file; the fd may be closed afterwards. ERR_MALFORMED when it is no ELF file or its
 * headers point outside it, ERR_UNSUPPORTED for a class or version we do not know. */
enum err elf_file_open_fd(int fd, const struct elf_limits *limits, struct elf_file **ret_file,
                          struct error *error);

/* The bytes must stay until elf_file_free. */
enum err elf_file_open_memory(struct span bytes, const struct elf_limits *limits,
                              struct elf_file **ret_file, struct error *error);

void elf_file_free(struct elf_file *file);
DEFINE_CLEANUP(elf_file, struct elf_file, elf_file_free)

struct elf_header {
    uint16_t type;    /* ET_* */
    uint16_t machine; /* EM_* */
    uint8_t osabi;
    bool is_64;
    bool big_endian;
};

const struct elf_header *elf_file_header(const struct elf_file *file);
struct span elf_file_bytes(const struct elf_file *file);

/* Lets go of the memory behind bytes of the file that have been read: they may be read again, but
 * slower. What is not of the file's own mapping, such as inflated sections, stays as it is. Any
 * thread may call it while others read. */
void elf_file_release(const struct elf_file *file, struct span bytes);

struct elf_section {
    struct span name;
    uint32_t index;   /* section header index */
    uint32_t type;    /* SHT_* */
    uint64_t flags;   /* SHF_* */
    uint64_t address; /* sh_addr; in ET_REL files a place given by us, see elf_object.h */
    uint64_t offset;
    uint64_t size; /* sh_size, as stored */
    uint32_t link;
    uint32_t info;
    uint64_t alignment; /* sh_addralign */
    uint64_t entry_size;
};

/* In header order, without the null section. Over 65,279 sections work (e_shnum 0). */
size_t elf_file_section_count(const struct elf_file *file);
const struct elf_section *elf_file_section(const struct elf_file *file, size_t position);

/* The first section of that name that holds bytes (not NOBITS, size > 0) and is of no group, else
 * the first that holds bytes, else the first of that name, else NULL. ".debug_x" also finds
 * ".zdebug_x". In objects a group is what the linker keeps one copy of: type units, say. */
const struct elf_section *elf_file_section_by_name(const struct elf_file *file, const char *name);

/* The section's contents, inflated if SHF_COMPRESSED (zlib, zstd) or .zdebug_*. Empty for NOBITS.
 * In ET_REL files debug sections come relocated (elf_relocate.h).
 * ERR_MALFORMED, ERR_UNSUPPORTED (another compression), ERR_LIMIT, ERR_NO_MEMORY. */
enum err elf_file_section_data(struct elf_file *file, const struct elf_section *section,
                               struct span *ret_bytes, struct error *error);

/*
 * A debug file has the headers of its executable and not the bytes: what it lacks is read from the
 * executable beside it, which must outlive it.
 */
void elf_file_set_beside(struct elf_file *file, struct elf_file *beside);

/* The contents of a section that is loaded, from this file or the one beside it, and its address;
 * {NULL, 0} when neither has any. */
struct span elf_file_loaded_bytes(struct elf_file *file, const char *name, uint64_t *ret_address);

/* The contents of all sections of that name, one after another, those that are in no group first:
 * type units have sections of their own until a linker joins them. Empty when there is none. Same
 * failures. */
enum err elf_file_joined_data(struct elf_file *file, const char *name, struct span *ret_bytes,
                              struct error *error);

struct elf_segment {
    uint32_t type;  /* PT_* */
    uint32_t flags; /* PF_* */
    uint64_t offset;
    uint64_t address;
    uint64_t file_size;
    uint64_t memory_size;
    uint64_t alignment;
};

size_t elf_file_segment_count(const struct elf_file *file);
const struct elf_segment *elf_file_segment(const struct elf_file *file, size_t position);

/*
 * Where code can lie, ascending and disjoint: the executable allocated sections; where a section's
 * size is lost (NOBITS and size 0, as agents leave it) it reaches to the next allocated section's
 * address, or to the end of the address space if it is the last; files without such sections use
 * executable PT_LOADs. *ret_exact is false when an extent had to be inferred in one of these ways.
 * An empty list means that nothing is known and every address counts as live.
 */
void elf_file_executable_extents(const struct elf_file *file, const struct pc_range **ret_extents,
                                 size_t *ret_count, bool *ret_exact);

/* True if pc lies in an executable extent, or if no extent is known. O(log n). */
bool elf_file_is_executable(const struct elf_file *file, uint64_t pc);

/*
 * For libdw: an Elf handle in which every .debug_* section is plain and named .debug_*. It is the
 * file itself where nothing is compressed or broken and the byte order is ours, else an image in
 * memory that holds the debug sections symbolization reads (not locations, macros, name tables).
 * Owned by the elf_file. ERR_NOT_FOUND when the file has no .debug_info; other errors when
 * .debug_info or .debug_abbrev cannot be had. Any other section that cannot is left out.
 */
enum err elf_file_debug_elf(struct elf_file *file, Elf **ret_elf, struct error *error);

/* After elf_file_debug_elf: why a section was left out (the first one), or NULL. */
const char *elf_file_debug_damage(const struct elf_file *file);

/* The first relocation that could not be applied so far, or NULL. */
const char *elf_file_relocation_damage(const struct elf_file *file);
