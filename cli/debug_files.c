#include "cli/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "debuginfo/debug_link.h"
#include "debuginfo/identity.h"

/* What is looked for, and why nothing was taken so far. */
struct search {
    const struct debug_folders *folders;
    struct stat own; /* of the file itself */
    bool has_id;
    struct binary_id id;
    bool has_link;
    struct debug_link link;
    bool has_folder;
    char folder[PATH_MAX]; /* where the file itself lies, without a slash behind */
    struct error *reason;
};

struct found {
    int fd;
    char *path;
};

static bool has_dwarf(const struct elf_file *file) {
    const struct elf_section *section = elf_file_section_by_name(file, ".debug_info");
    return section && section->type != SHT_NOBITS && section->size > 0;
}

/* The folder of the file's true path: links are looked up where it is installed. */
static bool find_folder(const char *path, char folder[static PATH_MAX]) {
    if (!realpath(path, folder))
        return false;
    *strrchr(folder, '/') = '\0';
    return true;
}

static enum err read_file(const char *path, int fd, struct search *search, struct error *error) {
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct elf_identity identity;
    struct error ignored;
    enum err err = elf_file_open_fd(fd, NULL, &file, error);
    if (err)
        return err;
    if (has_dwarf(file))
        return error_set(error, ERR_NOT_FOUND, "the file has debug data of its own");
    if (fstat(fd, &search->own))
        return error_set_errno(error, ERR_IO, errno, "%s", path);
    elf_identity_read(file, &identity);
    search->has_id = identity.has_gnu;
    search->id = identity.gnu;
    search->has_link = debug_link_read(file, &search->link, &ignored) == ERR_OK;
    search->has_folder = find_folder(path, search->folder);
    return ERR_OK;
}

/* --- what fits -----------------------------------------------------------------------------------
 */

static bool id_fits(const struct search *search, int fd) {
    CLEANUP(cleanup_elf_file) struct elf_file *file = NULL;
    struct elf_identity identity;
    struct error ignored;
    if (elf_file_open_fd(fd, NULL, &file, &ignored))
        return false;
    elf_identity_read(file, &identity);
    return identity.has_gnu && binary_id_equal(&identity.gnu, &search->id);
}

static bool crc_fits(const struct search *search, int fd) {
    struct span bytes;
    struct error ignored;
    if (fd_map(fd, &bytes, &ignored))
        return false;
    bool fits = debug_link_crc(bytes) == search->link.crc;
    fd_unmap(bytes);
    return fits;
}

/* Opens a candidate and takes it if it is another regular file that fits. */
static bool try_path(struct search *search, const char *path,
                     bool (*fits)(const struct search *search, int fd), struct found *ret_found) {
    CLEANUP(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode))
        return false;
    if (status.st_dev == search->own.st_dev && status.st_ino == search->own.st_ino)
        return false;
    if (!fits(search, fd)) {
        error_set(search->reason, ERR_NOT_FOUND, "%s belongs to another build", path);
        return false;
    }
    char *copy = strdup(path);
    if (!copy)
        return false;
    *ret_found = (struct found){TAKE_FD(fd), copy};
    return true;
}

/* --- where to look -------------------------------------------------------------------------------
 */

static bool try_build_id(struct search *search, const char *folder, struct found *ret_found) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", folder, search->id.text,
                        search->id.text + 2);
    return size > 0 && (size_t)size < sizeof(path) && try_path(search, path, id_fits, ret_found);
}

static bool try_link(struct search *search, const char *folder, const char *below,
                     struct found *ret_found) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s%s/%s", folder, below, search->link.name);
    return size > 0 && (size_t)size < sizeof(path) && try_path(search, path, crc_fits, ret_found);
}

static bool look(struct search *search, struct found *ret_found) {
    const struct debug_folders *folders = search->folders;
    for (size_t i = 0; search->has_id && i < folders->count; i++)
        if (try_build_id(search, folders->paths[i], ret_found))
            return true;
    if (!search->has_link || !search->has_folder)
        return false;
    if (try_link(search, search->folder, "", ret_found) ||
        try_link(search, search->folder, "/.debug", ret_found))
        return true;
    for (size_t i = 0; i < folders->count; i++)
        if (try_link(search, folders->paths[i], search->folder, ret_found))
            return true;
    return false;
}

enum err debug_file_find(const struct debug_folders *folders, const char *path, int fd, int *ret_fd,
                         char **ret_path, struct error *error) {
    struct search search = {.folders = folders, .reason = error};
    struct found found;
    enum err err = read_file(path, fd, &search, error);
    if (err)
        return err;
    error_set(error, ERR_NOT_FOUND, "no debug file");
    if (!look(&search, &found))
        return error->code;
    *ret_fd = found.fd;
    *ret_path = found.path;
    return ERR_OK;
}

enum err debug_file_find_id(const struct debug_folders *folders, struct span id, int *ret_fd,
                            char **ret_path, struct error *error) {
    struct search search = {.folders = folders, .has_id = true, .reason = error};
    struct found found;
    enum err err = binary_id_parse(BINARY_ID_GNU, id, &search.id, error);
    if (err)
        return err;
    error_set(error, ERR_NOT_FOUND, "could not find build ID");
    if (!look(&search, &found))
        return error->code;
    *ret_fd = found.fd;
    *ret_path = found.path;
    return ERR_OK;
}
