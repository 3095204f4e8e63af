#include "api/upload_key.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define KEY_NAME "upload.key"
#define KEY_TEMPORARY KEY_NAME ".new"

static enum err read_key(int fd, struct upload_key *ret_key, struct error *error) {
    struct stat status;
    if (fstat(fd, &status) != 0)
        return error_set_errno(error, ERR_IO, errno, "cannot look at " KEY_NAME);
    if (!S_ISREG(status.st_mode) || status.st_size != UPLOAD_KEY_SIZE)
        return error_set(error, ERR_MALFORMED,
                         KEY_NAME " is not a file of %d bytes; remove it to get a new key",
                         UPLOAD_KEY_SIZE);
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return error_set(error, ERR_INVALID,
                         KEY_NAME " has mode %04o: others may not read it, want 0600",
                         status.st_mode & 07777u);
    struct upload_key key;
    size_t size = 0;
    enum err err = fd_read_full(fd, key.bytes, sizeof(key.bytes), &size, error);
    if (err == ERR_OK && size != sizeof(key.bytes))
        err = error_set(error, ERR_IO, KEY_NAME " got shorter while it was read");
    if (err == ERR_OK)
        *ret_key = key;
    return err;
}

/* By rename, so that a start that is cut off leaves no half a key. */
static enum err make_key(int directory, struct upload_key *ret_key, struct error *error) {
    struct upload_key key;
    if (getrandom(key.bytes, sizeof(key.bytes), 0) != (ssize_t)sizeof(key.bytes))
        return error_set_errno(error, ERR_IO, errno, "no random bytes for " KEY_NAME);
    unlinkat(directory, KEY_TEMPORARY, 0);
    CLEANUP(cleanup_fd)
    int fd = openat(directory, KEY_TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    if (fd < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot make " KEY_NAME);
    enum err err = fd_write_all(fd, key.bytes, sizeof(key.bytes), error);
    if (err == ERR_OK && fsync(fd) != 0)
        err = error_set_errno(error, ERR_IO, errno, "cannot sync " KEY_NAME);
    if (err == ERR_OK)
        err = fd_publish(directory, KEY_TEMPORARY, directory, KEY_NAME, error);
    if (err == ERR_OK)
        *ret_key = key;
    return err;
}

enum err upload_key_open(int directory, struct upload_key *ret_key, struct error *error) {
    CLEANUP(cleanup_fd) int fd = openat(directory, KEY_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        return read_key(fd, ret_key, error);
    if (errno != ENOENT)
        return error_set_errno(error, ERR_IO, errno, "cannot open " KEY_NAME);
    return make_key(directory, ret_key, error);
}
