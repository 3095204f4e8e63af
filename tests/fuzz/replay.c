/*
 * Runs a fuzz target over the files it is given, and over the files in the folders it is given, so
 * that every corpus is also a plain test. Built by the rule for $(BUILD)/fuzz/.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path) {
    CLEANUP(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        perror(path);
        return -1;
    }
    /* A copy of exactly the file's size lets a sanitizer see a read past its end. */
    CLEANUP(cleanup_free) uint8_t *bytes = malloc(status.st_size ? (size_t)status.st_size : 1);
    size_t size = 0;
    struct error error;
    if (!bytes || fd_read_full(fd, bytes, (size_t)status.st_size, &size, &error) != ERR_OK) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return -1;
    }
    LLVMFuzzerTestOneInput(bytes, size);
    return 1;
}

static int run_folder(const char *path, DIR *folder) {
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char *file = NULL;
        if (entry->d_name[0] == '.')
            continue;
        if (asprintf(&file, "%s/%s", path, entry->d_name) < 0)
            return -1;
        int ran = run_file(file);
        free(file);
        if (ran < 0)
            return -1;
        count += ran;
    }
    return count;
}

int main(int argument_count, char **arguments) {
    int count = 0;
    for (int i = 1; i < argument_count; i++) {
        DIR *folder = opendir(arguments[i]);
        int ran = folder ? run_folder(arguments[i], folder) : run_file(arguments[i]);
        if (folder)
            closedir(folder);
        if (ran < 0)
            return 1;
        count += ran;
    }
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
