/*
 * File descriptors: whole reads and writes, mapping, and publishing a file so that it survives a
 * power cut (write to a temporary name, fsync, rename, fsync of the directory).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/span.h"

/* Closes unless negative; keeps errno. Returns -1, so that `fd = fd_close(fd)` forgets it. */
int fd_close(int fd);

static inline void cleanup_fd(int *fd) {
    fd_close(*fd);
}

/* All bytes, or ERR_NO_SPACE or ERR_IO. Interrupted and short writes are continued. */
enum err fd_write_all(int fd, const void *bytes, size_t size, struct error *error);

/* Up to `size` bytes; fewer only at the end of the file. */
enum err fd_read_full(int fd, void *bytes, size_t size, size_t *ret_size, struct error *error);

/* A read-only private mapping of a whole regular file. An empty file maps to {NULL, 0}.
 * The fd may be closed afterwards. End it with fd_unmap. */
enum err fd_map(int fd, struct span *ret_bytes, struct error *error);
void fd_unmap(struct span bytes);

/* mkdir -p of one level: an existing directory is fine. */
enum err fd_make_directory(int directory, const char *name, struct error *error);

/* Moves from_directory/from to to_directory/to and syncs both directories. The file must have
 * been fsynced before. An existing target is replaced. */
enum err fd_publish(int from_directory, const char *from, int to_directory, const char *to,
                    struct error *error);
