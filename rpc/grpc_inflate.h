/*
 * A gzip message (RFC 1952) inflated as a stream: pieces in, pieces out, with the memory of one
 * window and one piece however large the message is. The bytes are hostile: the output is bounded
 * by a limit, whatever the ratio.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"

struct grpc_inflate;

/* ERR_NO_MEMORY. */
enum err grpc_inflate_new(struct grpc_inflate **ret_inflate, struct error *error);
void grpc_inflate_free(struct grpc_inflate *inflate);
DEFINE_CLEANUP(grpc_inflate, struct grpc_inflate, grpc_inflate_free)

/* A message starts that may have size_max bytes. */
void grpc_inflate_begin(struct grpc_inflate *inflate, uint64_t size_max);

/*
 * The next piece of output, valid until the next call; *input moves past what was used. An empty
 * piece means that all input was used. ERR_LIMIT for a message over its maximum, ERR_MALFORMED
 * (also for bytes behind the end), ERR_NO_MEMORY.
 */
enum err grpc_inflate_next(struct grpc_inflate *inflate, struct span *input, struct span *ret_piece,
                           struct error *error);

/* True when there may be output without more input. */
bool grpc_inflate_has_more(const struct grpc_inflate *inflate);

/* All input was given. ERR_MALFORMED when the compressed data go on. */
enum err grpc_inflate_end(const struct grpc_inflate *inflate, struct error *error);
