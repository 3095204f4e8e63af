#include "cache/digest_files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define FOLDER_COUNT 256
#define FOLDER_DIGITS 2
#define NAME_DIGITS (2 * DIGEST_SIZE - FOLDER_DIGITS)
#define SUFFIX_MAX 32

static enum err open_existing(int parent, const char *name, int *ret_fd, struct error *error) {
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(error, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno,
                               "cannot open directory %s", name);
    *ret_fd = fd;
    return ERR_OK;
}

static enum err sync_folder(int fd, const char *name, struct error *error) {
    if (fsync(fd) < 0)
        return error_set_errno(error, err_of_errno(errno), errno, "cannot sync directory %s", name);
    return ERR_OK;
}

enum err digest_files_open_folder(int parent, const char *name, int *ret_fd, struct error *error) {
    enum err err = fd_make_directory(parent, name, error);
    return err == ERR_OK ? open_existing(parent, name, ret_fd, error) : err;
}

enum err digest_files_open_root(int parent, const char *name, int *ret_fd, struct error *error) {
    CLEANUP(cleanup_fd) int root = -1;
    enum err err = digest_files_open_folder(parent, name, &root, error);
    if (err == ERR_OK)
        err = sync_folder(parent, "of the data", error);
    if (err == ERR_OK)
        *ret_fd = TAKE_FD(root);
    return err;
}

struct digest_place digest_place_of(const struct digest *digest, const char *suffix) {
    assert(strlen(suffix) <= SUFFIX_MAX);
    char hex[DIGEST_HEX_SIZE];
    digest_to_hex(digest, hex);
    struct digest_place place = {0};
    memcpy(place.folder, hex, FOLDER_DIGITS);
    snprintf(place.name, sizeof(place.name), "%s%s", hex + FOLDER_DIGITS, suffix);
    snprintf(place.path, sizeof(place.path), "%s/%s", place.folder, place.name);
    return place;
}

/* A digest from folder and name; ret_suffix is inside name. False when they are no such names. */
static bool parse_place(const char *folder, const char *name, struct digest *ret_digest,
                        const char **ret_suffix) {
    char hex[DIGEST_HEX_SIZE] = {0};
    if (strlen(folder) != FOLDER_DIGITS || strlen(name) < NAME_DIGITS)
        return false;
    memcpy(hex, folder, FOLDER_DIGITS);
    memcpy(hex + FOLDER_DIGITS, name, NAME_DIGITS);
    if (!digest_from_hex(span_cstr(hex), ret_digest))
        return false;
    *ret_suffix = name + NAME_DIGITS;
    return true;
}

enum err digest_files_sync(int root, const struct digest_place *place, struct error *error) {
    CLEANUP(cleanup_fd) int folder = -1;
    enum err err = open_existing(root, place->folder, &folder, error);
    if (err == ERR_OK)
        err = sync_folder(folder, place->folder, error);
    return err == ERR_OK ? sync_folder(root, "of the folders", error) : err;
}

static void close_directory(DIR **directory) {
    if (*directory)
        closedir(*directory);
}

enum err directory_visit(int directory, const char *name, directory_visitor *visitor,
                         void *argument, struct error *error) {
    CLEANUP(cleanup_fd) int fd = -1;
    enum err err = open_existing(directory, name, &fd, error);
    if (err != ERR_OK)
        return err;
    CLEANUP(close_directory) DIR *entries = fdopendir(fd);
    if (!entries)
        return error_set_errno(error, ERR_IO, errno, "cannot list directory %s", name);
    int listed = TAKE_FD(fd);
    struct dirent *entry;
    while ((errno = 0, entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        err = visitor(argument, listed, entry->d_name, error);
        if (err != ERR_OK)
            return err;
    }
    if (errno != 0)
        return error_set_errno(error, ERR_IO, errno, "cannot list directory %s", name);
    return ERR_OK;
}

struct folder_visit {
    const char *folder;
    digest_file_visitor *visitor;
    void *argument;
};

/* A file may go while the folder is listed. */
static enum err visit_name(void *argument, int directory, const char *name, struct error *error) {
    const struct folder_visit *visit = argument;
    struct digest_file file = {.directory = directory, .name = name};
    if (!parse_place(visit->folder, name, &file.digest, &file.suffix))
        return ERR_OK;
    if (fstatat(directory, name, &file.status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? ERR_OK
                               : error_set_errno(error, ERR_IO, errno, "cannot stat %s/%s",
                                                 visit->folder, name);
    return S_ISREG(file.status.st_mode) ? visit->visitor(visit->argument, &file, error) : ERR_OK;
}

enum err digest_files_visit(int root, digest_file_visitor *visitor, void *argument,
                            struct error *error) {
    for (unsigned i = 0; i < FOLDER_COUNT; i++) {
        char folder[FOLDER_DIGITS + 1];
        snprintf(folder, sizeof(folder), "%02x", i & 0xffu);
        struct folder_visit visit = {folder, visitor, argument};
        enum err err = directory_visit(root, folder, visit_name, &visit, error);
        if (err != ERR_OK && err != ERR_NOT_FOUND)
            return err;
    }
    return ERR_OK;
}

static enum err remove_entry(void *argument, int directory, const char *name, struct error *error) {
    uint64_t *removed = argument;
    if (unlinkat(directory, name, 0) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot remove temporary file %s", name);
    ++*removed;
    return ERR_OK;
}

enum err digest_files_sweep(int directory, uint64_t *ret_removed, struct error *error) {
    uint64_t removed = 0;
    enum err err = directory_visit(directory, ".", remove_entry, &removed, error);
    if (err == ERR_OK)
        *ret_removed = removed;
    return err;
}

enum err temp_file_open(int directory, struct temp_file *ret_file, int *ret_fd,
                        struct error *error) {
    struct temp_file file = {.directory = directory};
    uint8_t random[(sizeof(file.name) - 1) / 2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return error_set_errno(error, ERR_IO, errno, "no random bytes for a name");
    hex_encode(span_of(random, sizeof(random)), file.name);
    int fd = openat(directory, file.name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(error, err_of_errno(errno), errno, "cannot make a temporary file");
    *ret_file = file;
    *ret_fd = fd;
    return ERR_OK;
}

enum err temp_file_move(struct temp_file *file, int root, const struct digest_place *place,
                        struct error *error) {
    int failure = renameat(file->directory, file->name, root, place->path);
    if (failure < 0 && errno == ENOENT) {
        enum err err = fd_make_directory(root, place->folder, error);
        if (err != ERR_OK)
            return err;
        failure = renameat(file->directory, file->name, root, place->path);
    }
    if (failure < 0)
        return error_set_errno(error, err_of_errno(errno), errno, "cannot rename a file to %s",
                               place->path);
    file->name[0] = '\0';
    return ERR_OK;
}

void temp_file_remove(struct temp_file *file) {
    if (file->name[0] != '\0')
        unlinkat(file->directory, file->name, 0);
    file->name[0] = '\0';
}
