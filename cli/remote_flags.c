#include "cli/remote_flags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define RETRIES_MAX 1000
#define SECONDS_MAX (7L * 24 * 3600)

enum flag {
    SERVER,
    TOKEN_FILE,
    HEADER,
    RETRIES,
    TIMEOUT,
    WAIT,
    ID_KIND,
    AUTHORITIES,
    CERTIFICATE,
    KEY,
    INSECURE, /* the only one without a value */
    NONE
};

static const char *const names[] = {
    "--server",  "--bearer-token-file", "--header", "--retries", "--timeout",
    "--wait",    "--build-id-kind",     "--cacert", "--cert",    "--key",
    "--insecure"};

enum err remote_number_parse(const char *text, long min, long max, long *ret_number,
                             struct error *error) {
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < min || number > max)
        return error_set(error, ERR_INVALID, "want a number from %ld to %ld, not \"%.100s\"", min,
                         max, text);
    *ret_number = number;
    return ERR_OK;
}

/* *ret_value: behind "=", or NULL where the next argument is the value. */
static enum flag flag_of(const char *argument, const char **ret_value) {
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t size = strlen(names[i]);
        if (strncmp(argument, names[i], size) != 0)
            continue;
        if (argument[size] != '\0' && (argument[size] != '=' || i == INSECURE))
            continue;
        *ret_value = argument[size] == '=' ? argument + size + 1 : NULL;
        return (enum flag)i;
    }
    return NONE;
}

static enum err apply(struct remote_flags *flags, enum flag flag, const char *value,
                      struct error *error) {
    switch (flag) {
    case SERVER:
        flags->access->server_url = value;
        return ERR_OK;
    case TOKEN_FILE:
        return remote_access_read_token(flags->access, value, error);
    case HEADER:
        return remote_access_add_header(flags->access, value, error);
    case RETRIES:
        return remote_number_parse(value, 0, RETRIES_MAX, &flags->retries, error);
    case TIMEOUT:
        return remote_number_parse(value, 1, SECONDS_MAX, &flags->timeout_s, error);
    case WAIT:
        return remote_number_parse(value, 0, SECONDS_MAX, &flags->wait_s, error);
    case ID_KIND:
        flags->id_kind = value;
        return ERR_OK;
    case AUTHORITIES:
        flags->access->authorities = value;
        return ERR_OK;
    case CERTIFICATE:
        flags->access->certificate = value;
        return ERR_OK;
    case KEY:
        flags->access->key = value;
        return ERR_OK;
    case INSECURE:
        flags->access->insecure = true;
        return ERR_OK;
    case NONE:
        break;
    }
    return ERR_OK;
}

enum err remote_flags_take(int argument_count, char **arguments, struct remote_flags *flags,
                           char **ret_rest, int *ret_rest_count, struct error *error) {
    bool is_open = true;
    *ret_rest_count = 0;
    for (int i = 0; i < argument_count; i++) {
        const char *value = NULL;
        is_open = is_open && strcmp(arguments[i], "--") != 0;
        enum flag flag = is_open ? flag_of(arguments[i], &value) : NONE;
        if (flag == NONE) {
            ret_rest[(*ret_rest_count)++] = arguments[i];
            continue;
        }
        if (!value && flag != INSECURE && i + 1 == argument_count)
            return error_set(error, ERR_INVALID, "%s needs a value", names[flag]);
        if (!value && flag != INSECURE)
            value = arguments[++i];
        enum err err = apply(flags, flag, value, error);
        if (err)
            return error_prefix(error, "%s", names[flag]);
    }
    ret_rest[*ret_rest_count] = NULL;
    enum err err = remote_access_check_tls(flags->access, error);
    return err ? err : remote_access_token_of_environment(flags->access, error);
}
