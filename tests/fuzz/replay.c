/*
 * Runs a fuzz target over the files it is given, and over the files in the folders it is given, so
 * that every corpus is also a plain test. "-" is standard input with many inputs, each behind its
 * size (32 bits, little-endian): tests that make thousands need no file for each. Built by the rule
 * for $(BUILD)/fuzz/.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The present input of standard input, for who looks for the one that failed. */
static volatile sig_atomic_t input_number;

/* In a signal handler, where printf is not safe. */
static void tell_input(int signal_number) {
    char text[] = "at input ########## of standard input\n";
    char *digit = text + sizeof("at input ##########") - 2;
    for (int left = input_number; *digit == '#'; left /= 10)
        *digit-- = (char)('0' + left % 10);
    ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)ignored;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* A copy of exactly the input's size lets a sanitizer see a read past its end. */
static int run_packed(uint32_t size) {
    CLEANUP(cleanup_free) uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes || fread(bytes, 1, size, stdin) != size) {
        fprintf(stderr, "standard input ends inside input %d\n", (int)input_number);
        return -1;
    }
    LLVMFuzzerTestOneInput(bytes, size);
    return 1;
}

static int run_stdin(void) {
    uint8_t size[4];
    signal(SIGABRT, tell_input);
    for (;;) {
        size_t got = fread(size, 1, sizeof(size), stdin);
        if (got == 0)
            return input_number;
        uint32_t number = size[0] | (uint32_t)size[1] << 8 | (uint32_t)size[2] << 16 |
                          (uint32_t)size[3] << 24;
        if (got != sizeof(size) || run_packed(number) < 0)
            return -1;
        input_number++;
    }
}

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

static int run_argument(const char *path) {
    if (strcmp(path, "-") == 0)
        return run_stdin();
    DIR *folder = opendir(path);
    if (!folder)
        return run_file(path);
    int ran = run_folder(path, folder);
    closedir(folder);
    return ran;
}

int main(int argument_count, char **arguments) {
    int count = 0;
    for (int i = 1; i < argument_count; i++) {
        int ran = run_argument(arguments[i]);
        if (ran < 0)
            return 1;
        count += ran;
    }
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
