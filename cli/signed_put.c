#include "cli/signed_put.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/curl_tls.h"

#define CONNECT_TIMEOUT_S 30L
#define PUT_TIMEOUT_MS ((int64_t)15 * 60 * 1000)
#define REDIRECTS_MAX 5L
/* How much of an answer's body is kept to be shown. */
#define BODY_SIZE_MAX ((size_t)256)

struct put {
    struct span bytes;
    size_t sent;
    struct progress *progress;
    char body[BODY_SIZE_MAX];
    size_t body_size;
};

static void end_easy(CURL **easy) {
    curl_easy_cleanup(*easy);
}

enum err signed_put_init(struct error *error) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return error_set(error, ERR_UNAVAILABLE, "cannot start the HTTP client");
    return ERR_OK;
}

static void move_to(struct put *put, size_t position) {
    progress_move(put->progress, (int64_t)position - (int64_t)put->sent);
    put->sent = position;
}

static size_t read_bytes(char *room, size_t item_size, size_t count, void *argument) {
    struct put *put = argument;
    size_t size = item_size * count;
    size_t left = put->bytes.size - put->sent;
    if (size > left)
        size = left;
    if (size > 0)
        memcpy(room, put->bytes.data + put->sent, size);
    move_to(put, put->sent + size);
    return size;
}

/* curl goes back when a redirect or a dropped connection makes it send again. */
static int seek_bytes(void *argument, curl_off_t offset, int origin) {
    struct put *put = argument;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > put->bytes.size)
        return CURL_SEEKFUNC_CANTSEEK;
    move_to(put, (size_t)offset);
    return CURL_SEEKFUNC_OK;
}

static size_t keep_body(char *bytes, size_t item_size, size_t count, void *argument) {
    struct put *put = argument;
    size_t size = item_size * count;
    size_t room = sizeof(put->body) - put->body_size;
    memcpy(put->body + put->body_size, bytes, size < room ? size : room);
    put->body_size += size < room ? size : room;
    return size;
}

static bool set_up(CURL *easy, struct put *put, const char *url, int64_t timeout_ms) {
    return curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)put->bytes.size) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_bytes) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_READDATA, put) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_bytes) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SEEKDATA, put) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, put) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_MAXREDIRS, REDIRECTS_MAX) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10) == CURLE_OK;
}

static enum err failure_of(CURLcode code, const char *text, struct error *error) {
    enum err err = curl_tls_failed(code, text) ? ERR_DENIED : ERR_UNAVAILABLE;
    if (code == CURLE_OPERATION_TIMEDOUT)
        err = ERR_TIMEOUT;
    else if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
        err = ERR_INVALID;
    return error_set(error, err, "the signed URL: %s", text[0] ? text : curl_easy_strerror(code));
}

static enum grpc_status status_of(long code) {
    if (code >= 200 && code < 300)
        return GRPC_OK;
    bool is_temporary = code == 408 || code == 425 || code == 429 || code >= 500;
    return is_temporary ? GRPC_UNAVAILABLE : GRPC_FAILED_PRECONDITION;
}

static void read_answer(CURL *easy, const struct put *put, struct remote_answer *ret_answer) {
    long code = 0;
    char body[BODY_SIZE_MAX + 1];
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    utf8_copy_printable(span_of(put->body, put->body_size), body, sizeof(body));
    *ret_answer = (struct remote_answer){.status = status_of(code)};
    if (ret_answer->status != GRPC_OK)
        snprintf(ret_answer->text, sizeof(ret_answer->text), "HTTP %ld%s%s", code,
                 body[0] ? ": " : "", body);
}

enum err signed_put(struct remote_session *session, const struct remote_access *access,
                    const struct remote_object *object, const char *url,
                    struct remote_answer *ret_answer, struct error *error) {
    struct put put = {.bytes = object->bytes, .progress = session->progress};
    int64_t timeout_ms = remote_retry_left_ms(&session->retry, PUT_TIMEOUT_MS);
    if (timeout_ms == 0)
        return error_set(error, ERR_TIMEOUT, "the time for it is over");
    CLEANUP(end_easy) CURL *easy = curl_easy_init();
    if (!easy || !set_up(easy, &put, url, timeout_ms) || !curl_tls_set_up(easy, access))
        return error_set(error, ERR_NO_MEMORY, "cannot set up the HTTP client");
    char failure[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, failure);
    CURLcode code = curl_easy_perform(easy);
    if (code == CURLE_OK)
        read_answer(easy, &put, ret_answer);
    if (code != CURLE_OK || ret_answer->status != GRPC_OK)
        move_to(&put, 0);
    return code == CURLE_OK ? ERR_OK : failure_of(code, failure, error);
}
