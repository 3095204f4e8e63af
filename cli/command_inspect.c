#include "cli/command_inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "cli/command_addresses.h"
#include "debuginfo/contents.h"
#include "debuginfo/identity.h"
#include "symbolizer/index/index.h"

/* More extents or segments than a person reads. */
#define SHOWN_MAX ((size_t)16)

static const char *machine_name(uint16_t machine) {
    switch (machine) {
    case EM_386:
        return "i386";
    case EM_X86_64:
        return "x86-64";
    case EM_ARM:
        return "arm";
    case EM_AARCH64:
        return "aarch64";
    case EM_PPC:
        return "powerpc";
    case EM_PPC64:
        return "powerpc64";
    case EM_S390:
        return "s390";
    case EM_MIPS:
        return "mips";
    case EM_RISCV:
        return "riscv";
    default:
        return "another machine";
    }
}

static const char *type_name(uint16_t type) {
    switch (type) {
    case ET_REL:
        return "relocatable";
    case ET_EXEC:
        return "executable";
    case ET_DYN:
        return "shared object or position-independent executable";
    case ET_CORE:
        return "core";
    default:
        return "another type";
    }
}

static void show_id(const struct binary_id *id) {
    printf("id %s: %s\n", binary_id_kind_name(id->kind), id->text);
}

static void show_contents(bool dwarf, bool pclntab, bool symtab, bool dynsym) {
    bool any = dwarf || pclntab || symtab || dynsym;
    printf("contents:%s%s%s%s%s\n", dwarf ? " dwarf" : "", pclntab ? " pclntab" : "",
           symtab ? " symtab" : "", dynsym ? " dynsym" : "", any ? "" : " no symbols");
}

/* --- ELF files ----------------------------------------------------------------------------------
 */

static void show_header(const struct elf_file *file) {
    const struct elf_header *header = elf_file_header(file);
    printf("kind: ELF, %d-bit, %s-endian\n", header->is_64 ? 64 : 32,
           header->big_endian ? "big" : "little");
    printf("type: %s (%u)\n", type_name(header->type), header->type);
    printf("machine: %s (%u)\n", machine_name(header->machine), header->machine);
    printf("size: %zu bytes\n", elf_file_bytes(file).size);
}

static void show_identity(struct elf_file *file) {
    struct elf_identity identity;
    elf_identity_read(file, &identity);
    if (identity.has_gnu)
        show_id(&identity.gnu);
    if (identity.has_go)
        show_id(&identity.go);
    show_id(&identity.htlhash);
}

static bool is_debug_section(const struct elf_section *section) {
    return span_starts_with(section->name, ".debug_") ||
           span_starts_with(section->name, ".zdebug_");
}

static void show_sections(const struct elf_file *file) {
    size_t count = elf_file_section_count(file);
    size_t debug_count = 0;
    size_t compressed_count = 0;
    uint64_t debug_size = 0;
    for (size_t i = 0; i < count; i++) {
        const struct elf_section *section = elf_file_section(file, i);
        if (!is_debug_section(section) || section->type == SHT_NOBITS)
            continue;
        debug_count++;
        debug_size += section->size;
        compressed_count += (section->flags & SHF_COMPRESSED) ||
                            span_starts_with(section->name, ".zdebug_");
    }
    printf("sections: %zu, of them %zu debug sections (%" PRIu64 " bytes, %zu compressed)\n", count,
           debug_count, debug_size, compressed_count);
    printf("segments: %zu\n", elf_file_segment_count(file));
}

static void show_extents(const struct elf_file *file) {
    const struct pc_range *extents;
    size_t count;
    bool exact;
    elf_file_executable_extents(file, &extents, &count, &exact);
    printf("executable: %s", count == 0 ? "unknown" : exact ? "" : "(inferred)");
    for (size_t i = 0; i < count && i < SHOWN_MAX; i++)
        printf("%s0x%" PRIx64 "-0x%" PRIx64, i > 0 || !exact ? " " : "", extents[i].begin,
               extents[i].end);
    if (count > SHOWN_MAX)
        printf(" and %zu more", count - SHOWN_MAX);
    putchar('\n');
}

/* Where we put the sections of a relocatable file, whose own addresses are all 0. */
static void show_places(const struct elf_file *file) {
    size_t shown = 0;
    if (elf_file_header(file)->type != ET_REL)
        return;
    for (size_t i = 0; i < elf_file_section_count(file) && shown < SHOWN_MAX; i++) {
        const struct elf_section *section = elf_file_section(file, i);
        if (!(section->flags & SHF_ALLOC) || section->size == 0)
            continue;
        char name[128];
        utf8_copy_printable(section->name, name, sizeof(name));
        printf("placed %s: 0x%" PRIx64 "-0x%" PRIx64 "\n", name, section->address,
               section->address + section->size);
        shown++;
    }
}

/* Inflates what symbolization reads, so that damage shows. */
static enum err show_debug_sections(struct elf_file *file, const struct elf_contents *contents,
                                    struct error *error) {
    Elf *elf;
    if (!contents->has_dwarf)
        return ERR_OK;
    enum err err = elf_file_debug_elf(file, &elf, error);
    if (err)
        return err;
    const char *damage = elf_file_debug_damage(file);
    if (damage) {
        char text[256];
        utf8_copy_printable(span_cstr(damage), text, sizeof(text));
        printf("damage: %s\n", text);
    }
    return ERR_OK;
}

static enum err inspect_elf(int fd, struct error *error) {
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    enum err err = elf_file_open_fd(fd, NULL, &file, error);
    if (err)
        return err;
    struct elf_contents contents;
    elf_contents_read(file, &contents);
    show_header(file);
    show_identity(file);
    show_contents(contents.has_dwarf, contents.has_pclntab, contents.has_symtab,
                  contents.has_dynsym);
    show_sections(file);
    show_extents(file);
    show_places(file);
    return show_debug_sections(file, &contents, error);
}

/* --- indexes ------------------------------------------------------------------------------------
 */

static void show_counts(const struct index_summary *summary) {
    printf("functions: %" PRIu64 "\ninlined copies: %" PRIu64 "\nline rows: %" PRIu64 "\n",
           summary->function_count, summary->inlined_count, summary->line_row_count);
    if (summary->without_columns)
        printf("columns: left out\n");
    printf("intervals: %" PRIu64 "\nlocations: %" PRIu64 "\ndamaged: %" PRIu64 "\n",
           summary->interval_count, summary->location_count, summary->damage_count);
    if (summary->executable_bytes == 0)
        printf("covered: %" PRIu64 " bytes\n", summary->covered_bytes);
    else
        printf("covered: %" PRIu64 " of %" PRIu64 " executable bytes%s\n", summary->covered_bytes,
               summary->executable_bytes, summary->extents_exact ? "" : " (inferred)");
}

static void show_segments(const struct index *index) {
    size_t count = index_segment_count(index);
    printf("segments: %zu\n", count);
    for (size_t i = 0; i < count && i < SHOWN_MAX; i++) {
        struct index_segment segment = index_segment_at(index, i);
        printf("segment: 0x%" PRIx64 "-0x%" PRIx64 " at offset 0x%" PRIx64 " flags %u\n",
               segment.address, segment.address + segment.memory_size, segment.offset,
               segment.flags);
    }
}

static enum err inspect_index(int fd, struct error *error) {
    CLEANUP(cleanup_index) struct index *index = NULL;
    enum err err = index_open_fd(fd, &index, error);
    if (err)
        return err;
    struct index_summary summary;
    index_summary_read(index, &summary);
    printf("kind: symbol index, version %d\n", INDEX_FORMAT_VERSION);
    printf("machine: %s (%u)\n", machine_name(summary.machine), summary.machine);
    printf("size: %" PRIu64 " bytes\n", index_size(index));
    for (size_t i = 0; i < summary.id_count; i++)
        show_id(&summary.ids[i]);
    show_contents(summary.has_dwarf, summary.has_pclntab, summary.has_symtab, summary.has_dynsym);
    show_counts(&summary);
    show_segments(index);
    err = index_verify(index, error);
    if (!err)
        puts("verified: every checksum and record is good");
    return err;
}

/* ------------------------------------------------------------------------------------------------
 */

static enum err inspect(const char *path, struct error *error) {
    CLEANUP(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return error_set(error, ERR_IO, "%s", strerrordesc_np(errno));
    char magic[4] = {0};
    if (pread(fd, magic, sizeof(magic), 0) < 0)
        return error_set(error, ERR_IO, "%s", strerrordesc_np(errno));
    printf("file: %s\n", path);
    return memcmp(magic, ELFMAG, SELFMAG) == 0 ? inspect_elf(fd, error) : inspect_index(fd, error);
}

static const char help[] =
    "Usage: symbolize inspect FILE...\n"
    "\n"
    "Shows the ids and contents of ELF files and of symbol indexes, one `key: value` a line, and\n"
    "checks every checksum and record of an index.\n"
    "\n"
    "Exit codes: 0 all was read, 1 something could not be read or is damaged, 2 wrong usage.\n";

int command_inspect(int argument_count, char **arguments) {
    int exit_code = EXIT_ALL_READ;
    if (argument_count == 2 && strcmp(arguments[1], "--help") == 0) {
        fputs(help, stdout);
        return EXIT_ALL_READ;
    }
    if (argument_count < 2) {
        fputs("symbolize: inspect needs a file\n", stderr);
        return EXIT_USAGE;
    }
    for (int i = 1; i < argument_count; i++) {
        struct error error = {0};
        if (inspect(arguments[i], &error)) {
            fflush(stdout);
            fprintf(stderr, "symbolize: %s: %s\n", arguments[i], error.text);
            exit_code = EXIT_SOMETHING_UNREAD;
        }
    }
    if (fflush(stdout) != 0) {
        fputs("symbolize: standard output: cannot write\n", stderr);
        return EXIT_SOMETHING_UNREAD;
    }
    return exit_code;
}
