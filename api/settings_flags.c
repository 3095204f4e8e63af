#include <getopt.h>
#include <string.h>

#include "api/settings.h"
#include "base/cleanup.h"

#define HELP_COLUMN 29
#define HELP_WIDTH 96

/* Values above any character, so that getopt's '?' and ':' are told apart. */
enum {
    FLAG_CONFIG = 256,
    FLAG_CHECK_CONFIG,
    FLAG_PRINT_CONFIG,
    FLAG_VERSION,
    FLAG_HELP,
    FLAG_SETTING, /* plus the position in the table */
};

struct command_flag {
    const char *name;
    int argument;
    int value;
    const char *value_name;
    const char *words;
};

static const struct command_flag command_flags[] = {
    {"config", required_argument, FLAG_CONFIG, "FILE",
     "reads settings from this YAML file; flags stand over it"},
    {"check-config", no_argument, FLAG_CHECK_CONFIG, NULL,
     "checks file and flags, opens nothing, and exits with 0 or 2"},
    {"print-config", no_argument, FLAG_PRINT_CONFIG, NULL,
     "prints the settings in effect as a file for --config, and exits"},
    {"version", no_argument, FLAG_VERSION, NULL, "prints the version and exits"},
    {"help", no_argument, FLAG_HELP, NULL, "prints this and exits"},
};

#define FLAG_COUNT_MAX (SETTINGS_MAX + ARRAY_SIZE(command_flags))

static void list_options(struct option ret_options[static FLAG_COUNT_MAX + 1]) {
    size_t count = 0;
    memset(ret_options, 0, (FLAG_COUNT_MAX + 1) * sizeof(*ret_options));
    for (size_t i = 0; i < settings_count(); i++) {
        const struct setting *setting = settings_at(i);
        ret_options[count++] = (struct option){
            .name = setting->flag,
            .has_arg = setting->type == SETTING_BOOL ? optional_argument : required_argument,
            .val = FLAG_SETTING + (int)i,
        };
    }
    for (size_t i = 0; i < ARRAY_SIZE(command_flags); i++) {
        const struct command_flag *flag = &command_flags[i];
        ret_options[count++] =
            (struct option){.name = flag->name, .has_arg = flag->argument, .val = flag->value};
    }
}

static enum err refuse_flag(const char *argument, const struct option *options,
                            struct error *error) {
    const char *names[FLAG_COUNT_MAX];
    size_t count = 0;
    for (; options[count].name; count++)
        names[count] = options[count].name;
    char name[64];
    size_t dashes = strspn(argument, "-");
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(argument + dashes, "="), argument + dashes);
    const char *near = settings_nearest(name, names, count);
    if (near)
        return error_set(error, ERR_INVALID, "unknown flag \"%.60s\"; is --%s meant?", argument,
                         near);
    return error_set(error, ERR_INVALID, "unknown flag \"%.60s\"; see symbolizerd --help",
                     argument);
}

static enum err apply_setting(size_t position, const char *value, struct settings *settings,
                              struct error *error) {
    const struct setting *setting = settings_at(position);
    enum err err = setting_parse(setting, value ? value : "true", &settings->options, error);
    if (err != ERR_OK)
        return error_prefix(error, "--%s", setting->flag);
    settings->origins[position] = SETTING_FROM_FLAG;
    return ERR_OK;
}

static enum err apply_flag(int flag, const char *value, struct settings *settings,
                           struct settings_command *command, struct error *error) {
    switch (flag) {
    case FLAG_CONFIG:
        if (value[0] == '\0' || strlen(value) >= SERVER_PATH_MAX)
            return error_set(error, ERR_INVALID, "--config: want a path");
        command->file = value;
        return ERR_OK;
    case FLAG_CHECK_CONFIG:
        command->action = SETTINGS_CHECK;
        return ERR_OK;
    case FLAG_PRINT_CONFIG:
        command->action = SETTINGS_PRINT;
        return ERR_OK;
    case FLAG_VERSION:
        command->action = SETTINGS_SHOW_VERSION;
        return ERR_OK;
    case FLAG_HELP:
        command->action = SETTINGS_SHOW_HELP;
        return ERR_OK;
    default:
        return apply_setting((size_t)(flag - FLAG_SETTING), value, settings, error);
    }
}

enum err settings_flags_read(int argument_count, char **arguments, struct settings *settings,
                             struct settings_command *ret_command, struct error *error) {
    struct option options[FLAG_COUNT_MAX + 1];
    struct settings_command command = {.action = SETTINGS_RUN};
    list_options(options);
    optind = 0;
    opterr = 0;
    enum err err = ERR_OK;
    while (err == ERR_OK) {
        /* "+": in order, and no argument is moved, so that optind tells the one that is wrong. */
        int flag = getopt_long(argument_count, arguments, "+:", options, NULL);
        if (flag == -1)
            break;
        if (flag == ':')
            err = error_set(error, ERR_INVALID, "%.60s: want a value", arguments[optind - 1]);
        else if (flag == '?')
            err = refuse_flag(arguments[optind - 1], options, error);
        else
            err = apply_flag(flag, optarg, settings, &command, error);
        if (command.action == SETTINGS_SHOW_HELP || command.action == SETTINGS_SHOW_VERSION)
            break;
    }
    bool asks = command.action == SETTINGS_SHOW_HELP || command.action == SETTINGS_SHOW_VERSION;
    if (err == ERR_OK && !asks && optind < argument_count)
        err = error_set(error, ERR_INVALID, "unexpected argument \"%.100s\"", arguments[optind]);
    if (err == ERR_OK)
        *ret_command = command;
    return err;
}

/* Words from a column on, broken between words. */
static void print_wrapped(FILE *out, const char *text) {
    size_t column = HELP_COLUMN;
    while (*text) {
        size_t size = strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + size > HELP_WIDTH) {
            fprintf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, size, out);
        column += size;
        text += size + strspn(text + size, " ");
    }
    fputc('\n', out);
}

static void print_flag(FILE *out, const char *name, const char *value_name, const char *text) {
    int width =
        fprintf(out, "  --%s%s%s", name, value_name ? " " : "", value_name ? value_name : "");
    if (width + 2 > HELP_COLUMN)
        fprintf(out, "\n%*s", HELP_COLUMN, "");
    else
        fprintf(out, "%*s", HELP_COLUMN - width, "");
    print_wrapped(out, text);
}

static const char *value_name(const struct setting *setting) {
    static const char *const names[] = {
        [SETTING_COUNT] = "N",
        [SETTING_SIZE] = "SIZE",
        [SETTING_DURATION] = "TIME",
        [SETTING_LIST] = "ITEM,...",
    };
    if (setting->value_name || setting->type == SETTING_BOOL)
        return setting->value_name;
    return names[setting->type];
}

static void print_setting(FILE *out, const struct setting *setting) {
    struct buffer text = {0};
    buffer_printf(&text, "%s", setting->words);
    for (size_t i = 0; setting->choices && setting->choices[i]; i++)
        buffer_printf(&text, "%s%s",
                      i == 0                    ? ": "
                      : setting->choices[i + 1] ? ", "
                                                : " or ",
                      setting->choices[i]);
    buffer_printf(&text, " (%s%s; default: %s)", setting->key, setting->reloads ? ", reloads" : "",
                  setting->fallback ? setting->fallback : setting->fallback_words);
    print_flag(out, setting->flag, value_name(setting), buffer_cstr(&text));
    buffer_clear(&text);
}

void settings_help(FILE *out) {
    fputs("Usage: symbolizerd [OPTION]...\n"
          "\n"
          "Keeps uploaded binaries and answers what is at an address of them.\n"
          "\n",
          out);
    for (size_t i = 0; i < ARRAY_SIZE(command_flags); i++)
        print_flag(out, command_flags[i].name, command_flags[i].value_name, command_flags[i].words);
    fputs(
        "\n"
        "Settings, each with its place in the file. A SIZE is in bytes, or has a suffix KiB, MiB\n"
        "or GiB; a TIME is in seconds, or has a suffix s, m or h. SIGHUP reads the file again, "
        "and\n"
        "takes the settings that are said to reload.\n"
        "\n",
        out);
    for (size_t i = 0; i < settings_count(); i++)
        print_setting(out, settings_at(i));
}
