/* Strings in JSON (RFC 8259) from bytes that may be anything. */
#pragma once

#include <stdio.h>

#include "base/span.h"

/* In quotes, escaped; each byte that belongs to no UTF-8 character becomes U+FFFD. */
void json_text_write(FILE *stream, struct span text);
