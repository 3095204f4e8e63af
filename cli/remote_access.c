#include "cli/remote_access.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define TOKEN_SIZE_MAX ((size_t)16384)

void remote_access_clear(struct remote_access *access) {
    for (size_t i = 0; i < access->header_count; i++)
        free((char *)access->headers[i].name); /* the value lies behind it */
    free(access->authorization);
    tls_credentials_unref(access->tls);
    *access = (struct remote_access){0};
}

enum err remote_access_add_header(struct remote_access *access, const char *text,
                                  struct error *error) {
    if (!strchr(text, '='))
        return error_set(error, ERR_INVALID, "want name=value, not \"%.200s\"", text);
    if (access->header_count == GRPC_HEADER_COUNT_MAX)
        return error_set(error, ERR_INVALID, "at most %d headers", GRPC_HEADER_COUNT_MAX);
    CLEANUP(cleanup_free) char *name = strdup(text);
    if (!name)
        return error_set(error, ERR_NO_MEMORY, "no memory for a header");
    char *equals = strchr(name, '=');
    *equals = '\0';
    for (char *byte = name; *byte; byte++)
        *byte = (char)tolower((unsigned char)*byte);
    struct grpc_header header = {.name = name, .value = equals + 1};
    enum err err = grpc_headers_check(&header, 1, error);
    if (err)
        return err;
    access->headers[access->header_count++] = header;
    TAKE(name);
    return ERR_OK;
}

static enum err set_token(struct remote_access *access, const char *token, size_t size,
                          struct error *error) {
    while (size > 0 && isspace((unsigned char)token[0])) {
        token++;
        size--;
    }
    while (size > 0 && isspace((unsigned char)token[size - 1]))
        size--;
    for (size_t i = 0; i < size; i++)
        if (token[i] <= ' ' || token[i] > '~')
            return error_set(error, ERR_INVALID, "no token: a blank or an odd byte inside");
    if (size == 0)
        return error_set(error, ERR_INVALID, "no token: nothing in it");
    char *text;
    if (asprintf(&text, "Bearer %.*s", (int)size, token) < 0)
        return error_set(error, ERR_NO_MEMORY, "no memory for a token");
    free(access->authorization);
    access->authorization = text;
    return ERR_OK;
}

enum err remote_access_read_token(struct remote_access *access, const char *path,
                                  struct error *error) {
    CLEANUP(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return error_set(error, ERR_IO, "%s: %s", path, strerrordesc_np(errno));
    char text[TOKEN_SIZE_MAX + 1];
    size_t size = 0;
    enum err err = fd_read_full(fd, text, sizeof(text), &size, error);
    if (err == ERR_OK && size > TOKEN_SIZE_MAX)
        err = error_set(error, ERR_INVALID, "too long for a token");
    if (err == ERR_OK)
        err = set_token(access, text, size, error);
    return err ? error_prefix(error, "%s", path) : ERR_OK;
}

enum err remote_access_token_of_environment(struct remote_access *access, struct error *error) {
    const char *token = getenv(REMOTE_TOKEN_VARIABLE);
    if (access->authorization || !token)
        return ERR_OK;
    size_t size = strlen(token);
    enum err err = size > TOKEN_SIZE_MAX ? error_set(error, ERR_INVALID, "too long for a token")
                                         : set_token(access, token, size, error);
    return err ? error_prefix(error, REMOTE_TOKEN_VARIABLE) : ERR_OK;
}

static enum err load(struct remote_access *access, struct error *error) {
    const struct tls_files files = {
        .certificate = access->certificate, .key = access->key, .authorities = access->authorities};
    return tls_credentials_load_client(&files, access->insecure, &access->tls, error);
}

enum err remote_access_check_tls(struct remote_access *access, struct error *error) {
    if (access->key && !access->certificate)
        return error_set(error, ERR_INVALID, "--key is of --cert");
    /* Without a file to read there is nothing to find, and the system's authorities are many. */
    return access->certificate || access->authorities ? load(access, error) : ERR_OK;
}

enum err remote_access_load_tls(struct remote_access *access, struct error *error) {
    bool is_needed = span_starts_with(span_cstr(access->server_url), "https://");
    return is_needed && !access->tls ? load(access, error) : ERR_OK;
}
