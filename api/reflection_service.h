/*
 * `grpc.reflection.v1.ServerReflection`, and v1alpha of it, which is the same by another name:
 * tools learn from it which services there are, and how their messages look.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "rpc/grpc_service.h"

#define REFLECTION_SERVICE_COUNT 2

struct reflection_service;

/* Lists `names` (borrowed) and its own two. */
enum err reflection_service_new(const char *const *names, size_t name_count,
                                struct reflection_service **ret_service, struct error *error);

/* number < REFLECTION_SERVICE_COUNT */
const struct grpc_service *reflection_service_grpc(const struct reflection_service *service,
                                                   size_t number);
void reflection_service_free(struct reflection_service *service);
DEFINE_CLEANUP(reflection_service, struct reflection_service, reflection_service_free)
