/*
 * `grpc.health.v1.Health`, which load balancers and probes ask: serving from the start, unless
 * health_service_set_serving says otherwise, and not serving from the moment of
 * health_service_stop.
 */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "rpc/grpc_service.h"

struct health_service;

/* The empty name, for the server as a whole, is known besides `names` (borrowed). */
enum err health_service_new(const char *const *names, size_t name_count,
                            struct health_service **ret_service, struct error *error);
const struct grpc_service *health_service_grpc(const struct health_service *service);

/* Of the server and all its services; who watches is told of a change. Any thread. */
void health_service_set_serving(struct health_service *service, bool serving);

/* Tells those who watch that we stop serving, and ends their calls. Any thread, any number of
 * times; to be called before the gRPC server is stopped, which waits for open calls. */
void health_service_stop(struct health_service *service);

/* Once the gRPC server is gone. */
void health_service_free(struct health_service *service);
DEFINE_CLEANUP(health_service, struct health_service, health_service_free)
