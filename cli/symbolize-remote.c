/*
 * The network part of `symbolize`, a program of its own so that the offline one loads no network
 * library.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command_admin.h"
#include "cli/command_query.h"
#include "cli/command_upload.h"

static const char help[] =
    "Usage: symbolize upload [OPTION]... FILE|FOLDER...\n"
    "       symbolize query [OPTION]... BUILD_ID [ADDRESS]...\n"
    "       symbolize admin list|missing|show|delete [OPTION]... [BUILD_ID]...\n"
    "\n"
    "`symbolize COMMAND --help` tells more.\n";

int main(int argument_count, char **arguments) {
    const char *command = argument_count > 1 ? arguments[1] : "";
    if (strcmp(command, "upload") == 0)
        return command_upload(argument_count - 1, arguments + 1);
    if (strcmp(command, "query") == 0)
        return command_query(argument_count - 1, arguments + 1);
    if (strcmp(command, "admin") == 0)
        return command_admin(argument_count - 1, arguments + 1);
    if (strcmp(command, "--help") == 0) {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    fputs("symbolize-remote: want upload, query or admin; see symbolize --help\n", stderr);
    return EXIT_BAD_USAGE;
}
