#include "api/http_cors.h"

#include <stdio.h>
#include <string.h>

#include "api/http_exchange_internal.h"

#define PREFLIGHT_AGE_S "3600"

bool http_cors_is_origin(const char *text) {
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
        size_t size = strlen(schemes[i]);
        if (strncmp(text, schemes[i], size) == 0)
            return text[size] != '\0' && !strpbrk(text + size, "/?#@* ,") &&
                   strlen(text) < HTTP_ANSWER_HEADER_VALUE_SIZE;
    }
    return false;
}

bool http_cors_is_method(const char *text) {
    static const char *const methods[] = {"GET", "POST", "PUT", "DELETE"};
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
        if (strcmp(text, methods[i]) == 0)
            return true;
    return false;
}

static const char *allowed_origin(const struct http_exchange *exchange) {
    const struct http_server_config *config = &exchange->server->config;
    const char *origin = http_exchange_header(exchange, "Origin");
    for (size_t i = 0; origin && i < config->origin_count; i++) {
        if (strcmp(origin, config->origins[i]) == 0)
            return config->origins[i];
    }
    return NULL;
}

void http_cors_begin(struct http_exchange *exchange) {
    if (exchange->server->config.origin_count == 0)
        return;
    /* Caches must not show one origin's answer, nor that of none, to another. */
    http_exchange_add_header(exchange, "Vary", "Origin");
    const char *origin = allowed_origin(exchange);
    if (!origin)
        return;
    http_exchange_add_header(exchange, "Access-Control-Allow-Origin", origin);
    http_exchange_add_header(exchange, "Access-Control-Expose-Headers",
                             "X-Request-Id, Retry-After, ETag, Content-Range");
}

/* The methods are few and known, so that they fit. */
static void allow_methods(struct http_exchange *exchange) {
    const struct http_server_config *config = &exchange->server->config;
    char text[HTTP_ANSWER_HEADER_VALUE_SIZE] = "";
    size_t size = 0;
    for (size_t i = 0; i < config->method_count && size < sizeof(text); i++) {
        bool is_get = strcmp(config->methods[i], "GET") == 0;
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s", size > 0 ? ", " : "",
                                 is_get ? "GET, HEAD" : config->methods[i]);
    }
    http_exchange_add_header(exchange, "Access-Control-Allow-Methods", text);
}

bool http_cors_preflight(struct http_exchange *exchange) {
    if (strcmp(exchange->method, "OPTIONS") != 0 ||
        !http_exchange_header(exchange, "Access-Control-Request-Method") ||
        !allowed_origin(exchange))
        return false;
    exchange->route = exchange->server->config.route_count;
    allow_methods(exchange);
    http_exchange_add_header(exchange, "Access-Control-Allow-Headers",
                             "Content-Type, Range, If-None-Match, If-Range");
    http_exchange_add_header(exchange, "Access-Control-Max-Age", PREFLIGHT_AGE_S);
    struct buffer empty = {0};
    http_exchange_reply(exchange, 204, NULL, &empty);
    return true;
}
