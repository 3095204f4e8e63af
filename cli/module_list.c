#include "cli/module_list.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/spread_files.h"
#include "symbolizer/index/format.h"

/* Of the names and paths at one address. */
#define STRINGS_SIZE_MAX ((size_t)64 << 20)

/* EI_CLASS and its value for 32 bits (gABI, "ELF Identification"). */
enum { IDENT_CLASS = 4, CLASS_32 = 1 };

static void module_clear(struct module *module) {
    object_resolver_free(module->resolver);
    index_free(module->index);
    arena_free(module->strings);
    free(module->path);
    *module = (struct module){0};
}

void module_list_clear(struct module_list *list) {
    for (size_t i = 0; i < list->count; i++)
        module_clear(&list->modules[i]);
    list->count = 0;
}

static enum err open_file(const char *path, int *ret_fd, struct error *error) {
    CLEANUP(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status))
        return error_set(error, ERR_IO, "%s", strerrordesc_np(errno));
    if (S_ISDIR(status.st_mode))
        return error_set(error, ERR_IO, "%s", strerrordesc_np(EISDIR));
    *ret_fd = TAKE_FD(fd);
    return ERR_OK;
}

static unsigned address_digits_of(int fd) {
    unsigned char ident[IDENT_CLASS + 1] = {0};
    ssize_t size = pread(fd, ident, sizeof(ident), 0);
    return size == sizeof(ident) && ident[IDENT_CLASS] == CLASS_32 ? 8 : 16;
}

static bool is_index(int fd) {
    char magic[FORMAT_MAGIC_SIZE] = {0};
    ssize_t size = pread(fd, magic, sizeof(magic), 0);
    return size == sizeof(magic) && memcmp(magic, FORMAT_MAGIC, sizeof(magic)) == 0;
}

/* The files that answer for one module. */
struct module_files {
    const char *path; /* of the main file */
    char *found_path; /* the same, if it was looked for */
    int main_fd;
    int debug_fd; /* -1: none */
    char *debug_path;
    struct spread_files spread;
};

static void module_files_clear(struct module_files *files) {
    fd_close(files->main_fd);
    fd_close(files->debug_fd);
    free(files->debug_path);
    free(files->found_path);
    spread_files_clear(&files->spread);
}

static enum err open_named(const char *path, int *ret_fd, struct error *error) {
    enum err err = open_file(path, ret_fd, error);
    return err ? error_prefix(error, "%s", path) : ERR_OK;
}

/* The debug file that goes with an ELF file: the one that was named, else one that is found. */
static enum err open_debug_file(const struct module_list *list, struct module_files *files,
                                struct error *error) {
    struct error reason;
    if (list->debug_file) {
        files->debug_path = strdup(list->debug_file);
        if (!files->debug_path)
            return error_set(error, ERR_NO_MEMORY, "no memory for a path");
        return open_named(list->debug_file, &files->debug_fd, error);
    }
    /* Without one the file answers by what it has itself. */
    if (debug_file_find(&list->folders, files->path, files->main_fd, &files->debug_fd,
                        &files->debug_path, &reason))
        files->debug_fd = -1;
    return ERR_OK;
}

/* The files that the DWARF of one of both is spread over. */
static enum err open_spread(const struct module_list *list, struct module_files *files,
                            struct error *error) {
    if (files->debug_fd >= 0)
        spread_files_find(&files->spread, files->debug_path, files->debug_fd, files->path,
                          &list->folders);
    else
        spread_files_find(&files->spread, files->path, files->main_fd, NULL, &list->folders);
    if (!list->package)
        return ERR_OK;
    files->spread.package_fd = fd_close(files->spread.package_fd);
    return open_named(list->package, &files->spread.package_fd, error);
}

static enum err open_resolver(const struct module_list *list, struct module *module,
                              struct module_files *files, struct error *error) {
    enum err err = open_debug_file(list, files, error);
    if (!err)
        err = open_spread(list, files, error);
    if (err)
        return err;
    const struct job_input others[] = {{JOB_ROLE_DEBUG, files->debug_fd},
                                       {JOB_ROLE_DWP, files->spread.package_fd},
                                       {JOB_ROLE_SUPPLEMENTARY, files->spread.supplement_fd}};
    struct job_input inputs[1 + ARRAY_SIZE(others)] = {{JOB_ROLE_MAIN, files->main_fd}};
    size_t input_count = 1;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (others[i].fd >= 0)
            inputs[input_count++] = others[i];
    struct dwarf_dwo_finder *finder = &files->spread.dwo_finder;
    err = object_resolver_new(inputs, input_count, finder, &module->resolver, error);
    bool found_alone = !list->debug_file && !list->package; /* nobody asked for what we found */
    if (err && input_count > 1 && found_alone)
        err = object_resolver_new(inputs, 1, finder, &module->resolver, error);
    if (!err && list->relative_names)
        object_resolver_use_relative_paths(module->resolver);
    return err;
}

static enum err open_main_file(const struct module_list *list, const struct module *module,
                               struct module_files *files, struct error *error) {
    if (!module->path_is_build_id) {
        files->path = module->path;
        return open_file(module->path, &files->main_fd, error);
    }
    enum err err = debug_file_find_id(&list->folders, span_cstr(module->path), &files->main_fd,
                                      &files->found_path, error);
    files->path = files->found_path;
    return err;
}

static enum err open_module(const struct module_list *list, struct module *module,
                            struct error *error) {
    CLEANUP(module_files_clear)
    struct module_files files = {
        .main_fd = -1, .debug_fd = -1, .spread = {.package_fd = -1, .supplement_fd = -1}};
    enum err err = open_main_file(list, module, &files, error);
    if (err)
        return err;
    if (!is_index(files.main_fd)) {
        module->address_digits = address_digits_of(files.main_fd);
        return open_resolver(list, module, &files, error);
    }
    if (list->debug_file || list->package)
        return error_set(error, ERR_INVALID, "a symbol index; %s goes with an ELF file",
                         list->debug_file ? "--debug-file" : "--dwp");
    return index_open_fd(files.main_fd, &module->index, error);
}

static struct module *find(struct module_list *list, struct module_name name) {
    for (size_t i = 0; i < list->count; i++)
        if (list->modules[i].path_is_build_id == name.is_build_id &&
            span_equal_cstr(name.text, list->modules[i].path))
            return &list->modules[i];
    return NULL;
}

/* Build IDs are shown in capitals, as llvm-symbolizer shows them. */
static char *path_of(struct module_name name) {
    char *path = strndup(name.text.data ? name.text.data : "", name.text.size);
    for (char *c = path; name.is_build_id && c && *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return path;
}

/* An unused place, made by closing the module that was not asked about for longest if need be. */
static struct module *take_place(struct module_list *list) {
    if (list->count < MODULE_COUNT_MAX)
        return &list->modules[list->count++];
    struct module *oldest = &list->modules[0];
    for (size_t i = 1; i < list->count; i++)
        if (list->modules[i].last_use < oldest->last_use)
            oldest = &list->modules[i];
    module_clear(oldest);
    return oldest;
}

enum err module_list_get(struct module_list *list, struct module_name name,
                         struct module **ret_module, struct error *error) {
    struct module *module = find(list, name);
    if (!module) {
        CLEANUP(cleanup_free)
        char *copy = path_of(name);
        if (!copy)
            return error_set(error, ERR_NO_MEMORY, "no memory for a path");
        module = take_place(list);
        *module = (struct module){
            .path = TAKE(copy), .path_is_build_id = name.is_build_id, .address_digits = 16};
        enum err err = open_module(list, module, &module->failure);
        if (err == ERR_OK)
            module->failure = (struct error){0};
    }
    module->last_use = ++list->use_count;
    *ret_module = module;
    return ERR_OK;
}

/* --- one address in an index -------------------------------------------------------------------
 */

/* The copies live in the arena, since the next frame may use the scratch again. */
static bool keep(struct arena *strings, struct span *text) {
    if (text->size == 0)
        return true;
    *text = arena_copy(strings, *text);
    return text->data != NULL;
}

static enum err add_frame(struct module *module, struct symbol_frame *frame,
                          struct frame_list *frames, struct error *error) {
    struct arena *strings = module->strings;
    if (!keep(strings, &frame->name) || !keep(strings, &frame->short_name) ||
        !keep(strings, &frame->file) || !keep(strings, &frame->start_file))
        return error_set(error, ERR_LIMIT, "too many names at one address");
    return frame_list_add(frames, frame, error);
}

static enum err resolve_in_index(struct module *module, uint64_t address, struct frame_list *frames,
                                 struct error *error) {
    struct index_hit hit;
    struct index_scratch scratch;
    struct symbol_frame frame;
    arena_free(module->strings);
    module->strings = arena_new(STRINGS_SIZE_MAX);
    if (!module->strings)
        return error_set(error, ERR_NO_MEMORY, "no memory for names");
    index_lookup(module->index, &address, 1, &hit);
    enum err err = ERR_OK;
    while (err == ERR_OK && index_chain_next(module->index, &hit.chain, &scratch, &frame))
        err = add_frame(module, &frame, frames, error);
    return err;
}

bool module_address(const struct module *module, struct span section, uint64_t offset,
                    uint64_t *ret_address) {
    if (module->resolver &&
        object_resolver_section_address(module->resolver, section, offset, ret_address))
        return true;
    if (section.size == 0)
        *ret_address = offset;
    return section.size == 0;
}

size_t module_symbols(const struct module *module, struct span name,
                      struct named_symbol *ret_symbols, size_t count_max) {
    return module->resolver
               ? object_resolver_symbols(module->resolver, name, ret_symbols, count_max)
               : 0;
}

bool module_data(const struct module *module, uint64_t address, struct named_symbol *ret_symbol) {
    return module->resolver && object_resolver_data(module->resolver, address, ret_symbol);
}

enum err module_resolve(struct module *module, uint64_t address, struct frame_list *frames,
                        struct error *error) {
    enum symbol_miss miss;
    frames->count = 0;
    if (module->index)
        return resolve_in_index(module, address, frames, error);
    return object_resolver_resolve(module->resolver, address, frames, &miss, error);
}
