#include "cli/admin_list.h"

#include <jansson.h>
#include <stdio.h>
#include <time.h>

#include "base/utf8.h"

/* The server's own bound is 1000 a page. */
#define PAGE_COUNT_MAX 1000L
#define CELL_SIZE 300

struct list {
    struct http_client *client;
    const struct admin_options *options;
    const char *member; /* the array's name in the answer */
    void (*print)(const json_t *entry);
    long printed;
};

/* --- one entry ----------------------------------------------------------------------------------
 */

static void print_text(const json_t *entry, const char *key, const char *end) {
    char cell[CELL_SIZE];
    const json_t *value = json_object_get(entry, key);
    utf8_copy_printable(span_of(json_string_value(value), json_string_length(value)), cell,
                        sizeof(cell));
    printf("%s%s", cell[0] ? cell : "-", end);
}

static void print_number(const json_t *entry, const char *key, const char *end) {
    printf("%lld%s", (long long)json_integer_value(json_object_get(entry, key)), end);
}

static void print_time(const json_t *entry, const char *key, const char *end) {
    char cell[CELL_SIZE] = "-";
    struct tm parts;
    const time_t seconds = (time_t)(json_integer_value(json_object_get(entry, key)) / 1000);
    if (seconds > 0 && gmtime_r(&seconds, &parts))
        strftime(cell, sizeof(cell), "%Y-%m-%dT%H:%M:%SZ", &parts);
    printf("%s%s", cell, end);
}

static void print_words(const json_t *entry, const char *key) {
    const json_t *words = json_object_get(entry, key);
    size_t count = json_array_size(words);
    for (size_t i = 0; i < count; i++) {
        char cell[CELL_SIZE];
        const json_t *word = json_array_get(words, i);
        utf8_copy_printable(span_of(json_string_value(word), json_string_length(word)), cell,
                            sizeof(cell));
        printf("%s%s", i > 0 ? "," : "", cell);
    }
    puts(count ? "" : "-");
}

static void print_object(const json_t *entry) {
    print_text(entry, "id_kind", " ");
    print_text(entry, "build_id", " ");
    print_text(entry, "type", " ");
    print_text(entry, "state", " ");
    print_number(entry, "size", " ");
    print_time(entry, "stored_ms", " ");
    print_words(entry, "contents");
}

static void print_missing(const json_t *entry) {
    print_text(entry, "id_kind", " ");
    print_text(entry, "build_id", " ");
    print_number(entry, "count", " ");
    print_time(entry, "last_ms", "\n");
}

static void print_json(const json_t *entry) {
    json_dumpf(entry, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15));
    putchar('\n');
}

/* --- pages --------------------------------------------------------------------------------------
 */

static void append_argument(struct buffer *path, const char *key, const char *value) {
    if (!value)
        return;
    buffer_printf(path, "&%s=", key);
    http_append_encoded(path, span_cstr(value));
}

/* How many to ask for next. */
static long page_count(const struct list *list) {
    long limit = list->options->limit;
    long left = limit ? limit - list->printed : PAGE_COUNT_MAX;
    return left < PAGE_COUNT_MAX ? left : PAGE_COUNT_MAX;
}

static enum err print_page(struct list *list, const json_t *answer, struct error *error) {
    const json_t *entries = json_object_get(answer, list->member);
    size_t count = json_array_size(entries);
    if (!json_is_array(entries))
        return error_set(error, ERR_MALFORMED, "the server's answer has no list \"%s\"",
                         list->member);
    for (size_t i = 0; i < count; i++) {
        if (list->options->json)
            print_json(json_array_get(entries, i));
        else
            list->print(json_array_get(entries, i));
    }
    list->printed += (long)count;
    return ERR_OK;
}

/* *ret_next: the cursor of the next page, empty at the end. */
static enum err get_page(struct list *list, const char *path, struct buffer *ret_next,
                         struct error *error) {
    const struct http_question question = {.method = "GET", .path = path};
    struct span body;
    enum err err = http_client_ask(list->client, &question, &body, error);
    if (err)
        return err;
    json_t *answer = json_loadb(body.data ? body.data : "", body.size, JSON_ALLOW_NUL, NULL);
    err = print_page(list, answer, error);
    const char *next = json_string_value(json_object_get(answer, "next"));
    buffer_clear(ret_next);
    buffer_append_cstr(ret_next, next ? next : "");
    json_decref(answer);
    return err;
}

enum err admin_list(struct http_client *client, const struct admin_options *options,
                    struct error *error) {
    struct list list = {
        .client = client, .options = options, .member = "objects", .print = print_object};
    CLEANUP(buffer_clear) struct buffer next = {.size_max = 0};
    bool has_more = true;
    enum err err = ERR_OK;
    while (err == ERR_OK && has_more) {
        CLEANUP(buffer_clear) struct buffer path = {.size_max = 0};
        long printed_before = list.printed;
        buffer_printf(&path, "/v1/debuginfo?limit=%ld", page_count(&list));
        append_argument(&path, "type", options->type);
        append_argument(&path, "state", options->state);
        append_argument(&path, "contents", options->contents);
        append_argument(&path, "prefix", options->prefix);
        append_argument(&path, "cursor", next.size ? buffer_cstr(&next) : NULL);
        if (buffer_failed(&path) || buffer_failed(&next))
            return error_set(error, ERR_NO_MEMORY, "no memory for a path");
        err = get_page(&list, buffer_cstr(&path), &next, error);
        /* A server that hands out empty pages for ever is not followed. */
        has_more = next.size > 0 && list.printed > printed_before &&
                   (!options->limit || list.printed < options->limit);
    }
    return err;
}

enum err admin_missing(struct http_client *client, const struct admin_options *options,
                       struct error *error) {
    struct list list = {
        .client = client, .options = options, .member = "missing", .print = print_missing};
    CLEANUP(buffer_clear) struct buffer next = {.size_max = 0};
    char path[64] = "/v1/missing";
    if (options->limit)
        snprintf(path, sizeof(path), "/v1/missing?limit=%ld", page_count(&list));
    return get_page(&list, path, &next, error);
}
