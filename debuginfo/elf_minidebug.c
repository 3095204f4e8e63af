#include "debuginfo/elf_minidebug.h"

#include "debuginfo/elf_file_internal.h"
#include "debuginfo/xz.h"

struct elf_minidebug {
    struct buffer bytes;
    struct elf_file *file;
    struct error error; /* why file is NULL */
};

void elf_minidebug_free(struct elf_minidebug *minidebug) {
    if (!minidebug)
        return;
    elf_file_free(minidebug->file);
    buffer_clear(&minidebug->bytes);
    free(minidebug);
}

static enum err find_stream(struct elf_file *file, struct span *ret_stream, struct error *error) {
    const struct elf_section *section = elf_file_section_by_name(file, ".gnu_debugdata");
    if (!section || section->type == SHT_NOBITS || section->size == 0)
        return error_set(error, ERR_NOT_FOUND, "the file has no .gnu_debugdata");
    return elf_file_section_data(file, section, ret_stream, error);
}

static enum err inflate(struct elf_file *file, struct buffer *bytes, struct error *error) {
    struct span stream;
    enum err err = find_stream(file, &stream, error);
    if (err)
        return err;
    uint64_t left = file->inflated_size_max - file->inflated_size;
    if (left == 0)
        return elf_inflate_reserve(file, 1, error);
    bytes->size_max = left < MINIDEBUG_SIZE_MAX ? left : MINIDEBUG_SIZE_MAX;
    err = xz_inflate(stream, bytes, error);
    return err ? err : elf_inflate_reserve(file, bytes->size, error);
}

static enum err open_inner(struct elf_file *file, struct elf_minidebug *minidebug,
                           struct error *error) {
    enum err err = inflate(file, &minidebug->bytes, error);
    if (err) {
        buffer_clear(&minidebug->bytes);
        return err;
    }
    /* It is not compressed once more: what is, is left out. */
    struct elf_limits limits = {.inflated_size_max = 1};
    return elf_file_open_memory(buffer_span(&minidebug->bytes), &limits, &minidebug->file, error);
}

enum err elf_file_minidebug(struct elf_file *file, struct elf_file **ret_inner,
                            struct error *error) {
    if (!file->minidebug) {
        file->minidebug = calloc(1, sizeof(*file->minidebug));
        if (!file->minidebug)
            return error_set(error, ERR_NO_MEMORY, "no memory for .gnu_debugdata");
        struct error *reason = &file->minidebug->error;
        enum err err = open_inner(file, file->minidebug, reason);
        if (err && err != ERR_NOT_FOUND)
            error_prefix(reason, ".gnu_debugdata");
    }
    if (!file->minidebug->file) {
        *error = file->minidebug->error;
        return error->code;
    }
    *ret_inner = file->minidebug->file;
    return ERR_OK;
}
