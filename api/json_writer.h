/*
 * Writes JSON (RFC 8259) piece by piece into a buffer, which the caller may empty between any two
 * calls. Commas and nesting are kept here; a value where a key is due is a bug (assert).
 *
 * Strings may hold any bytes, since names and paths out of binaries do. Escaping is defined:
 *   - valid UTF-8 (RFC 3629: shortest form, no surrogates, up to U+10FFFF) passes unchanged, but
 *     '"', '\' and the control characters below U+0020, which are escaped;
 *   - every byte that belongs to no such character becomes U+FFFD.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

#define JSON_DEPTH_MAX 16

struct json_writer {
    struct buffer *out; /* borrowed */
    unsigned depth;
    bool has_items[JSON_DEPTH_MAX]; /* by depth: a comma is due before the next */
    bool after_key;
};

struct json_writer json_writer_to(struct buffer *out);

void json_writer_object_begin(struct json_writer *writer);
void json_writer_object_end(struct json_writer *writer);
void json_writer_array_begin(struct json_writer *writer);
void json_writer_array_end(struct json_writer *writer);

/* A key of ours: ASCII that needs no escaping. */
void json_writer_key(struct json_writer *writer, const char *key);

void json_writer_string(struct json_writer *writer, struct span text);
/* A string, or null where the pointer is NULL or the span is empty. */
void json_writer_cstr_or_null(struct json_writer *writer, const char *text);
void json_writer_string_or_null(struct json_writer *writer, struct span text);
void json_writer_u64(struct json_writer *writer, uint64_t number);
/* The number, or null for 0: how a frame says "unknown". */
void json_writer_u64_or_null(struct json_writer *writer, uint64_t number);
/* `digits` after the point; the value must be finite. */
void json_writer_fixed(struct json_writer *writer, double value, int digits);
void json_writer_bool(struct json_writer *writer, bool value);
void json_writer_null(struct json_writer *writer);
