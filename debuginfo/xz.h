/*
 * Inflating an .xz stream (the XZ file format 1.1, by liblzma) whose size nothing tells beforehand.
 * The bytes are hostile: output and the decoder's own memory are bounded.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* What the decoder itself may take: `xz -9` needs 65 MiB. */
#define XZ_MEMORY_MAX ((uint64_t)96 << 20)

/* Appends the contents of one or more streams to `output`, whose size_max bounds them.
 * ERR_MALFORMED, ERR_LIMIT, ERR_NO_MEMORY. */
enum err xz_inflate(struct span input, struct buffer *output, struct error *error);
