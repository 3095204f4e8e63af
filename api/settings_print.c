#include <string.h>

#include "api/settings.h"

#define COMMENT_COLUMN 44

static const char *origin_words(enum setting_origin origin) {
    static const char *const words[] = {
        [SETTING_FROM_DEFAULT] = "default",
        [SETTING_FROM_FILE] = "file",
        [SETTING_FROM_FLAG] = "flag",
    };
    return words[origin];
}

/* An empty path, URL or list is what no file can say of the first two: its line is a comment. */
static bool is_empty(const struct setting *setting, struct span value) {
    return (setting->type == SETTING_PATH || setting->type == SETTING_URL) &&
           span_equal_cstr(value, "\"\"");
}

static void print_section(const char *key, struct span *section, struct buffer *out) {
    const char *dot = strchr(key, '.');
    struct span next = span_of(key, dot ? (size_t)(dot - key) : 0);
    if (!span_equal(next, *section) && next.size > 0)
        buffer_printf(out, "%.*s:\n", (int)next.size, next.data);
    *section = next;
}

static void print_line(const struct setting *setting, const struct settings *settings,
                       enum setting_origin origin, struct buffer *out) {
    struct buffer value = {0};
    setting_format(setting, &settings->options, &value);
    const char *dot = strchr(setting->key, '.');
    size_t before = out->size;
    buffer_printf(out, "%s%s%s: %s", dot ? "  " : "",
                  is_empty(setting, buffer_span(&value)) ? "# " : "", dot ? dot + 1 : setting->key,
                  buffer_cstr(&value));
    size_t width = out->size - before;
    buffer_printf(out, "%*s # %s", width < COMMENT_COLUMN ? (int)(COMMENT_COLUMN - width) : 0, "",
                  origin_words(origin));
    if (origin == SETTING_FROM_FLAG)
        buffer_printf(out, " --%s", setting->flag);
    buffer_append_byte(out, '\n');
    buffer_clear(&value);
}

void settings_print(const struct settings *settings, struct buffer *out) {
    struct span section = {0};
    for (size_t i = 0; i < settings_count(); i++) {
        const struct setting *setting = settings_at(i);
        print_section(setting->key, &section, out);
        print_line(setting, settings, settings->origins[i], out);
    }
}
