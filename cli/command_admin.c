#include "cli/command_admin.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/binary_id.h"
#include "base/cleanup.h"
#include "cli/command_upload.h"
#include "cli/http_client.h"
#include "cli/json_lines.h"
#include "cli/remote_debuginfo.h"
#include "cli/remote_flags.h"

#define SERVER_DEFAULT "http://127.0.0.1:7080"
#define RETRIES_DEFAULT 3
#define TIMEOUT_DEFAULT_S 120

static const char help[] =
    "Usage: symbolize admin show [OPTION]... BUILD_ID...\n"
    "       symbolize admin delete [OPTION]... BUILD_ID...\n"
    "\n"
    "show prints what a server knows of a binary: its objects, how good its symbols are, and what\n"
    "became of the latest upload. delete removes its uploads, of all types or of one; they can be\n"
    "uploaded again.\n"
    "\n"
    "  --server URL              its HTTP address (default: " SERVER_DEFAULT ")\n"
    "  --build-id-kind KIND      gnu (the default), go, htlhash or uuid\n"
    "  --type TYPE               delete: debuginfo, executable, sources or source_map only\n"
    "  --json                    the server's answers as they are, one a line\n"
    "  --retries N               tries again when the server is not there or overloaded, after\n"
    "                            pauses of up to 30 s (default: 3)\n"
    "  --timeout SECONDS         for one request, with all pauses (default: 120)\n"
    "  --bearer-token-file FILE  a token to send, as `Authorization: Bearer`; without this option\n"
    "                            the variable " REMOTE_TOKEN_VARIABLE " is used if it is set\n"
    "  --header NAME=VALUE       a header to send with each request; may be given many times\n"
    "  --help                    print this and exit\n"
    "\n"
    "Exit status: 0 when all was done, 1 when something was not, 2 when the command line is\n"
    "wrong, 3 when later may do (the server is not there or is busy).\n";

enum action { ADMIN_SHOW, ADMIN_DELETE };

struct admin {
    enum action action;
    struct remote_access access;
    struct http_client *client;
    enum binary_id_kind kind;
    const char *type; /* NULL: all */
    bool json;
    bool wants_help;
    char **kept; /* the arguments that are not remote_flags' */
    char **ids;
    int id_count;
    unsigned retries;
    int64_t timeout_ms;
    int exit_code;
};

static void cleanup_admin(struct admin *admin) {
    http_client_free(admin->client);
    remote_access_clear(&admin->access);
    free(admin->kept);
}

/* --- the command line ---------------------------------------------------------------------------
 */

static enum err read_action(struct admin *admin, const char *word, struct error *error) {
    if (strcmp(word, "show") == 0)
        admin->action = ADMIN_SHOW;
    else if (strcmp(word, "delete") == 0)
        admin->action = ADMIN_DELETE;
    else
        return error_set(error, ERR_INVALID, "want show or delete, not \"%.100s\"", word);
    return ERR_OK;
}

static enum err read_flags(struct admin *admin, int count, struct error *error) {
    enum { FLAG_JSON = 256, FLAG_TYPE, FLAG_HELP };
    static const struct option flags[] = {
        {"json", no_argument, NULL, FLAG_JSON},
        {"type", required_argument, NULL, FLAG_TYPE},
        {"help", no_argument, NULL, FLAG_HELP},
        {0},
    };
    enum remote_type type;
    optind = 0; /* glibc: start anew */
    opterr = 0;
    for (int flag; (flag = getopt_long(count, admin->kept, ":", flags, NULL)) != -1;) {
        if (flag == FLAG_JSON)
            admin->json = true;
        else if (flag == FLAG_HELP)
            admin->wants_help = true;
        else if (flag != FLAG_TYPE)
            return error_set(error, ERR_INVALID, "cannot use %.200s", admin->kept[optind - 1]);
        else if (!remote_type_from_name(optarg, &type))
            return error_set(error, ERR_INVALID, "not a type: %.100s", optarg);
        else
            admin->type = remote_type_name(type);
    }
    admin->ids = admin->kept + optind;
    admin->id_count = count - optind;
    return ERR_OK;
}

static enum err read_words(struct admin *admin, const char *id_kind, struct error *error) {
    if (admin->id_count == 0)
        return error_set(error, ERR_INVALID, "want show or delete");
    enum err err = read_action(admin, admin->ids[0], error);
    if (err)
        return err;
    admin->ids++;
    admin->id_count--;
    if (admin->id_count == 0)
        return error_set(error, ERR_INVALID, "no build ID given");
    if (admin->type && admin->action != ADMIN_DELETE)
        return error_set(error, ERR_INVALID, "--type is of delete");
    if (id_kind && !binary_id_kind_from_name(span_cstr(id_kind), &admin->kind))
        return error_set(error, ERR_INVALID, "not a kind of build ID: %.100s", id_kind);
    return ERR_OK;
}

static enum err parse(struct admin *admin, int argument_count, char **arguments,
                      struct error *error) {
    struct remote_flags flags = {
        .access = &admin->access, .retries = RETRIES_DEFAULT, .timeout_s = TIMEOUT_DEFAULT_S};
    int count;
    admin->kept = calloc((size_t)argument_count + 1, sizeof(char *));
    if (!admin->kept)
        return error_set(error, ERR_NO_MEMORY, "no memory for the command line");
    enum err err = remote_flags_take(argument_count, arguments, &flags, admin->kept, &count, error);
    if (err == ERR_OK)
        err = read_flags(admin, count, error);
    admin->retries = (unsigned)flags.retries;
    admin->timeout_ms = flags.timeout_s * 1000;
    if (err || admin->wants_help)
        return err;
    return read_words(admin, flags.id_kind, error);
}

/* --- one build ID -------------------------------------------------------------------------------
 */

static enum err ask(struct admin *admin, const struct binary_id *id, struct span *ret_body,
                    struct error *error) {
    struct buffer path = {.size_max = 0};
    buffer_append_cstr(&path, "/v1/debuginfo/");
    http_append_encoded(&path, span_cstr(id->text));
    buffer_printf(&path, "?id_kind=%s", binary_id_kind_name(id->kind));
    if (admin->type)
        buffer_printf(&path, "&type=%s", admin->type);
    const struct http_question question = {
        .method = admin->action == ADMIN_DELETE ? "DELETE" : "GET",
        .path = buffer_cstr(&path),
    };
    enum err err = buffer_failed(&path)
                       ? error_set(error, ERR_NO_MEMORY, "no memory for a path")
                       : http_client_ask(admin->client, &question, ret_body, error);
    buffer_clear(&path);
    return err;
}

static void print_deleted(const struct binary_id *id, const json_t *answer) {
    json_int_t objects = json_integer_value(json_object_get(answer, "objects"));
    json_int_t uploads = json_integer_value(json_object_get(answer, "uploads"));
    printf("%s: deleted, objects: %lld, uploads: %lld\n", id->text, (long long)objects,
           (long long)uploads);
}

static enum err print_answer(const struct admin *admin, const struct binary_id *id,
                             struct span body, struct error *error) {
    json_t *answer = json_loadb(body.data ? body.data : "", body.size, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(answer)) {
        json_decref(answer);
        return error_set(error, ERR_MALFORMED, "the server's answer is no JSON object");
    }
    if (admin->json) {
        json_dumpf(answer, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15));
        putchar('\n');
    } else if (admin->action == ADMIN_DELETE) {
        print_deleted(id, answer);
    } else {
        json_object_del(answer, "request_id");
        json_lines_write(stdout, answer);
    }
    json_decref(answer);
    return ERR_OK;
}

static enum err do_one(struct admin *admin, const char *text, struct error *error) {
    struct binary_id id;
    struct span body;
    enum err err = binary_id_parse(admin->kind, span_cstr(text), &id, error);
    if (err == ERR_OK)
        err = ask(admin, &id, &body, error);
    if (err == ERR_OK)
        err = print_answer(admin, &id, body, error);
    return err;
}

static enum err do_all(struct admin *admin, struct error *error) {
    const struct http_client_config config = {
        .access = &admin->access, .retries = admin->retries, .timeout_ms = admin->timeout_ms};
    enum err err = http_client_open(&config, &admin->client, error);
    if (err)
        return err;
    for (int i = 0; i < admin->id_count; i++) {
        struct error reason;
        err = do_one(admin, admin->ids[i], &reason);
        if (err == ERR_OK)
            continue;
        fflush(stdout);
        fprintf(stderr, "symbolize admin: %s: %s\n", admin->ids[i], reason.text);
        /* What later may do does not hide what it may not. */
        bool for_now = err == ERR_UNAVAILABLE || err == ERR_TIMEOUT;
        if (!for_now || admin->exit_code == EXIT_DONE)
            admin->exit_code = for_now ? EXIT_TRY_LATER : EXIT_SOME_FAILED;
    }
    return ERR_OK;
}

int command_admin(int argument_count, char **arguments) {
    CLEANUP(cleanup_admin)
    struct admin admin = {.access = {.server_url = SERVER_DEFAULT}, .kind = BINARY_ID_GNU};
    struct error error;
    enum err err = parse(&admin, argument_count, arguments, &error);
    if (err == ERR_OK && admin.wants_help) {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    if (err == ERR_OK)
        err = do_all(&admin, &error);
    if (err) {
        fprintf(stderr, "symbolize admin: %s; see symbolize admin --help\n", error.text);
        return EXIT_BAD_USAGE;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("symbolize admin: standard output: cannot write\n", stderr);
        return EXIT_SOME_FAILED;
    }
    return admin.exit_code;
}
