#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/settings.h"
#include "base/cleanup.h"
#include "base/utf8.h"

struct unit {
    const char *suffix;
    uint64_t factor;
};

/* From the largest to the smallest: a value is written in the largest that divides it. */
static const struct unit size_units[] = {
    {"GiB", UINT64_C(1) << 30}, {"MiB", UINT64_C(1) << 20}, {"KiB", UINT64_C(1) << 10}, {"", 1}};
static const struct unit duration_units[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"", 1000}};
static const struct unit count_units[] = {{"", 1}};

static void *field(const struct setting *setting, struct server_options *options) {
    return (char *)options + setting->offset;
}

static const void *field_of(const struct setting *setting, const struct server_options *options) {
    return (const char *)options + setting->offset;
}

static const struct unit *units_of(enum setting_type type, size_t *ret_count) {
    switch (type) {
    case SETTING_SIZE:
        *ret_count = ARRAY_SIZE(size_units);
        return size_units;
    case SETTING_DURATION:
        *ret_count = ARRAY_SIZE(duration_units);
        return duration_units;
    default:
        *ret_count = ARRAY_SIZE(count_units);
        return count_units;
    }
}

const char *setting_type_words(enum setting_type type) {
    static const char *const words[] = {
        [SETTING_BOOL] = "true or false",
        [SETTING_COUNT] = "a whole number",
        [SETTING_SIZE] = "a size such as 512MiB",
        [SETTING_DURATION] = "a duration such as 90s, 10m or 2h",
        [SETTING_CHOICE] = "one of its words",
        [SETTING_ENDPOINT] = "an address such as 127.0.0.1:7080 or [::1]:7080",
        [SETTING_PATH] = "a path",
        [SETTING_URL] = "a URL such as https://symbols.example.org",
        [SETTING_LIST] = "a list",
    };
    return words[type];
}

static void format_number(enum setting_type type, uint64_t number, struct buffer *out) {
    size_t count;
    const struct unit *units = units_of(type, &count);
    for (size_t i = 0; i < count; i++) {
        bool last = i + 1 == count;
        if (last || (number != 0 && number % units[i].factor == 0)) {
            buffer_printf(out, "%" PRIu64 "%s", number / units[i].factor, units[i].suffix);
            return;
        }
    }
}

static enum err refuse_number(const struct setting *setting, const char *text,
                              struct error *error) {
    struct buffer min = {0};
    struct buffer max = {0};
    format_number(setting->type, setting->min, &min);
    format_number(setting->type, setting->max, &max);
    error_set(error, ERR_INVALID, "\"%.60s\": want %s, from %s to %s", text,
              setting_type_words(setting->type), buffer_cstr(&min), buffer_cstr(&max));
    buffer_clear(&min);
    buffer_clear(&max);
    return ERR_INVALID;
}

static enum err parse_number(const struct setting *setting, const char *text, uint64_t *ret_number,
                             struct error *error) {
    char *end = NULL;
    unsigned long long number = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    size_t count;
    const struct unit *units = units_of(setting->type, &count);
    for (size_t i = 0; end && i < count; i++) {
        if (strcmp(end, units[i].suffix) != 0 || number > setting->max / units[i].factor ||
            number * units[i].factor < setting->min)
            continue;
        *ret_number = number * units[i].factor;
        return ERR_OK;
    }
    return refuse_number(setting, text, error);
}

static enum err parse_choice(const struct setting *setting, const char *text, int *ret_choice,
                             struct error *error) {
    struct buffer known = {0};
    for (int i = 0; setting->choices[i]; i++) {
        if (strcmp(text, setting->choices[i]) == 0) {
            *ret_choice = i;
            buffer_clear(&known);
            return ERR_OK;
        }
        buffer_printf(&known, "%s%s",
                      i == 0                    ? ""
                      : setting->choices[i + 1] ? ", "
                                                : " or ",
                      setting->choices[i]);
    }
    error_set(error, ERR_INVALID, "\"%.60s\": want %s", text, buffer_cstr(&known));
    buffer_clear(&known);
    return ERR_INVALID;
}

/* What YAML can hold bare in double quotes, and a log line shows: no control characters, no line
 * separators (NEL is one of C1), no byte order mark, no noncharacters of the first plane. */
static bool is_printable(struct span character) {
    static const char *const others[] = {"\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf",
                                         "\xef\xbf\xbe", "\xef\xbf\xbf"};
    unsigned char first = (unsigned char)character.data[0];
    if (character.size == 1)
        return first >= ' ' && first != 0x7f;
    if (character.size == 2)
        return first != 0xc2 || (unsigned char)character.data[1] >= 0xa0;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        if (span_equal_cstr(character, others[i]))
            return false;
    }
    return true;
}

static enum err parse_text(const char *text, size_t size_max, char *ret_text, struct error *error) {
    size_t size = strlen(text);
    if (size == 0 || size >= size_max)
        return error_set(error, ERR_INVALID, "want 1 to %zu bytes", size_max - 1);
    for (size_t at = 0; at < size;) {
        size_t step = utf8_character_size(span_of(text + at, size - at));
        if (step == 0 || !is_printable(span_of(text + at, step)))
            return error_set(error, ERR_INVALID, "has a byte that is no printable UTF-8");
        at += step;
    }
    memcpy(ret_text, text, size + 1);
    return ERR_OK;
}

static enum err parse_url(const char *text, char *ret_text, struct error *error) {
    bool http = strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
    size_t size = strlen(text);
    if (!http || text[size - 1] == '/' || strpbrk(text, " ?#"))
        return error_set(error, ERR_INVALID, "\"%.100s\": want %s, without a slash at its end",
                         text, setting_type_words(SETTING_URL));
    return parse_text(text, SERVER_TEXT_MAX, ret_text, error);
}

static enum err parse_list(const struct setting *setting, const char *text,
                           struct server_options *options, struct error *error) {
    setting_list_clear(setting, options);
    enum err err = ERR_OK;
    while (err == ERR_OK && *text) {
        size_t size = strcspn(text, ",");
        char item[SERVER_TEXT_MAX];
        if (size >= sizeof(item))
            return error_set(error, ERR_INVALID, "want items of at most %zu bytes",
                             sizeof(item) - 1);
        memcpy(item, text, size);
        item[size] = '\0';
        err = setting_list_add(setting, item, options, error);
        text += size + (text[size] == ',');
    }
    return err;
}

void setting_list_clear(const struct setting *setting, struct server_options *options) {
    assert(setting->type == SETTING_LIST);
    struct server_list *list = field(setting, options);
    memset(list, 0, sizeof(*list));
}

enum err setting_list_add(const struct setting *setting, const char *text,
                          struct server_options *options, struct error *error) {
    assert(setting->type == SETTING_LIST);
    struct server_list *list = field(setting, options);
    if (list->count == SERVER_LIST_MAX)
        return error_set(error, ERR_INVALID, "more than %d items", SERVER_LIST_MAX);
    enum err err = parse_text(text, SERVER_TEXT_MAX, list->texts[list->count], error);
    list->count += err == ERR_OK;
    return err;
}

static enum err parse_bool(const char *text, bool *ret_bool, struct error *error) {
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0)
        return error_set(error, ERR_INVALID, "\"%.60s\": want true or false", text);
    *ret_bool = yes;
    return ERR_OK;
}

enum err setting_parse(const struct setting *setting, const char *text,
                       struct server_options *options, struct error *error) {
    void *place = field(setting, options);
    uint64_t number = 0;
    enum err err = ERR_OK;
    switch (setting->type) {
    case SETTING_BOOL:
        return parse_bool(text, place, error);
    case SETTING_COUNT:
        err = parse_number(setting, text, &number, error);
        if (err == ERR_OK)
            *(unsigned *)place = (unsigned)number;
        return err;
    case SETTING_SIZE:
        return parse_number(setting, text, place, error);
    case SETTING_DURATION:
        err = parse_number(setting, text, &number, error);
        if (err == ERR_OK)
            *(int64_t *)place = (int64_t)number;
        return err;
    case SETTING_CHOICE:
        return parse_choice(setting, text, place, error);
    case SETTING_ENDPOINT:
        return server_endpoint_parse(text, place, error);
    case SETTING_PATH:
        return parse_text(text, SERVER_PATH_MAX, place, error);
    case SETTING_URL:
        return parse_url(text, place, error);
    case SETTING_LIST:
        return parse_list(setting, text, options, error);
    }
    return error_set(error, ERR_INTERNAL, "a setting of no type");
}

/* In double quotes, as YAML and JSON read it; the text has no control characters. */
static void format_text(const char *text, struct buffer *out) {
    buffer_append_byte(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buffer_append_byte(out, '\\');
        buffer_append_byte(out, *text);
    }
    buffer_append_byte(out, '"');
}

static void format_list(const struct server_list *list, struct buffer *out) {
    buffer_append_byte(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        buffer_append_cstr(out, i == 0 ? "" : ", ");
        format_text(list->texts[i], out);
    }
    buffer_append_byte(out, ']');
}

static void format_endpoint(const struct server_endpoint *endpoint, struct buffer *out) {
    const char *format = strchr(endpoint->address, ':') ? "\"[%s]:%u\"" : "\"%s:%u\"";
    buffer_printf(out, format, endpoint->address, endpoint->port);
}

void setting_format(const struct setting *setting, const struct server_options *options,
                    struct buffer *out) {
    const void *place = field_of(setting, options);
    switch (setting->type) {
    case SETTING_BOOL:
        buffer_append_cstr(out, *(const bool *)place ? "true" : "false");
        break;
    case SETTING_COUNT:
        format_number(setting->type, *(const unsigned *)place, out);
        break;
    case SETTING_SIZE:
        format_number(setting->type, *(const uint64_t *)place, out);
        break;
    case SETTING_DURATION:
        format_number(setting->type, (uint64_t) * (const int64_t *)place, out);
        break;
    case SETTING_CHOICE:
        buffer_append_cstr(out, setting->choices[*(const int *)place]);
        break;
    case SETTING_ENDPOINT:
        format_endpoint(place, out);
        break;
    case SETTING_PATH:
    case SETTING_URL:
        format_text(place, out);
        break;
    case SETTING_LIST:
        format_list(place, out);
        break;
    }
}

bool setting_equal(const struct setting *setting, const struct server_options *a,
                   const struct server_options *b) {
    struct buffer text_a = {0};
    struct buffer text_b = {0};
    setting_format(setting, a, &text_a);
    setting_format(setting, b, &text_b);
    bool equal = span_equal(buffer_span(&text_a), buffer_span(&text_b));
    buffer_clear(&text_a);
    buffer_clear(&text_b);
    return equal;
}

void setting_copy(const struct setting *setting, const struct server_options *from,
                  struct server_options *to) {
    static const size_t sizes[] = {
        [SETTING_BOOL] = sizeof(bool),
        [SETTING_COUNT] = sizeof(unsigned),
        [SETTING_SIZE] = sizeof(uint64_t),
        [SETTING_DURATION] = sizeof(int64_t),
        [SETTING_CHOICE] = sizeof(int),
        [SETTING_ENDPOINT] = sizeof(struct server_endpoint),
        [SETTING_PATH] = SERVER_PATH_MAX,
        [SETTING_URL] = SERVER_TEXT_MAX,
        [SETTING_LIST] = sizeof(struct server_list),
    };
    memcpy(field(setting, to), field_of(setting, from), sizes[setting->type]);
}
