/*
 * The configuration file: libyaml's events, read with the table of settings as the schema. Nothing
 * nests deeper than the table does, since a key is looked up before its value is read.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <yaml.h>

#include "api/settings.h"
#include "base/cleanup.h"
#include "base/fd.h"

#define KEY_MAX 64

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the present one; owned */
    const char *name;
    struct settings *settings;
    bool seen[SETTINGS_MAX];
    struct span sections[SETTINGS_MAX]; /* that were given, of keys in the table */
    size_t section_count;
};

static void reader_end(struct reader *reader) {
    yaml_event_delete(&reader->event);
    yaml_parser_delete(&reader->parser);
}

/* Puts "file:line:column: " of the present event before the text. */
static enum err at_event(const struct reader *reader, struct error *error) {
    const yaml_mark_t *mark = &reader->event.start_mark;
    return error_prefix(error, "%.200s:%zu:%zu", reader->name, mark->line + 1, mark->column + 1);
}

static enum err refuse_syntax(const struct reader *reader, struct error *error) {
    const yaml_parser_t *parser = &reader->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return error_set(error, ERR_NO_MEMORY, "no memory to read %.200s", reader->name);
    const char *problem = parser->problem ? parser->problem : "not readable";
    if (parser->error == YAML_READER_ERROR)
        return error_set(error, ERR_INVALID, "%.200s: no YAML text at byte %zu: %s", reader->name,
                         parser->problem_offset, problem);
    return error_set(error, ERR_INVALID, "%.200s:%zu:%zu: no YAML: %s", reader->name,
                     parser->problem_mark.line + 1, parser->problem_mark.column + 1, problem);
}

/* What YAML can do and a configuration file need not. */
static enum err refuse_extras(const struct reader *reader, struct error *error) {
    const yaml_event_t *event = &reader->event;
    const yaml_char_t *anchor = NULL;
    const yaml_char_t *tag = NULL;
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        error_set(error, ERR_INVALID, "aliases are not read here: write the value again");
        return at_event(reader, error);
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (!anchor && !tag)
        return ERR_OK;
    error_set(error, ERR_INVALID, "%s are not read here: write the bare value",
              tag ? "tags" : "anchors");
    return at_event(reader, error);
}

static enum err next(struct reader *reader, struct error *error) {
    yaml_event_delete(&reader->event);
    if (!yaml_parser_parse(&reader->parser, &reader->event))
        return refuse_syntax(reader, error);
    return refuse_extras(reader, error);
}

static bool is_scalar(const struct reader *reader) {
    return reader->event.type == YAML_SCALAR_EVENT;
}

static bool is_plain(const struct reader *reader) {
    return reader->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* The text of a scalar; libyaml puts a NUL behind it. False when there is a NUL inside. */
static bool scalar_text(const struct reader *reader, const char **ret_text) {
    *ret_text = (const char *)reader->event.data.scalar.value;
    return strlen(*ret_text) == reader->event.data.scalar.length;
}

static bool is_null(const struct reader *reader) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    const char *text = NULL;
    if (!is_scalar(reader) || !is_plain(reader) || !scalar_text(reader, &text))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(nulls); i++) {
        if (strcmp(text, nulls[i]) == 0)
            return true;
    }
    return false;
}

static const char *event_words(const struct reader *reader) {
    switch (reader->event.type) {
    case YAML_MAPPING_START_EVENT:
        return "a mapping";
    case YAML_SEQUENCE_START_EVENT:
        return "a list";
    default:
        return is_null(reader) ? "no value" : "one value";
    }
}

static enum err refuse_type(const struct reader *reader, const char *key, const char *wanted,
                            struct error *error) {
    error_set(error, ERR_INVALID, "%s has %s: want %s", key, event_words(reader), wanted);
    return at_event(reader, error);
}

static enum err read_list(struct reader *reader, const struct setting *setting,
                          struct error *error) {
    if (reader->event.type != YAML_SEQUENCE_START_EVENT)
        return refuse_type(reader, setting->key, "a list such as [a, b]", error);
    setting_list_clear(setting, &reader->settings->options);
    for (;;) {
        enum err err = next(reader, error);
        if (err != ERR_OK || reader->event.type == YAML_SEQUENCE_END_EVENT)
            return err;
        const char *text = NULL;
        if (!is_scalar(reader) || is_null(reader) || !scalar_text(reader, &text))
            return refuse_type(reader, setting->key, "one text for each item", error);
        if (setting_list_add(setting, text, &reader->settings->options, error) != ERR_OK) {
            error_prefix(error, "%s", setting->key);
            return at_event(reader, error);
        }
    }
}

/* YAML reads "4" as a text and 4 as a number; who quotes a number meant something else. */
static bool wants_plain(enum setting_type type) {
    return type == SETTING_BOOL || type == SETTING_COUNT;
}

static enum err read_value(struct reader *reader, const struct setting *setting,
                           struct error *error) {
    if (setting->type == SETTING_LIST)
        return read_list(reader, setting, error);
    const char *text = NULL;
    const char *wanted = setting_type_words(setting->type);
    if (!is_scalar(reader) || is_null(reader) || !scalar_text(reader, &text))
        return refuse_type(reader, setting->key, wanted, error);
    enum err err = ERR_OK;
    if (wants_plain(setting->type) && !is_plain(reader))
        err = error_set(error, ERR_INVALID, "a text in quotes: want %s without quotes", wanted);
    if (err == ERR_OK)
        err = setting_parse(setting, text, &reader->settings->options, error);
    if (err == ERR_OK)
        return ERR_OK;
    error_prefix(error, "%s", setting->key);
    return at_event(reader, error);
}

/* The first setting whose key is this, or that lies in the section of this name. */
static bool find_key(const char *key, size_t *ret_position, bool *ret_is_section) {
    size_t size = strlen(key);
    for (size_t i = 0; i < settings_count(); i++) {
        const char *known = settings_at(i)->key;
        if (strncmp(known, key, size) != 0 || (known[size] != '\0' && known[size] != '.'))
            continue;
        *ret_position = i;
        *ret_is_section = known[size] == '.';
        return true;
    }
    return false;
}

/* Among all keys and sections; a key that stands in the wrong section finds its right one. */
static enum err refuse_key(const struct reader *reader, const char *key, struct error *error) {
    const char *words[2 * SETTINGS_MAX];
    char sections[SETTINGS_MAX][KEY_MAX];
    size_t count = 0;
    const char *word = strrchr(key, '.') ? strrchr(key, '.') + 1 : key;
    const char *moved = NULL;
    for (size_t i = 0; i < settings_count(); i++) {
        const char *known = settings_at(i)->key;
        const char *dot = strchr(known, '.');
        words[count++] = known;
        if (!dot)
            continue;
        if (strcmp(dot + 1, word) == 0)
            moved = known;
        snprintf(sections[i], KEY_MAX, "%.*s", (int)(dot - known), known);
        words[count++] = sections[i];
    }
    const char *near = moved ? moved : settings_nearest(key, words, count);
    if (near)
        error_set(error, ERR_INVALID, "unknown key \"%s\"; is %s meant?", key, near);
    else
        error_set(error, ERR_INVALID, "unknown key \"%s\"", key);
    return at_event(reader, error);
}

static enum err note_section(struct reader *reader, const char *known, const char *key,
                             struct error *error) {
    struct span name = span_of(known, strlen(key));
    for (size_t i = 0; i < reader->section_count; i++) {
        if (span_equal(reader->sections[i], name)) {
            error_set(error, ERR_INVALID, "%s is given twice", key);
            return at_event(reader, error);
        }
    }
    /* Each section has a setting, so there are never more. */
    assert(reader->section_count < SETTINGS_MAX);
    reader->sections[reader->section_count++] = name;
    return ERR_OK;
}

/* The key of the present event under its section's, in ret_key. */
static enum err read_key(const struct reader *reader, const char *section,
                         char ret_key[static KEY_MAX], struct error *error) {
    const char *text = NULL;
    if (!is_scalar(reader) || !scalar_text(reader, &text)) {
        error_set(error, ERR_INVALID, "want the name of a setting here");
        return at_event(reader, error);
    }
    int size = snprintf(ret_key, KEY_MAX, "%s%s%s", section, section[0] ? "." : "", text);
    if (size < KEY_MAX && !strchr(text, '.') && text[0] && !is_null(reader))
        return ERR_OK;
    error_set(error, ERR_INVALID, "unknown key \"%.60s\"", text);
    return at_event(reader, error);
}

/* A mapping whose start is the present event, up to its end. `section` is "" for the document. */
// NOLINTNEXTLINE(misc-no-recursion): no deeper than the keys of the table
static enum err read_mapping(struct reader *reader, const char *section, struct error *error) {
    for (;;) {
        char key[KEY_MAX];
        size_t position = 0;
        bool is_section = false;
        enum err err = next(reader, error);
        if (err != ERR_OK || reader->event.type == YAML_MAPPING_END_EVENT)
            return err;
        err = read_key(reader, section, key, error);
        if (err != ERR_OK)
            return err;
        if (!find_key(key, &position, &is_section))
            return refuse_key(reader, key, error);
        const struct setting *setting = settings_at(position);
        if (is_section) {
            err = note_section(reader, setting->key, key, error);
        } else if (reader->seen[position]) {
            error_set(error, ERR_INVALID, "%s is given twice", key);
            err = at_event(reader, error);
        }
        if (err == ERR_OK)
            err = next(reader, error);
        if (err != ERR_OK)
            return err;
        if (!is_section) {
            err = read_value(reader, setting, error);
            reader->seen[position] = true;
            reader->settings->origins[position] = SETTING_FROM_FILE;
        } else if (reader->event.type == YAML_MAPPING_START_EVENT) {
            err = read_mapping(reader, key, error);
        } else if (!is_null(reader)) { /* a section of which all lines are comments is null */
            err = refuse_type(reader, key, "a mapping of its settings", error);
        }
        if (err != ERR_OK)
            return err;
    }
}

static enum err read_document(struct reader *reader, struct error *error) {
    enum err err = next(reader, error);
    if (err != ERR_OK)
        return err;
    if (reader->event.type == YAML_MAPPING_START_EVENT)
        err = read_mapping(reader, "", error);
    else if (!is_null(reader))
        err = refuse_type(reader, "the file", "a mapping such as log: {level: info}", error);
    return err == ERR_OK ? next(reader, error) : err; /* the document's end */
}

static enum err read_stream(struct reader *reader, struct error *error) {
    enum err err = next(reader, error); /* the stream's start */
    if (err == ERR_OK)
        err = next(reader, error);
    if (err != ERR_OK || reader->event.type == YAML_STREAM_END_EVENT)
        return err;
    err = read_document(reader, error);
    if (err == ERR_OK)
        err = next(reader, error);
    if (err != ERR_OK || reader->event.type == YAML_STREAM_END_EVENT)
        return err;
    error_set(error, ERR_INVALID, "a second document: want one");
    return at_event(reader, error);
}

enum err settings_yaml_read(const char *name, struct span text, struct settings *settings,
                            struct error *error) {
    if (text.size > SETTINGS_FILE_SIZE_MAX)
        return error_set(error, ERR_INVALID, "%.200s: larger than %zu KiB", name,
                         SETTINGS_FILE_SIZE_MAX >> 10);
    struct settings changed = *settings;
    struct reader reader = {.name = name, .settings = &changed};
    if (!yaml_parser_initialize(&reader.parser))
        return error_set(error, ERR_NO_MEMORY, "no memory to read %.200s", name);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text.data, text.size);
    enum err err = read_stream(&reader, error);
    reader_end(&reader);
    if (err == ERR_OK)
        *settings = changed;
    return err;
}

enum err settings_yaml_load(const char *path, struct settings *settings, struct error *error) {
    int fd CLEANUP(cleanup_fd) = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return error_set_errno(error, ERR_IO, errno, "cannot open %.200s", path);
    CLEANUP(cleanup_free) char *text = malloc(SETTINGS_FILE_SIZE_MAX + 1);
    if (!text)
        return error_set(error, ERR_NO_MEMORY, "no memory to read %.200s", path);
    size_t size = 0;
    enum err err = fd_read_full(fd, text, SETTINGS_FILE_SIZE_MAX + 1, &size, error);
    if (err != ERR_OK)
        return error_prefix(error, "%.200s", path);
    return settings_yaml_read(path, span_of(text, size), settings, error);
}
