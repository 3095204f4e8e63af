/*
 * What names a binary. One binary can have several names of different kinds; all of them find it.
 *
 *   gnu      the descriptor of the NT_GNU_BUILD_ID note, lower-case hex, 2 to 64 bytes
 *   go       the Go toolchain's build ID: printable text, usually with '/' inside
 *   htlhash  OpenTelemetry's process.executable.build_id.htlhash, 32 lower-case hex digits:
 *            SHA-256(first 4096 bytes || last 4096 bytes || 64-bit big-endian length)[0..16].
 *            Parca Agent's FileID is the same number.
 *   uuid     36 characters, lower-case
 *
 * A value comes from outside and is checked by binary_id_parse; it is never used raw as a path.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

enum binary_id_kind {
    BINARY_ID_GNU = 1,
    BINARY_ID_GO = 2,
    BINARY_ID_HTLHASH = 3,
    BINARY_ID_UUID = 4,
};

#define BINARY_ID_TEXT_MAX 255

struct binary_id {
    enum binary_id_kind kind;
    char text[BINARY_ID_TEXT_MAX + 1]; /* canonical, NUL-terminated */
};

/*
 * Checks and canonicalises (hex and UUID fold to lower case). ERR_INVALID with a text that says
 * what would be right: empty, too long, NUL or control bytes, wrong digits, an all-zero id, an id
 * shorter than two bytes, the text "redacted".
 */
enum err binary_id_parse(enum binary_id_kind kind, struct span text, struct binary_id *ret_id,
                         struct error *error);

/* From the bytes of a GNU build-ID note; ERR_INVALID as above. */
enum err binary_id_from_gnu_note(struct span bytes, struct binary_id *ret_id, struct error *error);

bool binary_id_equal(const struct binary_id *a, const struct binary_id *b);

/* "gnu", "go", "htlhash", "uuid"; NULL for a number that is no kind. */
const char *binary_id_kind_name(enum binary_id_kind kind);
bool binary_id_kind_from_name(struct span name, enum binary_id_kind *ret_kind);
