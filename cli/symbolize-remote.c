/*
 * The network part of `symbolize`, a program of its own so that the offline one loads no network
 * library.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/remote_upload.h"

#define SERVER_DEFAULT "http://127.0.0.1:7070"

enum { EXIT_DONE = 0, EXIT_SOME_FAILED = 1, EXIT_USAGE = 2 };
enum { FLAG_SERVER = 256, FLAG_TYPE, FLAG_FORCE, FLAG_HELP };

static const struct option flags[] = {
    {"server", required_argument, NULL, FLAG_SERVER},
    {"type", required_argument, NULL, FLAG_TYPE},
    {"force", no_argument, NULL, FLAG_FORCE},
    {"help", no_argument, NULL, FLAG_HELP},
    {NULL, 0, NULL, 0},
};

static void show_help(FILE *out) {
    fputs(
        "Usage: symbolize upload [OPTION]... FILE...\n"
        "\n"
        "Sends binaries to a server, named by their GNU build ID, or by their htlhash where they\n"
        "have none. Prints one line per file: what became of it, and why.\n"
        "\n"
        "  --server URL   its gRPC address (default: " SERVER_DEFAULT ")\n"
        "  --type TYPE    debuginfo or executable (default: debuginfo)\n"
        "  --force        send it again although the server has it\n"
        "  --help         print this and exit\n"
        "\n"
        "Exit status: 0 when the server has all files now, 1 when some failed, 2 when the\n"
        "command line is wrong.\n",
        out);
}

static int complain(const char *what, const char *word) {
    fprintf(stderr, "symbolize upload: %s%s; see symbolize upload --help\n", what, word);
    return EXIT_USAGE;
}

static bool parse_type(const char *text, enum remote_type *ret_type) {
    bool executable = strcmp(text, "executable") == 0;
    *ret_type = executable ? REMOTE_EXECUTABLE : REMOTE_DEBUGINFO;
    return executable || strcmp(text, "debuginfo") == 0;
}

static void print_result(const char *path, const struct remote_result *result) {
    const char *kind = binary_id_kind_name(result->id.kind);
    printf("%s: ", path);
    if (result->outcome == REMOTE_UPLOADED)
        printf("uploaded, %" PRIu64 " bytes", result->size);
    else
        printf("%s", result->outcome == REMOTE_ALREADY_THERE ? "already there" : "failed");
    if (kind)
        printf(", %s %s", kind, result->id.text);
    if (result->text[0] != '\0')
        printf(": %s", result->text);
    putchar('\n');
    fflush(stdout);
}

static int upload(int argc, char **argv) {
    struct remote_options options = {.server_url = SERVER_DEFAULT};
    opterr = 0;
    for (int flag = 0; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        if (flag == FLAG_HELP) {
            show_help(stdout);
            return EXIT_DONE;
        }
        if (flag == FLAG_SERVER)
            options.server_url = optarg;
        else if (flag == FLAG_FORCE)
            options.force = true;
        else if (flag != FLAG_TYPE)
            return complain("cannot use ", argv[optind - 1]);
        else if (!parse_type(optarg, &options.type))
            return complain("not a type: ", optarg);
    }
    if (optind == argc)
        return complain("no file given", "");
    int status = EXIT_DONE;
    for (int i = optind; i < argc; i++) {
        struct remote_result result;
        remote_upload(&options, argv[i], &result);
        print_result(argv[i], &result);
        if (result.outcome == REMOTE_FAILED)
            status = EXIT_SOME_FAILED;
    }
    return status;
}

int main(int argc, char **argv) {
    if (argc >= 2 && strcmp(argv[1], "upload") == 0)
        return upload(argc - 1, argv + 1);
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        show_help(stdout);
        return EXIT_DONE;
    }
    return complain("want `upload`", "");
}
