#include "api/http_cors.h"

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
                             "X-Request-Id, Retry-After");
}

bool http_cors_preflight(struct http_exchange *exchange) {
    if (strcmp(exchange->method, "OPTIONS") != 0 ||
        !http_exchange_header(exchange, "Access-Control-Request-Method") ||
        !allowed_origin(exchange))
        return false;
    exchange->route = exchange->server->config.route_count;
    http_exchange_add_header(exchange, "Access-Control-Allow-Methods", "GET, HEAD, POST");
    http_exchange_add_header(exchange, "Access-Control-Allow-Headers", "Content-Type");
    http_exchange_add_header(exchange, "Access-Control-Max-Age", PREFLIGHT_AGE_S);
    struct buffer empty = {0};
    http_exchange_reply(exchange, 204, NULL, &empty);
    return true;
}
