/*
 * Asks an index, or the resolver of single addresses, for the tests that compare their answers with
 * the truth and with each other.
 *
 *     object_query index INDEX < addresses             the index, verified first
 *     object_query resolve MAIN [DEBUG] < addresses    the files themselves
 *     object_query summary INDEX                       what the index says of itself
 *
 * Addresses are hexadecimal, one a line. An answer is one line a frame, leaf first,
 *     NAME TAB DEMANGLED TAB ORIGIN TAB FILE TAB LINE TAB COLUMN TAB START_FILE TAB START_LINE
 *     TAB ENTRY_PC
 * (the entry of functions alone, "-" for inlined copies and where unknown), then "miss REASON" if
 * there is one, then an empty line.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "symbolizer/build/object_resolver.h"
#include "symbolizer/index/demangle.h"
#include "symbolizer/index/index.h"
#include "tests/support/address_input.h"

static int fail(const struct error *error) {
    fprintf(stderr, "object_query: %s\n", error->text);
    return 1;
}

static void print_span(struct span span, char end) {
    printf("%.*s%c", (int)span.size, span.size ? span.data : "", end);
}

static void print_frame(const struct symbol_frame *frame, bool outermost) {
    struct buffer text = {.size_max = DEMANGLE_OUTPUT_SIZE_MAX};
    print_span(frame->name, '\t');
    if (frame->flags & SYMBOL_DEMANGLES && demangle(frame->name, &text))
        print_span(buffer_span(&text), '\t');
    else
        printf("-\t");
    buffer_clear(&text);
    printf("%s\t", symbol_origin_name(frame->origin));
    print_span(frame->file, '\t');
    printf("%" PRIu32 "\t%" PRIu32 "\t", frame->line, frame->column);
    print_span(frame->start_file, '\t');
    printf("%" PRIu32 "\t", frame->start_line);
    if (outermost && frame->has_entry_pc)
        printf("%" PRIx64 "\n", frame->entry_pc);
    else
        printf("-\n");
}

static void print_miss(enum symbol_miss miss) {
    if (miss != SYMBOL_MISS_NONE)
        printf("miss %s\n", symbol_miss_name(miss));
    printf("\n");
}

static void ask_index(const struct index *index, uint64_t pc) {
    static struct index_scratch scratch;
    struct symbol_frame frame;
    struct index_hit hit;
    index_lookup(index, &pc, 1, &hit);
    while (index_chain_next(index, &hit.chain, &scratch, &frame))
        print_frame(&frame, hit.chain.scope == 0);
    print_miss(hit.miss);
}

static int open_input(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        perror(path);
    return fd;
}

static int open_index(const char *path, struct index **ret_index) {
    CLEANUP(cleanup_fd) int fd = open_input(path);
    struct error error;
    if (fd < 0)
        return 1;
    if (index_open_fd(fd, ret_index, &error) || index_verify(*ret_index, &error))
        return fail(&error);
    return 0;
}

static int query_index(const char *path) {
    CLEANUP(cleanup_index) struct index *index = NULL;
    uint64_t pc;
    if (open_index(path, &index))
        return 1;
    while (address_input_next(&pc))
        ask_index(index, pc);
    return 0;
}

static int print_summary(const char *path) {
    CLEANUP(cleanup_index) struct index *index = NULL;
    struct index_summary summary;
    if (open_index(path, &index))
        return 1;
    index_summary_read(index, &summary);
    for (size_t i = 0; i < summary.id_count; i++)
        printf("id %s %s\n", binary_id_kind_name(summary.ids[i].kind), summary.ids[i].text);
    printf("segments %zu\n", index_segment_count(index));
    printf("intervals %" PRIu64 "\nlocations %" PRIu64 "\nfunctions %" PRIu64 "\n",
           summary.interval_count, summary.location_count, summary.function_count);
    return 0;
}

static int query_files(struct job_input *inputs, size_t count) {
    CLEANUP(cleanup_object_resolver) struct object_resolver *resolver = NULL;
    CLEANUP(frame_list_clear) struct frame_list frames = {0};
    struct error error;
    enum symbol_miss miss;
    uint64_t pc;
    if (object_resolver_new(inputs, count, NULL, &resolver, &error))
        return fail(&error);
    while (address_input_next(&pc)) {
        if (object_resolver_resolve(resolver, pc, &frames, &miss, &error))
            return fail(&error);
        for (size_t i = 0; i < frames.count; i++)
            print_frame(&frames.frames[i], i + 1 == frames.count);
        print_miss(miss);
    }
    return 0;
}

int main(int argc, char **argv) {
    struct job_input inputs[2] = {{JOB_ROLE_MAIN, -1}, {JOB_ROLE_DEBUG, -1}};
    if (argc == 3 && strcmp(argv[1], "index") == 0)
        return query_index(argv[2]);
    if (argc == 3 && strcmp(argv[1], "summary") == 0)
        return print_summary(argv[2]);
    if (argc < 3 || argc > 4 || strcmp(argv[1], "resolve") != 0) {
        fprintf(stderr, "usage: object_query index|summary INDEX | resolve MAIN [DEBUG]\n");
        return 2;
    }
    size_t count = 0;
    for (; count + 2 < (size_t)argc; count++) {
        inputs[count].fd = open_input(argv[count + 2]);
        if (inputs[count].fd < 0)
            return 1;
    }
    return query_files(inputs, count);
}
