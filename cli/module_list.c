#include "cli/module_list.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/debug_files.h"
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
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return error_set(error, ERR_IO, "%s", strerrordesc_np(errno));
    *ret_fd = fd;
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

/* The debug file that goes with an ELF file: the one that was named, else one that is found. -1:
 * none. */
static enum err open_debug_file(const struct module_list *list, const struct module *module, int fd,
                                int *ret_fd, struct error *error) {
    static const char *const folders[] = {DEBUG_FOLDER_DEFAULT};
    const struct debug_folders search = {folders, ARRAY_SIZE(folders)};
    CLEANUP(cleanup_free) char *path = NULL;
    struct error reason;
    *ret_fd = -1;
    if (list->debug_file) {
        enum err err = open_file(list->debug_file, ret_fd, error);
        return err ? error_prefix(error, "%s", list->debug_file) : ERR_OK;
    }
    /* Without one the file answers by what it has itself. */
    if (debug_file_find(&search, module->path, fd, ret_fd, &path, &reason))
        *ret_fd = -1;
    return ERR_OK;
}

static enum err open_module(const struct module_list *list, struct module *module,
                            struct error *error) {
    CLEANUP(cleanup_fd) int fd = -1;
    CLEANUP(cleanup_fd) int debug_fd = -1;
    enum err err = open_file(module->path, &fd, error);
    if (err)
        return err;
    if (is_index(fd)) {
        if (list->debug_file)
            return error_set(error, ERR_INVALID,
                             "a symbol index; --debug-file goes with an ELF file");
        return index_open_fd(fd, &module->index, error);
    }
    module->address_digits = address_digits_of(fd);
    struct job_input inputs[2] = {{JOB_ROLE_MAIN, fd}};
    size_t input_count = 1;
    err = open_debug_file(list, module, fd, &debug_fd, error);
    if (err)
        return err;
    if (debug_fd >= 0)
        inputs[input_count++] = (struct job_input){JOB_ROLE_DEBUG, debug_fd};
    err = object_resolver_new(inputs, input_count, &module->resolver, error);
    if (err && input_count > 1 && !list->debug_file) /* nobody asked for the one we found */
        err = object_resolver_new(inputs, 1, &module->resolver, error);
    return err;
}

static struct module *find(struct module_list *list, struct span path) {
    for (size_t i = 0; i < list->count; i++)
        if (span_equal_cstr(path, list->modules[i].path))
            return &list->modules[i];
    return NULL;
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

enum err module_list_get(struct module_list *list, struct span path, struct module **ret_module,
                         struct error *error) {
    struct module *module = find(list, path);
    if (!module) {
        CLEANUP(cleanup_free) char *copy = strndup(path.data ? path.data : "", path.size);
        if (!copy)
            return error_set(error, ERR_NO_MEMORY, "no memory for a path");
        module = take_place(list);
        *module = (struct module){.path = TAKE(copy), .address_digits = 16};
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

enum err module_resolve(struct module *module, uint64_t address, struct frame_list *frames,
                        struct error *error) {
    enum symbol_miss miss;
    frames->count = 0;
    if (module->index)
        return resolve_in_index(module, address, frames, error);
    return object_resolver_resolve(module->resolver, address, frames, &miss, error);
}
