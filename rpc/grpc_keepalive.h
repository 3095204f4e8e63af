/*
 * When a connection of the gRPC server is pinged, given up or told to go, and how often its client
 * may ping: the rules of gRPC's servers (proposals A8 and A9 of the gRPC project), without a clock
 * and without a connection.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds, none of them 0 but age_max_ms. */
struct grpc_keepalive_limits {
    int64_t time_ms;              /* a peer that was silent for so long is pinged */
    int64_t timeout_ms;           /* and has so long to say anything */
    int64_t ping_interval_min_ms; /* between pings of the client */
    bool pings_without_calls;     /* they may come so often also while no call is open */
    int64_t idle_max_ms;          /* without a call */
    int64_t age_max_ms;           /* 0: any */
};

struct grpc_keepalive {
    int64_t opened_ms;
    int64_t age_max_ms;    /* the limit, a little earlier or later; INT64_MAX: none */
    int64_t idle_since_ms; /* counts while no call is open */
    int64_t asked_ms;      /* our ping that nothing has answered; 0: none */
    int64_t ping_ms;       /* the client's last; 0: none that counts */
    unsigned strikes;
};

enum grpc_keepalive_act {
    GRPC_KEEPALIVE_NOTHING,
    GRPC_KEEPALIVE_PING,
    GRPC_KEEPALIVE_SHUT,  /* no new calls; it ends with its last */
    GRPC_KEEPALIVE_CLOSE, /* the peer is dead */
};

/* The spread, any number, keeps connections that came together from going together. */
struct grpc_keepalive grpc_keepalive_of(const struct grpc_keepalive_limits *limits, int64_t now_ms,
                                        unsigned spread);

/* What is due. After GRPC_KEEPALIVE_PING a ping counts as sent. */
enum grpc_keepalive_act grpc_keepalive_check(struct grpc_keepalive *self,
                                             const struct grpc_keepalive_limits *limits,
                                             int64_t now_ms, int64_t read_ms, bool has_calls);

/* The last call has ended. */
void grpc_keepalive_idle(struct grpc_keepalive *self, int64_t now_ms);

/* The client has pinged. False: too many times, and the connection is to end. */
bool grpc_keepalive_take_ping(struct grpc_keepalive *self,
                              const struct grpc_keepalive_limits *limits, int64_t now_ms,
                              bool has_calls);

/* We have sent something of a call: a client may ping to measure. */
void grpc_keepalive_sent(struct grpc_keepalive *self);
