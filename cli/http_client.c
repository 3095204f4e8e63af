#include "cli/http_client.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/curl_tls.h"
#include "cli/remote_retry.h"

#define CONNECT_TIMEOUT_MS 10000L
#define BODY_SIZE_MAX ((size_t)1 << 30)
#define URL_SIZE_MAX ((size_t)16384)
#define WORDS_SIZE 400

struct http_client {
    struct http_client_config config;
    CURL *easy;
    struct curl_slist *headers;
    struct buffer body;
    char failure[CURL_ERROR_SIZE];
};

/* --- set-up -------------------------------------------------------------------------------------
 */

/* False when there is no memory. */
static bool add_header(struct http_client *client, const char *name, const char *value) {
    struct buffer line = {.size_max = 0};
    /* curl's way to send a header without a value. */
    buffer_printf(&line, value[0] ? "%s: %s" : "%s;", name, value);
    struct curl_slist *longer =
        buffer_failed(&line) ? NULL : curl_slist_append(client->headers, buffer_cstr(&line));
    buffer_clear(&line);
    if (longer)
        client->headers = longer;
    return longer != NULL;
}

static bool add_headers(struct http_client *client) {
    const struct remote_access *access = client->config.access;
    bool is_good = add_header(client, "Content-Type", "application/json") &&
                   add_header(client, "Accept", "application/json");
    if (access->authorization)
        is_good = is_good && add_header(client, "Authorization", access->authorization);
    for (size_t i = 0; i < access->header_count; i++)
        is_good = is_good && add_header(client, access->headers[i].name, access->headers[i].value);
    return is_good;
}

static size_t keep_body(char *bytes, size_t item_size, size_t count, void *argument) {
    struct http_client *client = argument;
    buffer_append(&client->body, bytes, item_size * count);
    return buffer_failed(&client->body) ? 0 : item_size * count;
}

static bool set_up(struct http_client *client) {
    CURL *easy = client->easy;
    return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, client->failure) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, client->headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, client) == CURLE_OK &&
           curl_tls_set_up(easy, client->config.access);
}

enum err http_client_open(const struct http_client_config *config, struct http_client **ret_client,
                          struct error *error) {
    const struct span url = span_cstr(config->access->server_url);
    if (!span_starts_with(url, "http://") && !span_starts_with(url, "https://"))
        return error_set(error, ERR_INVALID, "%.200s: want http://host:port or https://host:port",
                         url.data);
    CLEANUP(cleanup_http_client) struct http_client *client = calloc(1, sizeof(*client));
    if (!client)
        return error_set(error, ERR_NO_MEMORY, "no memory for an HTTP client");
    client->config = *config;
    client->body.size_max = BODY_SIZE_MAX;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(client->easy = curl_easy_init()) ||
        !add_headers(client) || !set_up(client))
        return error_set(error, ERR_NO_MEMORY, "cannot set up an HTTP client");
    *ret_client = TAKE(client);
    return ERR_OK;
}

void http_client_free(struct http_client *client) {
    if (!client)
        return;
    curl_easy_cleanup(client->easy);
    curl_slist_free_all(client->headers);
    buffer_clear(&client->body);
    free(client);
}

void http_append_encoded(struct buffer *buffer, struct span text) {
    static const char unreserved[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] && strchr(unreserved, text.data[i]))
            buffer_append_byte(buffer, text.data[i]);
        else
            buffer_printf(buffer, "%%%02X", (unsigned char)text.data[i]);
    }
}

/* --- asking -------------------------------------------------------------------------------------
 */

static enum err set_url(struct http_client *client, const char *path, struct error *error) {
    struct span server = span_cstr(client->config.access->server_url);
    while (server.size > 0 && server.data[server.size - 1] == '/')
        server.size--;
    struct buffer url = {.size_max = URL_SIZE_MAX};
    buffer_append(&url, server.data, server.size);
    buffer_append_cstr(&url, path);
    bool is_set = !buffer_failed(&url) &&
                  curl_easy_setopt(client->easy, CURLOPT_URL, buffer_cstr(&url)) == CURLE_OK;
    buffer_clear(&url);
    return is_set ? ERR_OK : error_set(error, ERR_INVALID, "the server's URL is too long");
}

static bool set_question(struct http_client *client, const struct http_question *question) {
    CURL *easy = client->easy;
    if (curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, question->method) != CURLE_OK)
        return false;
    if (question->body.size == 0)
        return curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L) == CURLE_OK;
    return curl_easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDS, question->body.data) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)question->body.size) ==
               CURLE_OK;
}

/* The message in {"error": {"message": …}}, or the body's beginning. */
static void read_words(const struct http_client *client, char ret_words[static WORDS_SIZE]) {
    struct span text = buffer_span(&client->body);
    json_t *body = json_loadb(text.data ? text.data : "", text.size, 0, NULL);
    const char *message =
        json_string_value(json_object_get(json_object_get(body, "error"), "message"));
    utf8_copy_printable(message ? span_cstr(message) : text, ret_words, WORDS_SIZE);
    json_decref(body);
}

static enum err refusal(const struct http_client *client, long code, struct error *error) {
    char words[WORDS_SIZE];
    enum err err = ERR_INVALID;
    if (code == 404)
        err = ERR_NOT_FOUND;
    else if (code == 429 || (code >= 502 && code <= 504) || code == 507)
        err = ERR_UNAVAILABLE;
    read_words(client, words);
    return error_set(error, err, "%s (HTTP %ld)", words, code);
}

static enum err failure(const struct http_client *client, CURLcode code, struct error *error) {
    const char *text = client->failure[0] ? client->failure : curl_easy_strerror(code);
    if (code == CURLE_WRITE_ERROR && buffer_failed(&client->body))
        return error_set(error, ERR_LIMIT, "the answer is too large");
    if (code == CURLE_OPERATION_TIMEDOUT)
        return error_set(error, ERR_TIMEOUT, "%s", text);
    if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
        return error_set(error, ERR_INVALID, "the server's URL: %s", text);
    if (curl_tls_failed(code, text))
        return error_set(error, ERR_DENIED, "%s", text);
    return error_set(error, ERR_UNAVAILABLE, "%s", text);
}

static enum err ask_once(struct http_client *client, int64_t timeout_ms, struct error *error) {
    long status = 0;
    buffer_clear(&client->body);
    client->failure[0] = '\0';
    if (timeout_ms <= 0 ||
        curl_easy_setopt(client->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms) != CURLE_OK)
        return error_set(error, ERR_TIMEOUT, "the time for it is over");
    CURLcode code = curl_easy_perform(client->easy);
    if (code != CURLE_OK)
        return failure(client, code, error);
    curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status < 300 ? ERR_OK : refusal(client, status, error);
}

enum err http_client_ask(struct http_client *client, const struct http_question *question,
                         struct span *ret_body, struct error *error) {
    struct remote_retry retry = {.left = client->config.retries,
                                 .deadline_ms = clock_mono_ms() + client->config.timeout_ms};
    enum err err = set_url(client, question->path, error);
    if (err)
        return err;
    if (!set_question(client, question))
        return error_set(error, ERR_NO_MEMORY, "cannot set up a request");
    do
        err = ask_once(client, remote_retry_left_ms(&retry, INT32_MAX), error);
    while ((err == ERR_UNAVAILABLE || err == ERR_TIMEOUT) && remote_retry_wait(&retry));
    if (err == ERR_OK)
        *ret_body = buffer_span(&client->body);
    return err;
}
