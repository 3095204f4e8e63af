#include "cli/admin_options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/remote_debuginfo.h"
#include "cli/remote_flags.h"

#define SERVER_DEFAULT "http://127.0.0.1:7080"
#define RETRIES_DEFAULT 3
#define TIMEOUT_DEFAULT_S 120
#define LIMIT_MAX 1000000000L

const char admin_help[] =
    "Usage: symbolize admin list [OPTION]...\n"
    "       symbolize admin missing [OPTION]...\n"
    "       symbolize admin show [OPTION]... BUILD_ID...\n"
    "       symbolize admin delete [OPTION]... BUILD_ID...\n"
    "\n"
    "list prints what a server has, newest first, one object a line. missing prints the build IDs\n"
    "that were asked for most and that nobody has uploaded. show prints what is known of a "
    "binary:\n"
    "its objects, how good its symbols are, and what became of the latest upload. delete removes\n"
    "its uploads, of all types or of one; they can be uploaded again.\n"
    "\n"
    "  --server URL              its HTTP address (default: " SERVER_DEFAULT ")\n"
    "  --build-id-kind KIND      show, delete: gnu (the default), go, htlhash or uuid\n"
    "  --type TYPE               list, delete: debuginfo, executable, sources or source_map only\n"
    "  --state STATE             list: queued, running, ok, malformed, unsupported,\n"
    "                            parser_killed, failed, or stored (nothing to build) only\n"
    "  --contents WORDS          list: with these, of dwarf,pclntab,symtab,dynsym\n"
    "  --prefix TEXT             list: build IDs that begin so\n"
    "  --limit N                 list, missing: so many at most (default: all; missing: 100)\n"
    "  --json                    one JSON object a line, as the server has it\n"
    "  --retries N               tries again when the server is not there or overloaded, after\n"
    "                            pauses of up to 30 s (default: 3)\n"
    "  --timeout SECONDS         for one request, with all pauses (default: 120)\n"
    "  --bearer-token-file FILE  a token to send, as `Authorization: Bearer`; without this option\n"
    "                            the variable " REMOTE_TOKEN_VARIABLE " is used if it is set\n"
    "  --header NAME=VALUE       a header to send with each request; may be given many "
    "times\n" REMOTE_TLS_HELP "  --help                    print this and exit\n"
    "\n"
    "Exit status: 0 when all was done, 1 when something was not, 2 when the command line is\n"
    "wrong, 3 when later may do (the server is not there or is busy).\n";

static enum err read_action(const char *word, enum admin_action *ret_action, struct error *error) {
    static const char *const words[] = {"list", "missing", "show", "delete"};
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcmp(word, words[i]) == 0) {
            *ret_action = (enum admin_action)i;
            return ERR_OK;
        }
    }
    return error_set(error, ERR_INVALID, "want list, missing, show or delete, not \"%.100s\"",
                     word);
}

enum { FLAG_JSON = 256, FLAG_TYPE, FLAG_STATE, FLAG_CONTENTS, FLAG_PREFIX, FLAG_LIMIT, FLAG_HELP };

static const struct option flags[] = {
    {"json", no_argument, NULL, FLAG_JSON},
    {"type", required_argument, NULL, FLAG_TYPE},
    {"state", required_argument, NULL, FLAG_STATE},
    {"contents", required_argument, NULL, FLAG_CONTENTS},
    {"prefix", required_argument, NULL, FLAG_PREFIX},
    {"limit", required_argument, NULL, FLAG_LIMIT},
    {"help", no_argument, NULL, FLAG_HELP},
    {0},
};

static enum err apply(struct admin_options *options, int flag, const char *value,
                      struct error *error) {
    enum remote_type type;
    switch (flag) {
    case FLAG_JSON:
        options->json = true;
        return ERR_OK;
    case FLAG_STATE:
        options->state = value;
        return ERR_OK;
    case FLAG_CONTENTS:
        options->contents = value;
        return ERR_OK;
    case FLAG_PREFIX:
        options->prefix = value;
        return ERR_OK;
    case FLAG_LIMIT:
        return remote_number_parse(value, 1, LIMIT_MAX, &options->limit, error);
    case FLAG_TYPE:
        if (!remote_type_from_name(value, &type))
            return error_set(error, ERR_INVALID, "not a type: %.100s", value);
        options->type = remote_type_name(type);
        return ERR_OK;
    default:
        options->wants_help = true;
        return ERR_OK;
    }
}

static enum err read_flags(struct admin_options *options, int count, struct error *error) {
    optind = 0; /* glibc: start anew */
    opterr = 0;
    for (int flag; (flag = getopt_long(count, options->kept, ":", flags, NULL)) != -1;) {
        if (flag == '?' || flag == ':')
            return error_set(error, ERR_INVALID, "cannot use %.200s", options->kept[optind - 1]);
        enum err err = apply(options, flag, optarg, error);
        if (err)
            return err;
    }
    options->ids = options->kept + optind;
    options->id_count = count - optind;
    return ERR_OK;
}

/* An option that would do nothing is a mistake, and with delete a dangerous one. */
static enum err check_fit(const struct admin_options *options, struct error *error) {
    bool lists = options->action == ADMIN_LIST;
    bool names = options->action == ADMIN_SHOW || options->action == ADMIN_DELETE;
    if (names && options->id_count == 0)
        return error_set(error, ERR_INVALID, "no build ID given");
    if (!names && options->id_count > 0)
        return error_set(error, ERR_INVALID, "cannot use %.200s", options->ids[0]);
    if (options->type && !lists && options->action != ADMIN_DELETE)
        return error_set(error, ERR_INVALID, "--type is of list and delete");
    if ((options->state || options->contents || options->prefix) && !lists)
        return error_set(error, ERR_INVALID, "--state, --contents and --prefix are of list");
    if (options->limit && names)
        return error_set(error, ERR_INVALID, "--limit is of list and missing");
    return ERR_OK;
}

static enum err read_words(struct admin_options *options, const char *id_kind,
                           struct error *error) {
    if (options->id_count == 0)
        return error_set(error, ERR_INVALID, "want list, missing, show or delete");
    enum err err = read_action(options->ids[0], &options->action, error);
    if (err)
        return err;
    options->ids++;
    options->id_count--;
    if (id_kind && !binary_id_kind_from_name(span_cstr(id_kind), &options->kind))
        return error_set(error, ERR_INVALID, "not a kind of build ID: %.100s", id_kind);
    return check_fit(options, error);
}

enum err admin_options_parse(int argument_count, char **arguments, struct admin_options *options,
                             struct error *error) {
    *options =
        (struct admin_options){.access = {.server_url = SERVER_DEFAULT}, .kind = BINARY_ID_GNU};
    struct remote_flags remote = {
        .access = &options->access, .retries = RETRIES_DEFAULT, .timeout_s = TIMEOUT_DEFAULT_S};
    int count;
    options->kept = calloc((size_t)argument_count + 1, sizeof(char *));
    if (!options->kept)
        return error_set(error, ERR_NO_MEMORY, "no memory for the command line");
    enum err err =
        remote_flags_take(argument_count, arguments, &remote, options->kept, &count, error);
    if (err == ERR_OK)
        err = read_flags(options, count, error);
    options->retries = (unsigned)remote.retries;
    options->timeout_ms = remote.timeout_s * 1000;
    if (err || options->wants_help)
        return err;
    return read_words(options, remote.id_kind, error);
}

void admin_options_clear(struct admin_options *options) {
    remote_access_clear(&options->access);
    free(options->kept);
    options->kept = NULL;
}
