#include "cli/command_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "cli/command_upload.h"
#include "cli/line_batches.h"
#include "cli/output.h"
#include "cli/query_options.h"
#include "cli/remote_symbolize.h"
#include "cli/request_line.h"

/* Addresses in one request. */
#define BATCH_COUNT_MAX ((size_t)10000)

/* Of a line that is named in a complaint. */
#define SHOWN_LINE_SIZE 200

struct query {
    const struct query_options *options;
    struct http_client *client;
    struct output output;
    struct frame_list frames;
    uint64_t *addresses; /* of the batch, as asked for; BATCH_COUNT_MAX of them */
    uint64_t *asked;     /* the same as ELF addresses */
    size_t count;
    bool is_said; /* why the module has no answers */
    int exit_code;
};

static void cleanup_query(struct query *query) {
    http_client_free(query->client);
    frame_list_clear(&query->frames);
    free(query->addresses);
    free(query->asked);
}

static int complain(const char *about, const char *text, int exit_code) {
    fprintf(stderr, "symbolize query: %s%s%s\n", about, about[0] ? ": " : "", text);
    return exit_code;
}

/* What later may do does not hide what it may not. */
static void note(struct query *query, int exit_code) {
    if (query->exit_code != EXIT_SOME_FAILED)
        query->exit_code = exit_code;
}

/* --- one batch ----------------------------------------------------------------------------------
 */

static void say_status(struct query *query, const struct remote_frames *frames,
                       struct error *ret_reason) {
    const char *status = remote_frames_status(frames);
    bool is_pending = strcmp(status, "pending") == 0;
    char words[64];
    char detail[400];
    /* A server's words may hold what a terminal would obey. */
    utf8_copy_printable(span_cstr(status), words, sizeof(words));
    utf8_copy_printable(span_cstr(remote_frames_detail(frames)), detail, sizeof(detail));
    error_set(ret_reason, ERR_UNAVAILABLE, "%s%s%s", words, detail[0] ? ": " : "", detail);
    note(query, is_pending ? EXIT_TRY_LATER : EXIT_SOME_FAILED);
    if (!query->is_said)
        complain(query->options->id.text, ret_reason->text, 0);
    query->is_said = true;
}

static enum err print_frames(struct query *query, const struct remote_frames *frames, size_t i,
                             struct error *error) {
    enum err err =
        remote_frames_get(frames, i, query->options->shape.demangle, &query->frames, error);
    if (err == ERR_OK)
        err = output_set_frames(&query->output, &query->frames, error);
    if (err == ERR_OK)
        output_answer(&query->output, query->options->id.text, query->addresses[i]);
    return err;
}

static enum err print_batch(struct query *query, const struct remote_frames *frames,
                            struct error *error) {
    struct error reason = {.code = ERR_OK};
    bool is_ok = strcmp(remote_frames_status(frames), "ok") == 0;
    enum err err = ERR_OK;
    if (!is_ok)
        say_status(query, frames, &reason);
    for (size_t i = 0; err == ERR_OK && i < query->count; i++) {
        if (is_ok)
            err = print_frames(query, frames, i, error);
        else
            output_failure(
                &query->output,
                &(struct shown_question){query->options->id.text, {0}, query->addresses[i]},
                &reason);
    }
    return err;
}

/* Asks for what has been gathered, and prints it. */
static enum err ask_batch(struct query *query, struct error *error) {
    CLEANUP(cleanup_remote_frames) struct remote_frames *frames = NULL;
    const struct remote_question question = {
        .id = &query->options->id,
        .addresses = query->asked,
        .count = query->count,
        .wait_ms = query->options->wait_ms,
    };
    if (query->count == 0)
        return ERR_OK;
    enum err err = remote_symbolize(query->client, &question, &frames, error);
    if (err == ERR_OK)
        err = print_batch(query, frames, error);
    query->count = 0;
    return err;
}

/* --- from lines to batches ----------------------------------------------------------------------
 */

static enum err add_address(struct query *query, uint64_t address, struct error *error) {
    query->addresses[query->count] = address;
    query->asked[query->count++] = address - query->options->shape.adjust_vma;
    return query->count == BATCH_COUNT_MAX ? ask_batch(query, error) : ERR_OK;
}

/* Symbols, sections and data are known to files, not to an index: such a line asks for something
 * that it does not get, while one of no form at all asks for nothing. */
static void refuse_line(struct query *query, struct span line, const char *problem) {
    char shown[SHOWN_LINE_SIZE];
    utf8_copy_printable(line, shown, sizeof(shown));
    fprintf(stderr, "symbolize query: '%s': %s\n", shown,
            problem ? problem : "a server is asked by address alone");
    if (!problem)
        note(query, EXIT_SOME_FAILED);
    output_unreadable(&query->output, span_cstr(query->options->id.text));
}

static enum err add_line(struct query *query, struct span line, struct error *error) {
    struct request_line request;
    const char *id = query->options->id.text;
    if (query->options->shape.questions == QUESTIONS_GNU)
        request_line_parse_gnu(line, &request);
    else
        request_line_parse(line, id, query->options->shape.questions, &request);
    if (!request.problem && request.verb == REQUEST_CODE && request.section.size == 0 &&
        request.symbol.size == 0)
        return add_address(query, request.address, error);
    /* Answers keep the order of the questions. */
    enum err err = ask_batch(query, error);
    if (err == ERR_OK)
        refuse_line(query, line, request.problem);
    return err;
}

static struct span take_line(struct span *lines) {
    const char *end = memchr(lines->data, '\n', lines->size);
    size_t size = end ? (size_t)(end - lines->data) : lines->size;
    struct span line = span_of(lines->data, size);
    size_t used = end ? size + 1 : size;
    *lines = span_of(lines->data + used, lines->size - used);
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

static enum err answer_lines(struct query *query, struct error *error) {
    CLEANUP(line_batches_clear) struct line_batches batches = {.fd = STDIN_FILENO};
    for (;;) {
        struct span lines;
        enum err err = line_batches_next(&batches, &lines, error);
        if (err || lines.size == 0)
            return err ? error_prefix(error, "standard input") : ERR_OK;
        while (err == ERR_OK && lines.size > 0)
            err = add_line(query, take_line(&lines), error);
        if (err == ERR_OK)
            err = ask_batch(query, error);
        if (err)
            return err;
    }
}

static enum err answer_arguments(struct query *query, struct error *error) {
    const struct options *shape = &query->options->shape;
    enum err err = ERR_OK;
    for (int i = 0; err == ERR_OK && i < shape->input_count; i++)
        err = add_line(query, span_cstr(shape->inputs[i]), error);
    return err ? err : ask_batch(query, error);
}

/* --- the command --------------------------------------------------------------------------------
 */

static enum err open_query(struct query *query, struct error *error) {
    const struct query_options *options = query->options;
    const struct http_client_config config = {
        .access = &options->access,
        .retries = options->retries,
        /* The server may take the whole wait before it answers. */
        .timeout_ms = options->timeout_ms + (options->wait_ms < 60000 ? options->wait_ms : 60000),
    };
    query->addresses = calloc(BATCH_COUNT_MAX, sizeof(*query->addresses));
    query->asked = calloc(BATCH_COUNT_MAX, sizeof(*query->asked));
    if (!query->addresses || !query->asked)
        return error_set(error, ERR_NO_MEMORY, "no memory for addresses");
    return http_client_open(&config, &query->client, error);
}

static int run_query(const struct query_options *options) {
    CLEANUP(cleanup_query) struct query query = {.options = options, .exit_code = EXIT_DONE};
    const bool has_arguments = options->shape.input_count > 0;
    struct error error;
    if (open_query(&query, &error))
        return complain("", error.text,
                        error.code == ERR_INVALID ? EXIT_BAD_USAGE : EXIT_SOME_FAILED);
    output_init(&query.output, &options->shape, has_arguments, stdout);
    enum err err = has_arguments ? answer_arguments(&query, &error) : answer_lines(&query, &error);
    if (err) {
        bool may_pass = err == ERR_UNAVAILABLE || err == ERR_TIMEOUT;
        note(&query, complain(options->access.server_url, error.text,
                              may_pass ? EXIT_TRY_LATER : EXIT_SOME_FAILED));
    }
    if (output_end(&query.output, &error))
        return complain("standard output", error.text, EXIT_SOME_FAILED);
    return query.exit_code;
}

int command_query(int argument_count, char **arguments) {
    CLEANUP(query_options_clear) struct query_options options;
    struct error error;
    if (query_options_parse(argument_count, arguments, &options, &error)) {
        fprintf(stderr, "symbolize query: %s; see symbolize query --help\n", error.text);
        return EXIT_BAD_USAGE;
    }
    if (options.wants_help) {
        fputs(query_help, stdout);
        return EXIT_DONE;
    }
    return run_query(&options);
}
