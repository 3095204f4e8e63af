#include "cli/upload_options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/remote_flags.h"

#define SERVER_DEFAULT "http://127.0.0.1:7070"
#define JOBS_DEFAULT 3
#define JOBS_MAX 64
#define RETRIES_DEFAULT 5
#define RETRIES_MAX 1000
#define TIMEOUT_DEFAULT_S 3600
#define TIMEOUT_MAX_S (7L * 24 * 3600)

const char upload_help[] =
    "Usage: symbolize upload [OPTION]... FILE|FOLDER...\n"
    "\n"
    "Sends binaries to a server of parca.debuginfo.v1alpha1.DebuginfoService, named by their GNU\n"
    "build ID, or by their htlhash where they have none. Of a folder, all ELF files in it and "
    "below\n"
    "it are sent; links are not followed. Of files with the same build ID, only the one with most\n"
    "symbols is sent. Prints one line per file: what became of it, and why.\n"
    "\n"
    "  --server URL              its gRPC address (default: " SERVER_DEFAULT ")\n"
    "  --type TYPE               debuginfo (the default), executable, sources or source_map\n"
    "  --build-id ID             the file's name for the server, instead of its own; needed for\n"
    "                            sources and source_map; one file only\n"
    "  --build-id-kind KIND      of --build-id: gnu (the default), go, htlhash, or uuid (the\n"
    "                            default for source_map)\n"
    "  --force                   send also what the server has\n"
    "  --jobs N                  files at a time (default: 3)\n"
    "  --retries N               tries again when the server is not there or overloaded, per "
    "file,\n"
    "                            after pauses of up to 30 s (default: 5)\n"
    "  --timeout SECONDS         for one file, with all pauses (default: 3600)\n"
    "  --bearer-token-file FILE  a token to send, as `authorization: Bearer`; without this option\n"
    "                            the variable " REMOTE_TOKEN_VARIABLE " is used if it is set\n"
    "  --header NAME=VALUE       metadata to send with each call; may be given many "
    "times\n" REMOTE_TLS_HELP
    "  --json                    one JSON object per file, and one with the sums\n"
    "  --help                    print this and exit\n"
    "\n"
    "On a terminal, standard error shows how far it is.\n"
    "\n"
    "Exit status: 0 when the server has all files now, 1 when some failed, 2 when the command\n"
    "line is wrong, 3 when some failed and all of these may work later (the server is not there\n"
    "or is busy, or another upload of the same file is in progress).\n";

enum {
    FLAG_SERVER = 256,
    FLAG_TYPE,
    FLAG_BUILD_ID,
    FLAG_BUILD_ID_KIND,
    FLAG_FORCE,
    FLAG_JOBS,
    FLAG_RETRIES,
    FLAG_TIMEOUT,
    FLAG_TOKEN_FILE,
    FLAG_HEADER,
    FLAG_AUTHORITIES,
    FLAG_CERTIFICATE,
    FLAG_KEY,
    FLAG_INSECURE,
    FLAG_JSON,
    FLAG_HELP
};

static const struct option flags[] = {
    {"server", required_argument, NULL, FLAG_SERVER},
    {"type", required_argument, NULL, FLAG_TYPE},
    {"build-id", required_argument, NULL, FLAG_BUILD_ID},
    {"build-id-kind", required_argument, NULL, FLAG_BUILD_ID_KIND},
    {"force", no_argument, NULL, FLAG_FORCE},
    {"jobs", required_argument, NULL, FLAG_JOBS},
    {"retries", required_argument, NULL, FLAG_RETRIES},
    {"timeout", required_argument, NULL, FLAG_TIMEOUT},
    {"bearer-token-file", required_argument, NULL, FLAG_TOKEN_FILE},
    {"header", required_argument, NULL, FLAG_HEADER},
    {"cacert", required_argument, NULL, FLAG_AUTHORITIES},
    {"cert", required_argument, NULL, FLAG_CERTIFICATE},
    {"key", required_argument, NULL, FLAG_KEY},
    {"insecure", no_argument, NULL, FLAG_INSECURE},
    {"json", no_argument, NULL, FLAG_JSON},
    {"help", no_argument, NULL, FLAG_HELP},
    {0},
};

/* Words that are understood only when all of them have been read. */
struct words {
    const char *build_id;
    const char *build_id_kind;
    long timeout_s;
};

static enum err parse_unsigned(const char *text, long min, long max, unsigned *ret_number,
                               struct error *error) {
    long number;
    enum err err = remote_number_parse(text, min, max, &number, error);
    if (err == ERR_OK)
        *ret_number = (unsigned)number;
    return err;
}

static enum err apply_valued(int flag, const char *value, struct upload_options *options,
                             struct words *words, struct error *error) {
    struct remote_options *remote = &options->remote;
    switch (flag) {
    case FLAG_TYPE:
        return remote_type_from_name(value, &remote->type)
                   ? ERR_OK
                   : error_set(error, ERR_INVALID, "not a type: %.100s", value);
    case FLAG_BUILD_ID:
        words->build_id = value;
        return ERR_OK;
    case FLAG_BUILD_ID_KIND:
        words->build_id_kind = value;
        return ERR_OK;
    case FLAG_JOBS:
        return parse_unsigned(value, 1, JOBS_MAX, &options->jobs, error);
    case FLAG_RETRIES:
        return parse_unsigned(value, 0, RETRIES_MAX, &remote->retries, error);
    case FLAG_TIMEOUT:
        return remote_number_parse(value, 1, TIMEOUT_MAX_S, &words->timeout_s, error);
    case FLAG_TOKEN_FILE:
        return remote_access_read_token(&remote->access, value, error);
    default:
        return remote_access_add_header(&remote->access, value, error);
    }
}

static enum err apply(int flag, const char *value, struct upload_options *options,
                      struct words *words, struct error *error) {
    switch (flag) {
    case FLAG_SERVER:
        options->remote.access.server_url = value;
        return ERR_OK;
    case FLAG_FORCE:
        options->remote.force = true;
        return ERR_OK;
    case FLAG_AUTHORITIES:
        options->remote.access.authorities = value;
        return ERR_OK;
    case FLAG_CERTIFICATE:
        options->remote.access.certificate = value;
        return ERR_OK;
    case FLAG_KEY:
        options->remote.access.key = value;
        return ERR_OK;
    case FLAG_INSECURE:
        options->remote.access.insecure = true;
        return ERR_OK;
    case FLAG_JSON:
        options->json = true;
        return ERR_OK;
    case FLAG_HELP:
        options->wants_help = true;
        return ERR_OK;
    default:
        return apply_valued(flag, value, options, words, error);
    }
}

static enum err settle_id(struct upload_options *options, const struct words *words,
                          struct error *error) {
    enum remote_type type = options->remote.type;
    enum binary_id_kind kind = type == REMOTE_SOURCE_MAP ? BINARY_ID_UUID : BINARY_ID_GNU;
    if (words->build_id_kind && !binary_id_kind_from_name(span_cstr(words->build_id_kind), &kind))
        return error_set(error, ERR_INVALID, "not a kind of build ID: %.100s",
                         words->build_id_kind);
    options->has_id = words->build_id != NULL;
    if (words->build_id_kind && !options->has_id)
        return error_set(error, ERR_INVALID, "--build-id-kind is of --build-id");
    if (!options->has_id && (type == REMOTE_SOURCES || type == REMOTE_SOURCE_MAP))
        return error_set(error, ERR_INVALID, "--type %s needs --build-id", remote_type_name(type));
    if (!options->has_id)
        return ERR_OK;
    if (options->path_count != 1)
        return error_set(error, ERR_INVALID, "--build-id is of one file");
    enum err err = binary_id_parse(kind, span_cstr(words->build_id), &options->id, error);
    return err ? error_prefix(error, "--build-id") : ERR_OK;
}

enum err upload_options_parse(int argument_count, char **arguments, struct upload_options *options,
                              struct error *error) {
    *options = (struct upload_options){
        .jobs = JOBS_DEFAULT,
        .remote = {.access = {.server_url = SERVER_DEFAULT}, .retries = RETRIES_DEFAULT}};
    struct words words = {.timeout_s = TIMEOUT_DEFAULT_S};
    optind = 0; /* glibc: start anew */
    opterr = 0;
    for (int flag; (flag = getopt_long(argument_count, arguments, ":", flags, NULL)) != -1;) {
        if (flag == '?' || flag == ':')
            return error_set(error, ERR_INVALID, "cannot use %.200s", arguments[optind - 1]);
        enum err err = apply(flag, optarg, options, &words, error);
        if (err)
            return err;
    }
    options->paths = arguments + optind;
    options->path_count = argument_count - optind;
    options->remote.timeout_ms = (int64_t)words.timeout_s * 1000;
    if (options->wants_help)
        return ERR_OK;
    if (options->path_count == 0)
        return error_set(error, ERR_INVALID, "no file given");
    enum err err = settle_id(options, &words, error);
    if (err == ERR_OK)
        err = remote_access_token_of_environment(&options->remote.access, error);
    if (err == ERR_OK)
        err = remote_access_check_tls(&options->remote.access, error);
    return err;
}

void upload_options_clear(struct upload_options *options) {
    remote_access_clear(&options->remote.access);
}
