/*
 * Files named by a digest, spread over 256 folders, and the temporary files that become them:
 * <root>/<2 hex>/<62 hex><suffix>. What the blob store and the index cache have in common.
 *
 * Threads: any; a temporary file belongs to one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/hash.h"

/* Opens parent/name, which is made when missing. */
enum err digest_files_open_folder(int parent, const char *name, int *ret_fd, struct error *error);

/* The same, with its name made durable. Folders inside come with the first file in each. */
enum err digest_files_open_root(int parent, const char *name, int *ret_fd, struct error *error);

/* Where a digest lives below the root: path = "folder/name". */
struct digest_place {
    char folder[3];
    char name[96];
    char path[100];
};

/* The suffix is at most 32 characters. */
struct digest_place digest_place_of(const struct digest *digest, const char *suffix);

/* fsync of root/folder and of root, in which another thread may have made the folder just now. */
enum err digest_files_sync(int root, const struct digest_place *place, struct error *error);

/* Calls the visitor with each name in a directory but "." and "..". Stops at the first error.
 * ERR_NOT_FOUND: there is no such directory. */
typedef enum err directory_visitor(void *argument, int directory, const char *name,
                                   struct error *error);
enum err directory_visit(int directory, const char *name, directory_visitor *visitor,
                         void *argument, struct error *error);

/* A file below a root whose name begins with a digest. */
struct digest_file {
    struct digest digest;
    const char *suffix; /* what follows the digits */
    int directory;      /* that it is in */
    const char *name;   /* there */
    struct stat status;
};

/* Calls the visitor with each regular file below root that has such a name, folder by folder; what
 * is not ours is passed over. Stops at the first error. */
typedef enum err digest_file_visitor(void *argument, const struct digest_file *file,
                                     struct error *error);
enum err digest_files_visit(int root, digest_file_visitor *visitor, void *argument,
                            struct error *error);

/* Removes all files in a directory. */
enum err digest_files_sweep(int directory, uint64_t *ret_removed, struct error *error);

/* Zero is a file that is not there; `directory` is borrowed. */
struct temp_file {
    int directory;
    char name[33]; /* random; empty once moved or removed */
};

/* Makes one, open for reading and writing. ERR_NO_SPACE when the disk is full. */
enum err temp_file_open(int directory, struct temp_file *ret_file, int *ret_fd,
                        struct error *error);

/* Moves it to its place below root, replacing what is there; the folder is made when missing. The
 * bytes must have been synced; the folder is not, see digest_files_sync. */
enum err temp_file_move(struct temp_file *file, int root, const struct digest_place *place,
                        struct error *error);
void temp_file_remove(struct temp_file *file);
