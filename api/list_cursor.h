/*
 * The opaque cursor of paged lists: where the next page begins. Text of letters and digits, to be
 * handed back as it came. It holds a version, so that a cursor of another server's version is
 * refused and not misread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

#define LIST_CURSOR_SIZE 27 /* with NUL */

void list_cursor_write(int64_t before, char ret_text[static LIST_CURSOR_SIZE]);
/* False when it is no cursor of ours. */
bool list_cursor_read(struct span text, int64_t *ret_before);
