/* UTF-8 (RFC 3629) in bytes from outside: what is well-formed, and text made safe to show. */
#pragma once

#include <stddef.h>

#include "base/span.h"

/* The size of the well-formed character at the front: 1 to 4; 0 when there is none (empty, a
 * stray or missing continuation, an overlong form, a surrogate, past U+10FFFF). */
size_t utf8_character_size(struct span bytes);

/* Copies as many whole characters as fit into size - 1 bytes and a NUL. Control characters (C0,
 * DEL, C1) and bytes that are no UTF-8 become '?'. Returns the length; size is at least 1. */
size_t utf8_copy_printable(struct span bytes, char *ret_text, size_t size);
