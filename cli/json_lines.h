/*
 * JSON for a person: one "key: value" a line, where the key of a nested value is its path,
 * "objects[0].size". Control characters of the values are not passed on.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* What lies deeper than this is shown as "…". */
#define JSON_LINES_DEPTH_MAX 8

void json_lines_write(FILE *stream, const json_t *value);
