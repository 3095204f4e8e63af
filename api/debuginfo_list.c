#include "api/debuginfo_list.h"

#include <stdlib.h>

#include "api/debuginfo_query.h"
#include "api/debuginfo_words.h"
#include "api/list_cursor.h"
#include "cache/catalog_list.h"

static const char json_type[] = "application/json";
static const struct query_range limit_range = {.min = 1, .max = LIST_PAGE_MAX, .fallback = 100};

static void write_text(struct json_writer *writer, const char *key, const char *text) {
    json_writer_key(writer, key);
    json_writer_string_or_null(writer, span_cstr(text));
}

static void write_number(struct json_writer *writer, const char *key, uint64_t number) {
    json_writer_key(writer, key);
    json_writer_u64(writer, number);
}

/* --- GET /v1/debuginfo ---------------------------------------------------------------------- */

struct page {
    const char *tenant;
    struct list_filter filter; /* asks for one more than the page has, to know of a next one */
    char prefix[256];
    struct list_entry *entries;
    size_t count;
};

static void page_clear(struct page *page) {
    free(page->entries);
}

static enum err read_state(const struct http_exchange *exchange, struct list_filter *filter,
                           struct error *error) {
    char text[256];
    bool present = false;
    enum build_state state;
    enum err err = http_exchange_query(exchange, "state", text, &present, error);
    if (err != ERR_OK || !present)
        return err;
    if (strcmp(text, "stored") == 0)
        filter->build_state = LIST_NO_BUILD;
    else if (build_state_from_name(text, &state))
        filter->build_state = state;
    else
        return error_set(error, ERR_INVALID,
                         "query argument state: want queued, running, ok, malformed, unsupported, "
                         "parser_killed, failed or stored");
    return ERR_OK;
}

static enum err read_contents(const struct http_exchange *exchange, struct list_filter *filter,
                              struct error *error) {
    char text[256];
    bool present = false;
    enum err err = http_exchange_query(exchange, "contents", text, &present, error);
    if (err == ERR_OK && present && !debuginfo_contents_from_text(text, &filter->contents))
        err = error_set(error, ERR_INVALID,
                        "query argument contents: want some of dwarf, pclntab, symtab and dynsym, "
                        "separated by commas");
    return err;
}

static enum err read_cursor(const struct http_exchange *exchange, struct list_filter *filter,
                            struct error *error) {
    char text[256];
    bool present = false;
    enum err err = http_exchange_query(exchange, "cursor", text, &present, error);
    if (err == ERR_OK && present && !list_cursor_read(span_cstr(text), &filter->before))
        err = error_set(error, ERR_INVALID,
                        "query argument cursor: want what an earlier answer has as \"next\"");
    return err;
}

static enum err read_page(const struct http_exchange *exchange, struct page *page,
                          struct error *error) {
    static const struct query_range since_range = {.max = INT64_MAX};
    struct list_filter *filter = &page->filter;
    enum artifact_type type;
    bool present = false;
    uint64_t limit = 0;
    uint64_t since = 0;
    enum err err = debuginfo_query_number(exchange, "limit", &limit_range, &limit, error);
    if (err == ERR_OK)
        err = debuginfo_query_number(exchange, "since", &since_range, &since, error);
    filter->count_max = (unsigned)limit + 1;
    filter->since_ms = (int64_t)since;
    if (err == ERR_OK)
        err = debuginfo_query_type(exchange, &type, &present, error);
    filter->type = err == ERR_OK && present ? (int)type : 0;
    page->prefix[0] = '\0';
    if (err == ERR_OK)
        err = http_exchange_query(exchange, "prefix", page->prefix, &present, error);
    filter->prefix = page->prefix;
    if (err == ERR_OK)
        err = read_state(exchange, filter, error);
    if (err == ERR_OK)
        err = read_contents(exchange, filter, error);
    return err == ERR_OK ? read_cursor(exchange, filter, error) : err;
}

static enum err list(struct catalog_txn *txn, void *argument, struct error *error) {
    struct page *page = argument;
    return catalog_list(txn, page->tenant, &page->filter, page->entries, &page->count, error);
}

static void write_entry(struct json_writer *writer, const struct list_entry *entry) {
    char digest[DIGEST_HEX_SIZE];
    const struct object_row *object = &entry->object;
    digest_to_hex(&object->digest, digest);
    json_writer_object_begin(writer);
    write_text(writer, "build_id", entry->id.text);
    write_text(writer, "id_kind", binary_id_kind_name(entry->id.kind));
    write_text(writer, "type", artifact_type_name(object->type));
    write_text(writer, "state",
               entry->build_state == LIST_NO_BUILD
                   ? "stored"
                   : build_state_name((enum build_state)entry->build_state));
    write_number(writer, "size", object->size);
    write_text(writer, "digest", digest);
    debuginfo_write_contents(writer, object->contents);
    json_writer_key(writer, "verified");
    json_writer_bool(writer, object->verification != VERIFICATION_NONE);
    write_number(writer, "stored_ms", (uint64_t)object->created_ms);
    json_writer_object_end(writer);
}

static void write_page(struct buffer *out, const struct page *page, const char *request_id) {
    struct json_writer writer = json_writer_to(out);
    char next[LIST_CURSOR_SIZE] = "";
    bool has_more = page->count == page->filter.count_max;
    size_t count = has_more ? page->count - 1 : page->count;
    if (has_more)
        list_cursor_write(page->entries[count - 1].object.object_id, next);
    json_writer_object_begin(&writer);
    json_writer_key(&writer, "objects");
    json_writer_array_begin(&writer);
    for (size_t i = 0; i < count; i++)
        write_entry(&writer, &page->entries[i]);
    json_writer_array_end(&writer);
    write_text(&writer, "next", next);
    write_text(&writer, "request_id", request_id);
    json_writer_object_end(&writer);
    buffer_append_byte(out, '\n');
}

void debuginfo_list_answer(struct http_exchange *exchange, struct catalog *catalog) {
    const struct request_context *context = http_exchange_context(exchange);
    CLEANUP(page_clear) struct page page = {.tenant = context->tenant};
    struct buffer body = {0};
    struct error error;
    enum err err = read_page(exchange, &page, &error);
    if (err == ERR_OK) {
        page.entries = calloc(page.filter.count_max, sizeof(*page.entries));
        if (!page.entries)
            err = error_set(&error, ERR_NO_MEMORY, "no memory for a page");
    }
    if (err == ERR_OK)
        err = catalog_read(catalog, list, &page, &error);
    if (err != ERR_OK) {
        http_exchange_fail(exchange, &error);
        return;
    }
    write_page(&body, &page, context->request_id);
    http_exchange_reply(exchange, 200, json_type, &body);
}

/* --- GET /v1/missing ------------------------------------------------------------------------ */

struct missing_page {
    const char *tenant;
    struct missing_ids *missing;
    struct missing_id *ids;
    size_t count;
    size_t limit;
};

/* Keeps the first `limit` that are missing still. */
static enum err keep_missing(struct catalog_txn *txn, void *argument, struct error *error) {
    struct missing_page *page = argument;
    size_t kept = 0;
    for (size_t i = 0; i < page->count && kept < page->limit; i++) {
        struct generation_row row;
        enum err err = catalog_generation_get(txn, page->tenant, &page->ids[i].id, &row, error);
        if (err != ERR_OK)
            return err;
        if (row.has_serving || row.has_pending)
            missing_ids_forget(page->missing, page->tenant, &page->ids[i].id);
        else
            page->ids[kept++] = page->ids[i];
    }
    page->count = kept;
    return ERR_OK;
}

static void write_missing(struct buffer *out, const struct missing_page *page,
                          const char *request_id) {
    struct json_writer writer = json_writer_to(out);
    json_writer_object_begin(&writer);
    json_writer_key(&writer, "missing");
    json_writer_array_begin(&writer);
    for (size_t i = 0; i < page->count; i++) {
        const struct missing_id *missing = &page->ids[i];
        json_writer_object_begin(&writer);
        write_text(&writer, "build_id", missing->id.text);
        write_text(&writer, "id_kind", binary_id_kind_name(missing->id.kind));
        write_number(&writer, "count", missing->count);
        write_number(&writer, "count_error", missing->error);
        write_number(&writer, "first_ms", (uint64_t)missing->first_ms);
        write_number(&writer, "last_ms", (uint64_t)missing->last_ms);
        json_writer_object_end(&writer);
    }
    json_writer_array_end(&writer);
    write_text(&writer, "request_id", request_id);
    json_writer_object_end(&writer);
    buffer_append_byte(out, '\n');
}

void missing_list_answer(struct http_exchange *exchange, struct catalog *catalog,
                         struct missing_ids *missing) {
    const struct request_context *context = http_exchange_context(exchange);
    CLEANUP(cleanup_free)
    struct missing_id *ids = calloc(MISSING_IDS_MAX, sizeof(*ids));
    struct missing_page page = {.tenant = context->tenant, .missing = missing, .ids = ids};
    struct buffer body = {0};
    struct error error;
    uint64_t limit = 0;
    enum err err = debuginfo_query_number(exchange, "limit", &limit_range, &limit, &error);
    if (err == ERR_OK && !ids)
        err = error_set(&error, ERR_NO_MEMORY, "no memory for the list");
    if (err == ERR_OK) {
        page.limit = (size_t)limit;
        page.count = missing_ids_top(missing, context->tenant, ids, MISSING_IDS_MAX);
        err = catalog_read(catalog, keep_missing, &page, &error);
    }
    if (err != ERR_OK) {
        http_exchange_fail(exchange, &error);
        return;
    }
    write_missing(&body, &page, context->request_id);
    http_exchange_reply(exchange, 200, json_type, &body);
}
