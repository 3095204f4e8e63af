/*
 * The settings of symbolizerd: one table in which each has its place in the YAML file, its flag,
 * type, default, bounds, words, and whether SIGHUP takes a new value. The command line, --help, the
 * file, --print-config and the reference in docs/OPERATIONS.md all come from it or are checked
 * against it.
 *
 * Precedence: a flag, else the file, else the default.
 *
 * The file is one YAML document of nested mappings, at most 64 KiB. Refused, each with line and
 * column: unknown keys (with the nearest known one), keys given twice, anchors, aliases, tags, a
 * second document, and a value of another type than the key wants.
 *
 * Threads: any; the table is constant.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "api/server_options.h"
#include "base/buffer.h"
#include "base/error.h"

#define SETTINGS_MAX 48
#define SETTINGS_FILE_SIZE_MAX ((size_t)64 << 10)

enum setting_type {
    SETTING_BOOL,
    SETTING_COUNT,    /* unsigned */
    SETTING_SIZE,     /* uint64_t, bytes; text: 512MiB */
    SETTING_DURATION, /* int64_t, milliseconds; text: 10m; a bare number is seconds */
    SETTING_CHOICE,   /* an enum of int's size that counts from 0, in the order of choices */
    SETTING_ENDPOINT, /* struct server_endpoint */
    SETTING_PATH,     /* char[SERVER_PATH_MAX] */
    SETTING_URL,      /* char[SERVER_TEXT_MAX]; http or https, without a slash at the end */
    SETTING_LIST,     /* struct server_list; a flag separates by commas */
};

struct setting {
    const char *key;            /* "uploads.max_size" */
    const char *flag;           /* "max-upload-size" */
    size_t offset;              /* in struct server_options */
    const char *fallback;       /* as it would be written; NULL: see fallback_words */
    const char *fallback_words; /* of a default that is computed or empty */
    const char *words;          /* what it is, for help: a sentence without its dot */
    const char *value_name;     /* in help: "DIR"; NULL: the type's */
    const char *const *choices; /* up to NULL */
    uint64_t min, max;          /* of counts, bytes and milliseconds */
    enum setting_type type;
    bool reloads; /* SIGHUP takes a new value */
};

size_t settings_count(void);
const struct setting *settings_at(size_t position);

/* Reads a value as a flag or the file has it; the error does not name the setting. */
enum err setting_parse(const struct setting *setting, const char *text,
                       struct server_options *options, struct error *error);
/* Empties a list, and adds to it. */
void setting_list_clear(const struct setting *setting, struct server_options *options);
enum err setting_list_add(const struct setting *setting, const char *text,
                          struct server_options *options, struct error *error);
/* What a value of this type looks like: "a size such as 512MiB". */
const char *setting_type_words(enum setting_type type);
/* The value as the file has it, and read back from there as the same. */
void setting_format(const struct setting *setting, const struct server_options *options,
                    struct buffer *out);
bool setting_equal(const struct setting *setting, const struct server_options *a,
                   const struct server_options *b);

void setting_copy(const struct setting *setting, const struct server_options *from,
                  struct server_options *to);

enum setting_origin { SETTING_FROM_DEFAULT, SETTING_FROM_FILE, SETTING_FROM_FLAG };

struct settings {
    struct server_options options;
    enum setting_origin origins[SETTINGS_MAX]; /* by position in the table */
};

enum settings_action {
    SETTINGS_RUN,
    SETTINGS_SHOW_HELP,
    SETTINGS_SHOW_VERSION,
    SETTINGS_CHECK,
    SETTINGS_PRINT,
};

/*
 * Defaults, then the file that --config names, then the flags, then what they mean together.
 * ERR_INVALID (or ERR_IO for the file) with a text for the person at the terminal. Not reentrant:
 * getopt. Calling it again with the same arguments reads the file anew.
 */
enum err settings_load(int argument_count, char **arguments, struct settings *ret_settings,
                       enum settings_action *ret_action, struct error *error);

void settings_help(FILE *out);

/* The effective configuration as a file that --config takes, with each value's origin. */
void settings_print(const struct settings *settings, struct buffer *out);

/* The file over what settings holds: settings_yaml_read of its text. ERR_IO when it cannot be read.
 */
enum err settings_yaml_load(const char *path, struct settings *settings, struct error *error);
/* The file's text over what settings holds; name is for messages. */
enum err settings_yaml_read(const char *name, struct span text, struct settings *settings,
                            struct error *error);

/* Applies all flags; --config (one of the arguments, or NULL) and what to do are returned. */
struct settings_command {
    enum settings_action action;
    const char *file;
};
enum err settings_flags_read(int argument_count, char **arguments, struct settings *settings,
                             struct settings_command *ret_command, struct error *error);

/* The word that is nearest to `text`, or NULL when none is near. */
const char *settings_nearest(const char *text, const char *const *words, size_t word_count);
