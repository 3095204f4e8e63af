#include "cli/command_index.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "cli/command_addresses.h"
#include "cli/progress.h"
#include "cli/spread_files.h"
#include "debuginfo/elf_file.h"
#include "symbolizer/build/build.h"

/* The executable and its debug file. */
#define FILE_COUNT_MAX 2

static const char help[] =
    "Usage: symbolize index [OPTION]... FILE [FILE] -o OUT\n"
    "\n"
    "Makes a symbol index, as a server makes it of uploads: of one ELF file, or of an executable\n"
    "and its separate debug file, in any order. `symbolize -e OUT ADDRESS...` looks addresses up\n"
    "in it, and `symbolize inspect OUT` shows and verifies it.\n"
    "\n"
    "      --dwp=FILE     its split units (.dwp); else FILE.dwp and .dwo files are looked for\n"
    "  -o, --output=OUT   where to write it; an old file is replaced once the new one is whole\n"
    "  -j, --threads=N    how many threads read the files (0, the default: one for each\n"
    "                     processor); the index is the same for any number\n"
    "      --no-columns   leave columns out, which makes a smaller index\n"
    "      --verbose      print what the index holds\n"
    "  -h, --help         print this and exit\n"
    "\n"
    "Exit codes: 0 the index was made, 1 it could not be made, 2 wrong usage.\n";

static const struct option flags[] = {
    {"output", required_argument, NULL, 'o'},
    {"no-columns", no_argument, NULL, 'C'},
    {"dwp", required_argument, NULL, 'D'},
    {"verbose", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {"threads", required_argument, NULL, 'j'},
    {0},
};

struct request {
    const char *files[FILE_COUNT_MAX];
    int fds[FILE_COUNT_MAX];
    size_t count;
    struct spread_files spread;
    const char *package; /* NULL: one is looked for */
    const char *out;
    unsigned thread_count; /* 0: one for each processor */
    bool without_columns;
    bool verbose;
    bool wants_help;
};

static void close_files(struct request *request) {
    for (size_t i = 0; i < request->count; i++)
        request->fds[i] = fd_close(request->fds[i]);
    spread_files_clear(&request->spread);
}

static int usage_error(const char *what, const char *word) {
    fprintf(stderr, "symbolize index: %s%s\nTry 'symbolize index --help'.\n", what, word);
    return EXIT_USAGE;
}

static bool parse_threads(const char *text, unsigned *ret_count) {
    char *end;
    errno = 0;
    unsigned long count = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno || count > JOB_THREAD_MAX)
        return false;
    *ret_count = (unsigned)count;
    return true;
}

/* EXIT_ALL_READ, or EXIT_USAGE after a complaint. */
static int parse(int argument_count, char **arguments, struct request *request) {
    optind = 0; /* glibc: start anew */
    opterr = 0;
    for (int flag; (flag = getopt_long(argument_count, arguments, ":o:j:h", flags, NULL)) != -1;) {
        if (flag == 'o')
            request->out = optarg;
        else if (flag == 'C')
            request->without_columns = true;
        else if (flag == 'D')
            request->package = optarg;
        else if (flag == 'V')
            request->verbose = true;
        else if (flag == 'h')
            request->wants_help = true;
        else if (flag != 'j')
            return usage_error("cannot use ", arguments[optind - 1]);
        if (flag == 'j' && !parse_threads(optarg, &request->thread_count))
            return usage_error("want 0 to 256 threads, not ", optarg);
    }
    if (request->wants_help)
        return EXIT_ALL_READ;
    if (optind == argument_count)
        return usage_error("no file given", "");
    if (!request->out)
        return usage_error("no -o OUT given", "");
    for (int i = optind; i < argument_count; i++) {
        if (request->count == FILE_COUNT_MAX)
            return usage_error("too many files; an index is of an executable and its debug file: ",
                               arguments[i]);
        request->fds[request->count] = -1;
        request->files[request->count++] = arguments[i];
    }
    return EXIT_ALL_READ;
}

/* --- which file is which ------------------------------------------------------------------------
 */

/* A file made by `objcopy --only-keep-debug` has its code sections emptied. */
static bool has_code(const struct elf_file *file) {
    size_t count = elf_file_section_count(file);
    for (size_t i = 0; i < count; i++) {
        const struct elf_section *section = elf_file_section(file, i);
        if ((section->flags & SHF_EXECINSTR) && section->type != SHT_NOBITS && section->size > 0)
            return true;
    }
    return false;
}

static enum err open_input(struct request *request, size_t i, bool *ret_has_code,
                           struct error *error) {
    request->fds[i] = open(request->files[i], O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (request->fds[i] < 0)
        return error_set(error, ERR_IO, "%s: %s", request->files[i], strerrordesc_np(errno));
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    enum err err = elf_file_open_fd(request->fds[i], NULL, &file, error);
    if (err)
        return error_prefix(error, "%s", request->files[i]);
    *ret_has_code = has_code(file);
    return ERR_OK;
}

static enum err open_inputs(struct request *request, struct job_input *inputs,
                            struct error *error) {
    bool with_code[FILE_COUNT_MAX] = {false};
    for (size_t i = 0; i < request->count; i++) {
        enum err err = open_input(request, i, &with_code[i], error);
        if (err)
            return err;
    }
    for (size_t i = 0; i < request->count; i++)
        inputs[i] = (struct job_input){JOB_ROLE_MAIN, request->fds[i]};
    if (request->count < FILE_COUNT_MAX)
        return ERR_OK;
    if (with_code[0] == with_code[1])
        return error_set(error, ERR_INVALID, "%s and %s: want an executable and its debug file",
                         request->files[0], request->files[1]);
    inputs[with_code[0] ? 1 : 0].role = JOB_ROLE_DEBUG;
    return ERR_OK;
}

/* The files that the DWARF is spread over: of the debug file, if there is one. *io_count grows. */
static enum err open_spread(struct request *request, struct job_input *inputs, size_t *io_count,
                            struct error *error) {
    static const char *const paths[] = {DEBUG_FOLDER_DEFAULT};
    const struct debug_folders folders = {paths, ARRAY_SIZE(paths)};
    size_t dwarf = request->count == 2 && inputs[1].role == JOB_ROLE_DEBUG;
    struct spread_files *spread = &request->spread;
    const char *executable = request->count == 2 ? request->files[1 - dwarf] : NULL;
    spread_files_find(spread, request->files[dwarf], request->fds[dwarf], executable, &folders);
    if (request->package) {
        fd_close(spread->package_fd);
        spread->package_fd = open(request->package, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (spread->package_fd < 0)
            return error_set(error, ERR_IO, "%s: %s", request->package, strerrordesc_np(errno));
    }
    if (spread->package_fd >= 0)
        inputs[(*io_count)++] = (struct job_input){JOB_ROLE_DWP, spread->package_fd};
    if (spread->supplement_fd >= 0)
        inputs[(*io_count)++] = (struct job_input){JOB_ROLE_SUPPLEMENTARY, spread->supplement_fd};
    return ERR_OK;
}

/* --- the output ---------------------------------------------------------------------------------
 */

static enum err open_folder_of(const char *path, const char **ret_name, int *ret_fd,
                               struct error *error) {
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX] = ".";
    size_t size = slash ? (size_t)(slash - path) + 1 : 0;
    if (size >= sizeof(folder))
        return error_set(error, ERR_INVALID, "the name is too long");
    if (slash) {
        memcpy(folder, path, size);
        folder[size] = '\0';
    }
    *ret_name = slash ? slash + 1 : path;
    if ((*ret_name)[0] == '\0')
        return error_set(error, ERR_INVALID, "not a file name");
    *ret_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_fd < 0)
        return error_set(error, ERR_IO, "%s: %s", folder, strerrordesc_np(errno));
    return ERR_OK;
}

/* Shows shards that are done as bytes of the files that are read. */
struct index_progress {
    struct collection_progress base;
    struct progress *bar; /* NULL: nobody watches */
    uint64_t bytes_total;
    uint64_t bytes_moved;
};

static void report_shards(struct collection_progress *base, size_t done, size_t total) {
    struct index_progress *progress = (struct index_progress *)base;
    uint64_t bytes = (uint64_t)((double)progress->bytes_total * (double)done / (double)total);
    progress_move(progress->bar, (int64_t)(bytes - progress->bytes_moved));
    progress->bytes_moved = bytes;
}

static uint64_t size_of_inputs(const struct job_input *inputs, size_t count) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        if (fstat(inputs[i].fd, &status) == 0)
            bytes += (uint64_t)status.st_size;
    }
    return bytes;
}

static enum err build_into(struct request *request, const struct job_input *inputs, size_t count,
                           int fd, struct build_result *ret_result, struct error *error) {
    struct index_progress progress = {
        .base = {.report = report_shards},
        .bytes_total = size_of_inputs(inputs, count),
    };
    progress.bar = progress_new(stderr, progress.bytes_total, 1);
    const struct build_limits limits = {
        .dwo_finder = &request->spread.dwo_finder,
        .thread_count = request->thread_count,
        .without_columns = request->without_columns,
        .progress = progress.bar ? &progress.base : NULL,
    };
    enum err err = build_index(inputs, count, &limits, fd, ret_result, error);
    progress_free(progress.bar);
    if (err == ERR_OK && fsync(fd) != 0)
        err = error_set_errno(error, ERR_IO, errno, "cannot write the index");
    return err;
}

/* The new file stands beside the old one under a name of its own until it is whole. */
static enum err write_index(struct request *request, const struct job_input *inputs, size_t count,
                            struct build_result *ret_result, struct error *error) {
    CLEANUP(cleanup_fd) int folder = -1;
    const char *name = NULL;
    enum err err = open_folder_of(request->out, &name, &folder, error);
    if (err)
        return error_prefix(error, "%s", request->out);
    char temporary[NAME_MAX + 1];
    snprintf(temporary, sizeof(temporary), ".%.200s.%d.tmp", name, (int)getpid());
    CLEANUP(cleanup_fd)
    int fd = openat(folder, temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_set(error, ERR_IO, "%s: %s", request->out, strerrordesc_np(errno));
    err = build_into(request, inputs, count, fd, ret_result, error);
    if (err == ERR_OK)
        err = fd_publish(folder, temporary, folder, name, error);
    if (err)
        unlinkat(folder, temporary, 0);
    return err;
}

static void show(const struct request *request, const struct build_result *result) {
    const struct index_summary *summary = &result->summary;
    printf("index: %s, %" PRIu64 " bytes\n", request->out, result->size);
    for (size_t i = 0; i < summary->id_count; i++)
        printf("id %s: %s\n", binary_id_kind_name(summary->ids[i].kind), summary->ids[i].text);
    printf("functions: %" PRIu64 "\ninlined copies: %" PRIu64 "\nline rows: %" PRIu64 "\n",
           summary->function_count, summary->inlined_count, summary->line_row_count);
    printf("covered: %" PRIu64 " of %" PRIu64 " executable bytes\ndamaged: %" PRIu64 "\n",
           summary->covered_bytes, summary->executable_bytes, summary->damage_count);
    printf("memory: at most %" PRIu64 " bytes in tables\n", result->memory_peak);
}

int command_index(int argument_count, char **arguments) {
    CLEANUP(close_files)
    struct request request = {.spread = {.package_fd = -1, .supplement_fd = -1}};
    int exit_code = parse(argument_count, arguments, &request);
    if (exit_code != EXIT_ALL_READ)
        return exit_code;
    if (request.wants_help) {
        fputs(help, stdout);
        return EXIT_ALL_READ;
    }
    struct error error;
    struct job_input inputs[FILE_COUNT_MAX + 2] = {0};
    size_t count = request.count;
    struct build_result result = {.size = 0};
    if (open_inputs(&request, inputs, &error) || open_spread(&request, inputs, &count, &error) ||
        write_index(&request, inputs, count, &result, &error)) {
        fprintf(stderr, "symbolize index: %s\n", error.text);
        return EXIT_SOMETHING_UNREAD;
    }
    if (request.verbose)
        show(&request, &result);
    if (fflush(stdout) != 0) {
        fputs("symbolize index: standard output: cannot write\n", stderr);
        return EXIT_SOMETHING_UNREAD;
    }
    return EXIT_ALL_READ;
}
