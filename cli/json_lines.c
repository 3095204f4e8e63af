#include "cli/json_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define PATH_SIZE 512
#define TEXT_SIZE 4096

/* Where the value stands. */
struct place {
    FILE *stream;
    char path[PATH_SIZE];
    unsigned depth;
};

static void write_value(struct place *place, const json_t *value);

/* The path grows for the time of one value. A part that does not fit is left out. */
static void write_under(struct place *place, const json_t *value, const char *part) {
    size_t size = strlen(place->path);
    snprintf(place->path + size, sizeof(place->path) - size, "%s", part);
    place->depth++;
    write_value(place, value);
    place->depth--;
    place->path[size] = '\0';
}

static void write_object(struct place *place, const json_t *object) {
    const char *key;
    const json_t *value;
    for (void *at = json_object_iter((json_t *)object); at;
         at = json_object_iter_next((json_t *)object, at)) {
        char part[PATH_SIZE];
        key = json_object_iter_key(at);
        value = json_object_iter_value(at);
        size_t size = place->path[0] ? 1 : 0;
        part[0] = '.';
        utf8_copy_printable(span_cstr(key), part + size, sizeof(part) - size);
        write_under(place, value, part);
    }
}

static void write_array(struct place *place, const json_t *array) {
    size_t count = json_array_size(array);
    for (size_t i = 0; i < count; i++) {
        char part[32];
        snprintf(part, sizeof(part), "[%zu]", i);
        write_under(place, json_array_get(array, i), part);
    }
}

static void write_scalar(const struct place *place, const json_t *value) {
    char text[TEXT_SIZE];
    if (json_is_string(value)) {
        utf8_copy_printable(span_of(json_string_value(value), json_string_length(value)), text,
                            sizeof(text));
        fprintf(place->stream, "%s: %s\n", place->path, text);
        return;
    }
    char *number = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    fprintf(place->stream, "%s: %s\n", place->path, number ? number : "?");
    free(number);
}

static void write_value(struct place *place, const json_t *value) {
    bool is_nested = json_is_object(value) || json_is_array(value);
    if (is_nested && place->depth >= JSON_LINES_DEPTH_MAX)
        fprintf(place->stream, "%s: \xe2\x80\xa6\n", place->path);
    else if (json_is_object(value))
        write_object(place, value);
    else if (json_is_array(value))
        write_array(place, value);
    else if (!json_is_null(value))
        write_scalar(place, value);
}

void json_lines_write(FILE *stream, const json_t *value) {
    struct place place = {.stream = stream};
    write_value(&place, value);
}
