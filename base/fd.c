#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int fd_close(int fd) {
    if (fd >= 0) {
        int saved = errno;
        close(fd);
        errno = saved;
    }
    return -1;
}

enum err fd_write_all(int fd, const void *bytes, size_t size, struct error *error) {
    const char *next = bytes;
    while (size > 0) {
        ssize_t written = write(fd, next, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return error_set_errno(error, err_of_errno(errno), errno, "cannot write %zu bytes",
                                   size);
        next += written;
        size -= (size_t)written;
    }
    return ERR_OK;
}

enum err fd_read_full(int fd, void *bytes, size_t size, size_t *ret_size, struct error *error) {
    size_t done = 0;
    while (done < size) {
        ssize_t count = read(fd, (char *)bytes + done, size - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return error_set_errno(error, ERR_IO, errno, "cannot read");
        if (count == 0)
            break;
        done += (size_t)count;
    }
    *ret_size = done;
    return ERR_OK;
}

enum err fd_map(int fd, struct span *ret_bytes, struct error *error) {
    struct stat status;
    if (fstat(fd, &status) < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot stat");
    if (!S_ISREG(status.st_mode))
        return error_set(error, ERR_INVALID, "not a regular file");
    if (status.st_size == 0) {
        *ret_bytes = (struct span){NULL, 0};
        return ERR_OK;
    }
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return error_set_errno(error, ERR_IO, errno, "cannot map %lld bytes",
                               (long long)status.st_size);
    *ret_bytes = span_of(bytes, (size_t)status.st_size);
    return ERR_OK;
}

void fd_unmap(struct span bytes) {
    if (bytes.data)
        munmap((void *)bytes.data, bytes.size);
}

enum err fd_make_directory(int directory, const char *name, struct error *error) {
    if (mkdirat(directory, name, 0700) < 0 && errno != EEXIST)
        return error_set_errno(error, err_of_errno(errno), errno, "cannot make directory %s", name);
    return ERR_OK;
}

enum err fd_publish(int from_directory, const char *from, int to_directory, const char *to,
                    struct error *error) {
    if (renameat(from_directory, from, to_directory, to) < 0)
        return error_set_errno(error, err_of_errno(errno), errno, "cannot rename %s to %s", from,
                               to);
    if (fsync(to_directory) < 0 || fsync(from_directory) < 0)
        return error_set_errno(error, err_of_errno(errno), errno, "cannot sync the directory of %s",
                               to);
    return ERR_OK;
}
