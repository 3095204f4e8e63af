#include "cli/command_remote.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/command_addresses.h"

static const char program[] = "symbolize-remote";

bool command_is_remote(const char *name) {
    static const char *const names[] = {"upload", "query", "admin"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* The path of the program beside the running one; false if it cannot be told. */
static bool path_of_program(char *ret_path, size_t size) {
    ssize_t length = readlink("/proc/self/exe", ret_path, size);
    if (length <= 0 || (size_t)length >= size)
        return false;
    ret_path[length] = '\0';
    char *name = strrchr(ret_path, '/');
    if (!name || (size_t)(name + 1 - ret_path) + sizeof(program) > size)
        return false;
    memcpy(name + 1, program, sizeof(program));
    return true;
}

int command_remote(char **arguments) {
    char path[PATH_MAX];
    if (!path_of_program(path, sizeof(path))) {
        fputs("symbolize: cannot tell where this program lies\n", stderr);
        return EXIT_SOMETHING_UNREAD;
    }
    size_t count = 0;
    while (arguments[count])
        count++;
    CLEANUP(cleanup_free) char **passed = calloc(count + 2, sizeof(*passed));
    if (!passed) {
        fputs("symbolize: out of memory\n", stderr);
        return EXIT_SOMETHING_UNREAD;
    }
    passed[0] = path;
    memcpy(passed + 1, arguments, count * sizeof(*passed));
    execv(path, passed);
    fprintf(stderr, "symbolize: %s: %s\n", path, strerrordesc_np(errno));
    return EXIT_SOMETHING_UNREAD;
}
