#include "symbolizer/protocol/report.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "symbolizer/protocol/decimal_internal.h"

#define KEY_SIZE_MAX ((size_t)32)
#define ALTLINK_BYTES_MIN 2
#define ALTLINK_BYTES_MAX 64
#define DWO_BYTES 8

static const char *const status_names[] = {
    [REPORT_OK] = "ok",
    [REPORT_MALFORMED] = "malformed",
    [REPORT_UNSUPPORTED] = "unsupported",
    [REPORT_LIMIT] = "limit",
    [REPORT_FAILED] = "failed",
    [REPORT_KILLED] = "killed",
};

static const char *const need_names[] = {
    [REPORT_NEED_ALTLINK] = "altlink",
    [REPORT_NEED_DWO] = "dwo",
    [REPORT_NEED_DEBUGLINK] = "debuglink",
};

/* The lines that are a number, and where in the report the number is kept. */
static const struct {
    const char *key;
    size_t offset;
} numbers[] = {
    {"functions", offsetof(struct report, summary.function_count)},
    {"inlined", offsetof(struct report, summary.inlined_count)},
    {"line_rows", offsetof(struct report, summary.line_row_count)},
    {"intervals", offsetof(struct report, summary.interval_count)},
    {"locations", offsetof(struct report, summary.location_count)},
    {"damage", offsetof(struct report, summary.damage_count)},
    {"executable_bytes", offsetof(struct report, summary.executable_bytes)},
    {"covered_bytes", offsetof(struct report, summary.covered_bytes)},
    {"size", offsetof(struct report, size)},
    {"memory", offsetof(struct report, memory_peak)},
};

static const struct {
    const char *word;
    size_t offset;
} contents[] = {
    {"dwarf", offsetof(struct report, summary.has_dwarf)},
    {"pclntab", offsetof(struct report, summary.has_pclntab)},
    {"symtab", offsetof(struct report, summary.has_symtab)},
    {"dynsym", offsetof(struct report, summary.has_dynsym)},
};

/* Keys beside the numbers that may be given once. */
enum single_key { KEY_STATUS, KEY_REASON, KEY_MACHINE, KEY_CONTENTS, KEY_EXTENTS, KEY_SINGLES };

static uint64_t *number_of(struct report *report, size_t position) {
    return (uint64_t *)(void *)((char *)report + numbers[position].offset);
}

static bool *content_of(struct report *report, size_t position) {
    return (bool *)(void *)((char *)report + contents[position].offset);
}

const char *report_status_name(enum report_status status) {
    if (status < REPORT_OK || status > REPORT_KILLED)
        return NULL;
    return status_names[status];
}

static bool is_hex_id(struct span value, size_t bytes_min, size_t bytes_max) {
    uint8_t bytes[ALTLINK_BYTES_MAX];
    size_t size = 0;
    return hex_decode(value, bytes, bytes_max, &size) && size >= bytes_min;
}

/* A debug file is looked up by this name: it must not lead out of a directory. */
static bool is_file_name(struct span value) {
    char shown[BINARY_ID_TEXT_MAX + 1];
    size_t length = utf8_copy_printable(value, shown, sizeof(shown));
    return length > 0 && span_equal(span_of(shown, length), value) && !strchr(shown, '/') &&
           strcmp(shown, ".") != 0 && strcmp(shown, "..") != 0;
}

bool report_add_need(struct report *report, enum report_need_kind kind, struct span value) {
    bool good = false;
    if (kind == REPORT_NEED_ALTLINK)
        good = is_hex_id(value, ALTLINK_BYTES_MIN, ALTLINK_BYTES_MAX);
    else if (kind == REPORT_NEED_DWO)
        good = is_hex_id(value, DWO_BYTES, DWO_BYTES);
    else if (kind == REPORT_NEED_DEBUGLINK)
        good = is_file_name(value);
    if (!good || value.size > BINARY_ID_TEXT_MAX || report->need_count == REPORT_NEED_MAX)
        return false;
    struct report_need *need = &report->needs[report->need_count++];
    *need = (struct report_need){.kind = kind};
    memcpy(need->value, value.data, value.size);
    return true;
}

/* --- writing --- */

/* Not on the heap, which the job may have used up: a report must be possible all the same. */
struct text {
    char bytes[REPORT_SIZE_MAX];
    size_t size;
};

static void append(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The largest report there can be fits. */
static void append(struct text *text, const char *format, ...) {
    size_t room = sizeof(text->bytes) - text->size;
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text->bytes + text->size, room, format, values);
    va_end(values);
    assert(length >= 0 && (size_t)length < room);
    text->size += (size_t)length;
}

static void format_contents(struct report *report, struct text *text) {
    const char *separator = "contents ";
    for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
        if (!*content_of(report, i))
            continue;
        append(text, "%s%s", separator, contents[i].word);
        separator = ",";
    }
    if (separator[0] == ',')
        append(text, "\n");
}

static void format_report(struct report *report, struct text *text) {
    const struct index_summary *summary = &report->summary;
    append(text, "status %s\n", status_names[report->status]);
    if (report->status != REPORT_OK && report->reason[0]) {
        char reason[REPORT_REASON_SIZE];
        struct span raw = span_of(report->reason, strnlen(report->reason, REPORT_REASON_SIZE));
        utf8_copy_printable(raw, reason, sizeof(reason));
        append(text, "reason %s\n", reason);
    }
    for (size_t i = 0; i < summary->id_count; i++)
        append(text, "id %s %s\n", binary_id_kind_name(summary->ids[i].kind), summary->ids[i].text);
    append(text, "machine %u\n", summary->machine);
    format_contents(report, text);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        append(text, "%s %llu\n", numbers[i].key, (unsigned long long)*number_of(report, i));
    append(text, "extents_exact %d\n", summary->extents_exact);
    for (size_t i = 0; i < report->need_count; i++)
        append(text, "need %s %s\n", need_names[report->needs[i].kind], report->needs[i].value);
    append(text, "end\n");
}

enum err report_write(const struct report *report, int fd, struct error *error) {
    assert(report->status >= REPORT_OK && report->status < REPORT_KILLED);
    assert(report->summary.id_count <= INDEX_ID_MAX && report->need_count <= REPORT_NEED_MAX);
    struct text text;
    text.size = 0;
    struct report copy = *report;
    format_report(&copy, &text);
    return fd_write_all(fd, text.bytes, text.size, error);
}

/* --- reading --- */

struct parser {
    struct span rest;
    size_t line;
    bool seen_single[KEY_SINGLES];
    bool seen_number[ARRAY_SIZE(numbers)];
    bool seen_end;
    struct report report;
};

static enum err complain(const struct parser *parser, struct error *error, const char *what) {
    return error_set(error, ERR_MALFORMED, "line %zu of the worker's report: %s", parser->line,
                     what);
}

/* Cuts `separator` and what is before it off the front; false when there is none. */
static bool cut(struct span *text, char separator, struct span *ret_before) {
    const char *at = text->size ? memchr(text->data, separator, text->size) : NULL;
    if (!at)
        return false;
    *ret_before = span_of(text->data, (size_t)(at - text->data));
    *text = span_of(at + 1, text->size - ret_before->size - 1);
    return true;
}

static bool is_key(struct span key) {
    if (key.size == 0 || key.size > KEY_SIZE_MAX)
        return false;
    for (size_t i = 0; i < key.size; i++) {
        char c = key.data[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return true;
}

static bool parse_status(struct report *report, struct span value) {
    for (int status = REPORT_OK; status < REPORT_KILLED; status++)
        if (span_equal_cstr(value, status_names[status]))
            report->status = (enum report_status)status;
    return report->status != 0;
}

static bool parse_id(struct report *report, struct span value) {
    struct index_summary *summary = &report->summary;
    struct span kind_name;
    enum binary_id_kind kind;
    struct error ignored;
    if (summary->id_count == INDEX_ID_MAX || !cut(&value, ' ', &kind_name) ||
        !binary_id_kind_from_name(kind_name, &kind) ||
        binary_id_parse(kind, value, &summary->ids[summary->id_count], &ignored) != ERR_OK)
        return false;
    summary->id_count++;
    return true;
}

/* Words we do not know are skipped, like keys. */
static bool parse_contents(struct report *report, struct span value) {
    struct span word;
    bool more = true;
    while (more) {
        more = cut(&value, ',', &word);
        if (!more)
            word = value;
        if (!is_key(word))
            return false;
        for (size_t i = 0; i < ARRAY_SIZE(contents); i++)
            if (span_equal_cstr(word, contents[i].word))
                *content_of(report, i) = true;
    }
    return true;
}

static bool parse_need(struct report *report, struct span value) {
    struct span kind_name;
    if (!cut(&value, ' ', &kind_name))
        return false;
    for (int kind = REPORT_NEED_ALTLINK; kind <= REPORT_NEED_DEBUGLINK; kind++)
        if (span_equal_cstr(kind_name, need_names[kind]))
            return report_add_need(report, (enum report_need_kind)kind, value);
    return false;
}

static bool parse_single(struct parser *parser, enum single_key key, struct span value) {
    struct report *report = &parser->report;
    uint64_t number = 0;
    bool good = !parser->seen_single[key];
    parser->seen_single[key] = true;
    switch (key) {
    case KEY_STATUS:
        return good && parse_status(report, value);
    case KEY_REASON:
        utf8_copy_printable(value, report->reason, sizeof(report->reason));
        return good;
    case KEY_MACHINE:
        good = good && decimal_parse(value, UINT16_MAX, &number);
        report->summary.machine = (uint16_t)number;
        return good;
    case KEY_CONTENTS:
        return good && parse_contents(report, value);
    default:
        good = good && decimal_parse(value, 1, &number);
        report->summary.extents_exact = number == 1;
        return good;
    }
}

static bool parse_value(struct parser *parser, struct span key, struct span value) {
    static const char *const singles[KEY_SINGLES] = {
        [KEY_STATUS] = "status",     [KEY_REASON] = "reason",         [KEY_MACHINE] = "machine",
        [KEY_CONTENTS] = "contents", [KEY_EXTENTS] = "extents_exact",
    };
    for (size_t i = 0; i < KEY_SINGLES; i++)
        if (span_equal_cstr(key, singles[i]))
            return parse_single(parser, (enum single_key)i, value);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        if (!span_equal_cstr(key, numbers[i].key))
            continue;
        bool again = parser->seen_number[i];
        parser->seen_number[i] = true;
        return !again && decimal_parse(value, UINT64_MAX, number_of(&parser->report, i));
    }
    if (span_equal_cstr(key, "id"))
        return parse_id(&parser->report, value);
    if (span_equal_cstr(key, "need"))
        return parse_need(&parser->report, value);
    return true;
}

static enum err parse_line(struct parser *parser, struct error *error) {
    struct span line;
    parser->line++;
    if (!cut(&parser->rest, '\n', &line))
        return complain(parser, error, "no end of line");
    if (span_equal_cstr(line, "end")) {
        parser->seen_end = true;
        return parser->rest.size == 0 ? ERR_OK : complain(parser, error, "more after the end");
    }
    struct span key;
    struct span value = line;
    if (!cut(&value, ' ', &key) || !is_key(key))
        return complain(parser, error, "no \"key value\"");
    if (parse_value(parser, key, value))
        return ERR_OK;
    char name[KEY_SIZE_MAX + 1];
    utf8_copy_printable(key, name, sizeof(name));
    return error_set(error, ERR_MALFORMED, "line %zu of the worker's report: bad or repeated %s",
                     parser->line, name);
}

enum err report_parse(struct span text, struct report *ret_report, struct error *error) {
    struct parser parser = {.rest = text};
    if (text.size > REPORT_SIZE_MAX)
        return error_set(error, ERR_MALFORMED, "the worker's report is over %zu bytes",
                         REPORT_SIZE_MAX);
    while (!parser.seen_end) {
        if (parser.rest.size == 0)
            return error_set(error, ERR_MALFORMED, "the worker's report ends early");
        enum err err = parse_line(&parser, error);
        if (err)
            return err;
    }
    if (!parser.seen_single[KEY_STATUS])
        return error_set(error, ERR_MALFORMED, "the worker's report has no status");
    if (parser.report.status == REPORT_OK && parser.report.reason[0])
        return error_set(error, ERR_MALFORMED, "the worker's report gives a reason for ok");
    *ret_report = parser.report;
    return ERR_OK;
}
