#include "rpc/grpc_keepalive.h"

#define STRIKES_MAX 2
#define INTERVAL_WITHOUT_CALLS_MS ((int64_t)2 * 3600 * 1000)
#define SPREAD_PERCENT 10

struct grpc_keepalive grpc_keepalive_of(const struct grpc_keepalive_limits *limits, int64_t now_ms,
                                        unsigned spread) {
    struct grpc_keepalive self = {
        .opened_ms = now_ms, .age_max_ms = INT64_MAX, .idle_since_ms = now_ms};
    int64_t percent = 100 - SPREAD_PERCENT + (int64_t)(spread % (2 * SPREAD_PERCENT + 1));
    if (limits->age_max_ms > 0)
        self.age_max_ms = limits->age_max_ms / 100 * percent + limits->age_max_ms % 100;
    return self;
}

enum grpc_keepalive_act grpc_keepalive_check(struct grpc_keepalive *self,
                                             const struct grpc_keepalive_limits *limits,
                                             int64_t now_ms, int64_t read_ms, bool has_calls) {
    if (self->asked_ms > 0 && read_ms >= self->asked_ms)
        self->asked_ms = 0;
    if (self->asked_ms > 0 && now_ms - self->asked_ms >= limits->timeout_ms)
        return GRPC_KEEPALIVE_CLOSE;
    if (self->asked_ms == 0 && now_ms - read_ms >= limits->time_ms) {
        self->asked_ms = now_ms;
        return GRPC_KEEPALIVE_PING;
    }
    bool old = now_ms - self->opened_ms >= self->age_max_ms;
    bool idle = !has_calls && now_ms - self->idle_since_ms >= limits->idle_max_ms;
    return old || idle ? GRPC_KEEPALIVE_SHUT : GRPC_KEEPALIVE_NOTHING;
}

void grpc_keepalive_idle(struct grpc_keepalive *self, int64_t now_ms) {
    self->idle_since_ms = now_ms;
}

bool grpc_keepalive_take_ping(struct grpc_keepalive *self,
                              const struct grpc_keepalive_limits *limits, int64_t now_ms,
                              bool has_calls) {
    bool often = has_calls || limits->pings_without_calls;
    int64_t interval_ms = often ? limits->ping_interval_min_ms : INTERVAL_WITHOUT_CALLS_MS;
    if (self->ping_ms > 0 && now_ms - self->ping_ms < interval_ms)
        self->strikes++;
    self->ping_ms = now_ms;
    return self->strikes <= STRIKES_MAX;
}

void grpc_keepalive_sent(struct grpc_keepalive *self) {
    self->strikes = 0;
    self->ping_ms = 0;
}
