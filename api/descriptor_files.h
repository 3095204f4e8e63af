/*
 * The descriptors of our own proto files, embedded by the build: what gRPC reflection answers with.
 */
#pragma once

#include <stdbool.h>

#include "base/span.h"

/* A serialized google.protobuf.FileDescriptorProto by the file's name ("health.proto"), or by the
 * full name of something that it declares ("grpc.health.v1.Health", ".Health.Check"). */
bool descriptor_file_by_name(struct span name, struct span *ret_file);
bool descriptor_file_by_symbol(struct span symbol, struct span *ret_file);
