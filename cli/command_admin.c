#include "cli/command_admin.h"

#include <jansson.h>
#include <stdio.h>

#include "cli/admin_list.h"
#include "cli/admin_options.h"
#include "cli/command_upload.h"
#include "cli/json_lines.h"

struct admin {
    const struct admin_options *options;
    struct http_client *client;
    int exit_code;
};

/* --- one build ID -------------------------------------------------------------------------------
 */

static enum err ask(struct admin *admin, const struct binary_id *id, struct span *ret_body,
                    struct error *error) {
    struct buffer path = {.size_max = 0};
    buffer_append_cstr(&path, "/v1/debuginfo/");
    http_append_encoded(&path, span_cstr(id->text));
    buffer_printf(&path, "?id_kind=%s", binary_id_kind_name(id->kind));
    if (admin->options->type)
        buffer_printf(&path, "&type=%s", admin->options->type);
    const struct http_question question = {
        .method = admin->options->action == ADMIN_DELETE ? "DELETE" : "GET",
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
    if (admin->options->json) {
        json_dumpf(answer, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15));
        putchar('\n');
    } else if (admin->options->action == ADMIN_DELETE) {
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
    enum err err = binary_id_parse(admin->options->kind, span_cstr(text), &id, error);
    if (err == ERR_OK)
        err = ask(admin, &id, &body, error);
    if (err == ERR_OK)
        err = print_answer(admin, &id, body, error);
    return err;
}

/* What later may do does not hide what it may not. */
static void complain(struct admin *admin, const char *about, const struct error *error) {
    bool for_now = error->code == ERR_UNAVAILABLE || error->code == ERR_TIMEOUT;
    fflush(stdout);
    fprintf(stderr, "symbolize admin: %s: %s\n", about, error->text);
    if (!for_now || admin->exit_code == EXIT_DONE)
        admin->exit_code = for_now ? EXIT_TRY_LATER : EXIT_SOME_FAILED;
}

static void do_action(struct admin *admin) {
    const struct admin_options *options = admin->options;
    struct error error;
    switch (options->action) {
    case ADMIN_LIST:
        if (admin_list(admin->client, options, &error))
            complain(admin, options->access.server_url, &error);
        return;
    case ADMIN_MISSING:
        if (admin_missing(admin->client, options, &error))
            complain(admin, options->access.server_url, &error);
        return;
    case ADMIN_SHOW:
    case ADMIN_DELETE:
        break;
    }
    for (int i = 0; i < options->id_count; i++)
        if (do_one(admin, options->ids[i], &error))
            complain(admin, options->ids[i], &error);
}

static int run(const struct admin_options *options) {
    CLEANUP(cleanup_http_client) struct http_client *client = NULL;
    const struct http_client_config config = {
        .access = &options->access, .retries = options->retries, .timeout_ms = options->timeout_ms};
    struct error error;
    if (http_client_open(&config, &client, &error)) {
        fprintf(stderr, "symbolize admin: %s\n", error.text);
        return error.code == ERR_INVALID ? EXIT_BAD_USAGE : EXIT_SOME_FAILED;
    }
    struct admin admin = {.options = options, .client = client, .exit_code = EXIT_DONE};
    do_action(&admin);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("symbolize admin: standard output: cannot write\n", stderr);
        return EXIT_SOME_FAILED;
    }
    return admin.exit_code;
}

int command_admin(int argument_count, char **arguments) {
    CLEANUP(admin_options_clear) struct admin_options options;
    struct error error;
    if (admin_options_parse(argument_count, arguments, &options, &error)) {
        fprintf(stderr, "symbolize admin: %s; see symbolize admin --help\n", error.text);
        return EXIT_BAD_USAGE;
    }
    if (options.wants_help) {
        fputs(admin_help, stdout);
        return EXIT_DONE;
    }
    return run(&options);
}
