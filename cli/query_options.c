#include "cli/query_options.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/remote_flags.h"

#define SERVER_DEFAULT "http://127.0.0.1:7080"
#define RETRIES_DEFAULT 3
#define TIMEOUT_DEFAULT_S 120

const char query_help[] =
    "Usage: symbolize query [OPTION]... BUILD_ID [ADDRESS]...\n"
    "\n"
    "Asks a server which functions, files and lines lie at addresses of a binary that it knows.\n"
    "Without addresses, standard input is read line by line.\n"
    "\n"
    "  --server URL              its HTTP address (default: " SERVER_DEFAULT ")\n"
    "  --build-id-kind KIND      gnu (the default), go, htlhash or uuid\n"
    "  --wait SECONDS            waits so long for an index that is being made (default: 0)\n"
    "  --retries N               tries again when the server is not there or overloaded, after\n"
    "                            pauses of up to 30 s (default: 3)\n"
    "  --timeout SECONDS         for one request, with all pauses (default: 120)\n"
    "  --bearer-token-file FILE  a token to send, as `Authorization: Bearer`; without this option\n"
    "                            the variable " REMOTE_TOKEN_VARIABLE " is used if it is set\n"
    "  --header NAME=VALUE       a header to send with each request; may be given many "
    "times\n" REMOTE_TLS_HELP "\n"
    "Addresses and answers have the shapes of `symbolize -e`, with its options: --output-style,\n"
    "-f, -i, -C, -a, -p, -s, --verbose, --adjust-vma; see symbolize --help.\n"
    "\n"
    "Exit status: 0 when all was answered (also that an address is not known), 1 when something\n"
    "was not, 2 when the command line is wrong, 3 when later may do (the server is not there or\n"
    "is busy, or the index is being made).\n";

static enum err read_shape(struct query_options *options, int count, const char *id_kind,
                           struct error *error) {
    enum binary_id_kind kind = BINARY_ID_GNU;
    enum err err = options_parse(count, options->kept, &options->shape, error);
    if (err)
        return err;
    options->wants_help = options->shape.action == OPTIONS_HELP;
    if (options->wants_help)
        return ERR_OK;
    if (options->shape.object || options->shape.debug_file || options->shape.package ||
        options->shape.build_id || options->shape.section || options->shape.folder_count > 0)
        return error_set(error, ERR_INVALID, "a query is about a build ID, not about a file");
    if (options->shape.relative_names)
        return error_set(error, ERR_INVALID,
                         "--relativenames: a server does not know what paths are relative to");
    if (id_kind && !binary_id_kind_from_name(span_cstr(id_kind), &kind))
        return error_set(error, ERR_INVALID, "not a kind of build ID: %.100s", id_kind);
    if (options->shape.input_count == 0)
        return error_set(error, ERR_INVALID, "no build ID given");
    err = binary_id_parse(kind, span_cstr(options->shape.inputs[0]), &options->id, error);
    if (err)
        return error_prefix(error, "the build ID");
    options->shape.inputs++;
    options->shape.input_count--;
    return ERR_OK;
}

enum err query_options_parse(int argument_count, char **arguments, struct query_options *options,
                             struct error *error) {
    *options = (struct query_options){.access = {.server_url = SERVER_DEFAULT}};
    struct remote_flags flags = {
        .access = &options->access, .retries = RETRIES_DEFAULT, .timeout_s = TIMEOUT_DEFAULT_S};
    int count;
    options->kept = calloc((size_t)argument_count + 1, sizeof(char *));
    if (!options->kept)
        return error_set(error, ERR_NO_MEMORY, "no memory for the command line");
    enum err err =
        remote_flags_take(argument_count, arguments, &flags, options->kept, &count, error);
    options->retries = (unsigned)flags.retries;
    options->timeout_ms = flags.timeout_s * 1000;
    options->wait_ms = flags.wait_s * 1000;
    return err ? err : read_shape(options, count, flags.id_kind, error);
}

void query_options_clear(struct query_options *options) {
    remote_access_clear(&options->access);
    free(options->kept);
    options->kept = NULL;
}
