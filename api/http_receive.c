/* Receiving a body: into memory, into a receiver, or nowhere when the answer is known already. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http_exchange_internal.h"
#include "base/clock.h"

/* More than this is not read on only to be dropped: the connection is closed. */
#define DROPPED_SIZE_MAX ((uint64_t)256 << 20)

static void refuse_size(struct http_exchange *exchange) {
    char message[128];
    snprintf(message, sizeof(message), "the body is over the limit of %zu bytes",
             exchange->server->config.body_size_max);
    http_exchange_refuse(exchange, 413, err_name(ERR_LIMIT), message, NULL);
}

bool http_exchange_body_size(const struct http_exchange *exchange, uint64_t *ret_size) {
    const char *text = http_exchange_header(exchange, "Content-Length");
    if (!text)
        return false;
    *ret_size = strtoull(text, NULL, 10);
    return true;
}

static const struct http_route *route_of(const struct http_exchange *exchange) {
    const struct http_server_config *config = &exchange->server->config;
    assert(exchange->route < config->route_count);
    return &config->routes[exchange->route];
}

/* Who waits for "100 Continue" has not begun to write and can be answered now; to others we listen
 * on, since a client that is still writing would lose the answer. */
static enum MHD_Result go_on(struct http_exchange *exchange) {
    exchange->headers_done = true;
    if (exchange->state == EXCHANGE_ANSWERED && http_exchange_header(exchange, "Expect"))
        return http_exchange_send(exchange);
    return MHD_YES;
}

enum MHD_Result http_receive_begin(struct http_exchange *exchange) {
    uint64_t size = 0;
    if (exchange->state == EXCHANGE_RECEIVING && route_of(exchange)->prepare)
        return http_server_hand_over(exchange, EXCHANGE_PREPARING);
    if (exchange->state == EXCHANGE_RECEIVING && http_exchange_body_size(exchange, &size) &&
        size > exchange->server->config.body_size_max)
        refuse_size(exchange);
    return go_on(exchange);
}

enum MHD_Result http_receive_prepared(struct http_exchange *exchange) {
    exchange->deadline_ms = clock_mono_ms() + exchange->server->config.transfer_max_ms;
    return go_on(exchange);
}

static void drop_receiver(struct http_exchange *exchange) {
    exchange->receiver->ops->free(exchange->receiver);
    exchange->receiver = NULL;
}

static enum MHD_Result receive_on(struct http_exchange *exchange, struct span bytes) {
    struct error error;
    if (exchange->receiver->ops->receive(exchange->receiver, bytes, &error) == ERR_OK)
        return MHD_YES;
    drop_receiver(exchange);
    exchange->deadline_ms = clock_mono_ms() + exchange->server->config.transfer_max_ms;
    http_exchange_fail(exchange, &error);
    return MHD_YES;
}

static void keep(struct http_exchange *exchange, const char *bytes, size_t size) {
    struct http_server *server = exchange->server;
    size_t total = atomic_fetch_add(&server->body_total, size) + size;
    size_t before = exchange->body.size;
    if (total <= server->config.body_total_max)
        buffer_append(&exchange->body, bytes, size);
    if (exchange->body.size != before)
        return;
    atomic_fetch_sub(&server->body_total, size);
    bool over = exchange->received > server->config.body_size_max;
    http_exchange_drop_body(exchange);
    if (over)
        refuse_size(exchange);
    else
        http_exchange_refuse(exchange, 503, err_name(ERR_UNAVAILABLE),
                             "too many large requests at once", NULL);
}

enum MHD_Result http_receive_bytes(struct http_exchange *exchange, const char *bytes, size_t size) {
    if (exchange->state == EXCHANGE_RECEIVING && exchange->receiver)
        return receive_on(exchange, span_of(bytes, size));
    if (clock_mono_ms() > exchange->deadline_ms)
        return MHD_NO;
    if (exchange->state == EXCHANGE_ANSWERED) {
        exchange->dropped += size;
        return exchange->dropped > DROPPED_SIZE_MAX ? MHD_NO : MHD_YES;
    }
    exchange->received += size;
    keep(exchange, bytes, size);
    return MHD_YES;
}
