/*
 * Sections that come in pieces. A compiler writes each type unit into a .debug_info or .debug_types
 * section of its own, for a linker to keep one of equal ones; in a .dwo and in a relocatable file
 * they are still apart.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/elf_file_internal.h"

struct elf_joined {
    struct elf_joined *next;
    char *name;
    size_t size;
    char bytes[];
};

void elf_joined_free(struct elf_joined *joined) {
    while (joined) {
        struct elf_joined *next = joined->next;
        free(joined->name);
        free(joined);
        joined = next;
    }
}

static bool is_piece(const struct elf_section *section, const char *name) {
    return section->type != SHT_NOBITS && section->size > 0 && span_equal_cstr(section->name, name);
}

static size_t count_pieces(const struct elf_file *file, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < file->section_count; i++)
        count += is_piece(&file->sections[i], name);
    return count;
}

/* References between units count from the beginning of the piece that is in no group, which holds
 * the compile unit: it comes first. `target` NULL: sizes alone. */
static enum err gather(struct elf_file *file, const char *name, char *target, size_t *ret_size,
                       struct error *error) {
    size_t size = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < file->section_count; i++) {
            const struct elf_section *section = &file->sections[i];
            struct span bytes;
            bool is_first = (section->flags & SHF_GROUP) == 0;
            if (!is_piece(section, name) || is_first != (pass == 0))
                continue;
            enum err err = elf_file_section_data(file, section, &bytes, error);
            if (err)
                return err;
            if (target && bytes.size > 0)
                memcpy(target + size, bytes.data, bytes.size);
            size += bytes.size;
        }
    }
    *ret_size = size;
    return ERR_OK;
}

static enum err join(struct elf_file *file, const char *name, struct elf_joined **ret_joined,
                     struct error *error) {
    size_t size;
    enum err err = gather(file, name, NULL, &size, error);
    if (!err)
        err = elf_inflate_reserve(file, size, error);
    if (err)
        return err;
    struct elf_joined *joined = malloc(sizeof(*joined) + size);
    char *copy = strdup(name);
    if (!joined || !copy) {
        free(joined);
        free(copy);
        return error_set(error, ERR_NO_MEMORY, "no memory for %s", name);
    }
    *joined = (struct elf_joined){.next = file->joined, .name = copy, .size = size};
    err = gather(file, name, joined->bytes, &size, error);
    file->joined = joined;
    *ret_joined = joined;
    return err;
}

enum err elf_file_joined_data(struct elf_file *file, const char *name, struct span *ret_bytes,
                              struct error *error) {
    struct elf_joined *joined = file->joined;
    while (joined && strcmp(joined->name, name) != 0)
        joined = joined->next;
    if (!joined && count_pieces(file, name) < 2) {
        const struct elf_section *section = elf_file_section_by_name(file, name);
        struct span bytes = {NULL, 0};
        enum err err = section ? elf_file_section_data(file, section, &bytes, error) : ERR_OK;
        if (!err)
            *ret_bytes = bytes;
        return err;
    }
    enum err err = joined ? ERR_OK : join(file, name, &joined, error);
    if (!err)
        *ret_bytes = span_of(joined->bytes, joined->size);
    return err;
}
