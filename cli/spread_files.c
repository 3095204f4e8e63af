#include "cli/spread_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/hash.h"
#include "debuginfo/dwarf_supplement.h"

#define ID_SIZE_MAX 64

/* -1: there is no regular file of that name. */
static int open_regular(const char *path) {
    CLEANUP(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode))
        return -1;
    return TAKE_FD(fd);
}

/* FOLDER/NAME, or NAME alone if it is absolute. -1 also when the path would be too long. */
static int open_in(struct span folder, struct span name) {
    char path[PATH_MAX];
    if (name.size == 0 || folder.size + name.size + 2 > sizeof(path) ||
        memchr(name.data, '\0', name.size))
        return -1;
    if (name.data[0] == '/' || folder.size == 0)
        snprintf(path, sizeof(path), "%.*s", (int)name.size, name.data);
    else
        snprintf(path, sizeof(path), "%.*s/%.*s", (int)folder.size, folder.data, (int)name.size,
                 name.data);
    return open_regular(path);
}

/* --- .dwo files --------------------------------------------------------------------------------
 */

static struct span last_part(struct span name) {
    const char *slash = memrchr(name.data, '/', name.size);
    if (!slash)
        return name;
    return span_of(slash + 1, name.size - (size_t)(slash + 1 - name.data));
}

static enum err find_dwo(struct dwarf_dwo_finder *finder, struct span comp_dir,
                         struct span dwo_name, struct elf_file **ret_file, struct error *error) {
    struct spread_files *files = (struct spread_files *)finder;
    CLEANUP(cleanup_fd) int fd = open_in(comp_dir, dwo_name);
    if (fd < 0 && dwo_name.data[0] != '/')
        fd = open_in(span_cstr(files->folder), dwo_name);
    if (fd < 0)
        fd = open_in(span_cstr(files->folder), last_part(dwo_name));
    if (fd < 0)
        return ERR_OK;
    enum err err = elf_file_open_fd(fd, NULL, ret_file, error);
    if (err)
        error_prefix(error, "%.*s", (int)(dwo_name.size < 200 ? dwo_name.size : 200),
                     dwo_name.data);
    return err;
}

/* --- the package and the supplementary file ----------------------------------------------------
 */

static int find_package(const char *path) {
    char name[PATH_MAX];
    int size = snprintf(name, sizeof(name), "%s.dwp", path);
    return size > 0 && (size_t)size < sizeof(name) ? open_regular(name) : -1;
}

static int find_by_build_id(const struct debug_folders *folders, struct span id) {
    char text[2 * ID_SIZE_MAX + 1];
    char path[PATH_MAX];
    if (id.size < 2 || id.size > ID_SIZE_MAX)
        return -1;
    hex_encode(id, text);
    for (size_t i = 0; i < folders->count; i++) {
        int size = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", folders->paths[i],
                            text, text + 2);
        int fd = size > 0 && (size_t)size < sizeof(path) ? open_regular(path) : -1;
        if (fd >= 0)
            return fd;
    }
    return -1;
}

static int find_supplement(const struct spread_files *files, int fd,
                           const struct debug_folders *folders) {
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct dwarf_supplement_link link;
    struct error ignored;
    if (elf_file_open_fd(fd, NULL, &file, &ignored) || !dwarf_supplement_link_read(file, &link))
        return -1;
    int found = open_in(span_cstr(files->folder), link.path);
    return found >= 0 ? found : find_by_build_id(folders, link.id);
}

void spread_files_find(struct spread_files *files, const char *path, int fd, const char *executable,
                       const struct debug_folders *folders) {
    *files = (struct spread_files){.dwo_finder = {find_dwo}};
    if (realpath(path, files->folder))
        *strrchr(files->folder, '/') = '\0';
    files->package_fd = find_package(path);
    if (files->package_fd < 0 && executable)
        files->package_fd = find_package(executable);
    files->supplement_fd = find_supplement(files, fd, folders);
}

void spread_files_clear(struct spread_files *files) {
    files->package_fd = fd_close(files->package_fd);
    files->supplement_fd = fd_close(files->supplement_fd);
}
