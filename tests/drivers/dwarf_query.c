/*
 * Asks a DWARF source about a file, for the tests that compare its answers with the truth, its two
 * uses with each other, and the sources with each other.
 *
 *     dwarf_query [--libdw] FILE pull < addresses   the frames that resolve() gives
 *     dwarf_query [--libdw] FILE push < addresses   the frames that follow from what push() hands
 *                                                   out
 *     dwarf_query [--libdw] FILE dump               what push() hands out
 *
 * It asks our own reader or, with --libdw, the walk over libdw.
 * Addresses are hexadecimal, one a line; answers as in tests/support/frame_text.h.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "debuginfo/dwarf_source.h"
#include "debuginfo/elf_file.h"
#include "debuginfo/libdw_source.h"
#include "tests/support/address_input.h"
#include "tests/support/frame_text.h"
#include "tests/support/push_model.h"

static void print_frames(const struct frame_list *frames) {
    for (size_t i = 0; i < frames->count; i++)
        frame_text_print(&frames->frames[i]);
    printf("\n");
}

static int fail(const struct error *error) {
    fprintf(stderr, "dwarf_query: %s\n", error->text);
    return 1;
}

static int pull(struct symbol_source *source) {
    CLEANUP(frame_list_clear) struct frame_list frames = {0};
    uint64_t pc;
    while (address_input_next(&pc)) {
        struct error error;
        if (source->ops->resolve(source, pc, &frames, &error))
            return fail(&error);
        print_frames(&frames);
    }
    return 0;
}

static int push(struct symbol_source *source) {
    CLEANUP(cleanup_push_model) struct push_model *model = push_model_new();
    CLEANUP(frame_list_clear) struct frame_list frames = {0};
    struct error error;
    if (source->ops->push(source, push_model_sink(model), &error))
        return fail(&error);
    uint64_t pc;
    while (address_input_next(&pc)) {
        if (push_model_resolve(model, pc, &frames, &error))
            return fail(&error);
        print_frames(&frames);
    }
    return 0;
}

static int dump(struct symbol_source *source) {
    CLEANUP(cleanup_push_model) struct push_model *model = push_model_new();
    struct error error;
    if (source->ops->push(source, push_model_sink(model), &error))
        return fail(&error);
    push_model_print(model, stdout);
    return 0;
}

int main(int argc, char **argv) {
    bool libdw = argc > 1 && strcmp(argv[1], "--libdw") == 0;
    argv += libdw;
    argc -= libdw;
    if (argc != 3) {
        fprintf(stderr, "usage: dwarf_query [--libdw] FILE pull|push|dump\n");
        return 2;
    }
    CLEANUP(cleanup_fd) int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    CLEANUP(cleanup_symbol_source) struct symbol_source *source = NULL;
    struct error error;
    if (fd < 0) {
        perror(argv[1]);
        return 1;
    }
    if (elf_file_open_fd(fd, &(struct elf_limits){0}, &file, &error) ||
        (libdw ? libdw_source_new : dwarf_source_new)(file, &source, &error))
        return fail(&error);
    if (strcmp(argv[2], "pull") == 0)
        return pull(source);
    return strcmp(argv[2], "push") == 0 ? push(source) : dump(source);
}
