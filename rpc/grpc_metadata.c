#include "rpc/grpc_metadata.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/span.h"

static bool is_name(const char *name) {
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyz_-.";
    return name[0] != '\0' && name[strspn(name, allowed)] == '\0';
}

static bool is_reserved(const char *name) {
    static const char *const names[] = {"te",         "content-type", "content-length",
                                        "host",       "connection",   "transfer-encoding",
                                        "keep-alive", "upgrade",      "proxy-connection"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return span_starts_with(span_cstr(name), "grpc-");
}

static bool is_binary(const char *name) {
    size_t size = strlen(name);
    return size >= 4 && strcmp(name + size - 4, "-bin") == 0;
}

/* Blanks at either end would not arrive. */
static bool is_value(const char *value) {
    size_t size = strlen(value);
    for (size_t i = 0; i < size; i++)
        if (value[i] < ' ' || value[i] > '~')
            return false;
    return size == 0 || (value[0] != ' ' && value[size - 1] != ' ');
}

enum err grpc_headers_check(const struct grpc_header *headers, size_t count, struct error *error) {
    if (count > GRPC_HEADER_COUNT_MAX)
        return error_set(error, ERR_INVALID, "%zu headers; at most %d can be sent", count,
                         GRPC_HEADER_COUNT_MAX);
    for (size_t i = 0; i < count; i++) {
        const char *name = headers[i].name;
        if (!is_name(name))
            return error_set(error, ERR_INVALID,
                             "header \"%.100s\": a name has only a-z, 0-9, '_', '-' and '.'", name);
        if (is_reserved(name) || is_binary(name))
            return error_set(error, ERR_INVALID, "header \"%.100s\" cannot be set", name);
        if (!is_value(headers[i].value))
            return error_set(error, ERR_INVALID,
                             "header \"%.100s\": the value is not printable ASCII", name);
    }
    return ERR_OK;
}
