#include "api/http_range.h"

#include <string.h>
#include <strings.h>

static const char *skip_spaces(const char *text) {
    return text + strspn(text, " \t");
}

/* Digits up to a number that fits; false without one. A larger number is the largest. */
static bool read_number(const char **text, uint64_t *ret_number) {
    const char *at = *text;
    uint64_t number = 0;
    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
            number = UINT64_MAX / 10;
    *text = at;
    *ret_number = number;
    return true;
}

static struct http_range part(uint64_t first, uint64_t last, uint64_t total) {
    if (first >= total)
        return (struct http_range){.kind = HTTP_RANGE_UNSATISFIABLE};
    if (last >= total)
        last = total - 1;
    return (struct http_range){HTTP_RANGE_PART, first, last - first + 1};
}

struct http_range http_range_parse(const char *header, uint64_t total) {
    static const char unit[] = "bytes=";
    const struct http_range whole = {HTTP_RANGE_WHOLE, 0, total};
    uint64_t first = 0;
    uint64_t last = UINT64_MAX;
    if (!header || strncasecmp(header, unit, sizeof(unit) - 1) != 0)
        return whole;
    const char *text = skip_spaces(header + sizeof(unit) - 1);
    bool has_first = read_number(&text, &first);
    if (*text++ != '-')
        return whole;
    bool has_last = read_number(&text, &last);
    if (*skip_spaces(text) != '\0' || (!has_first && !has_last) || (has_first && last < first))
        return whole;
    if (has_first)
        return part(first, last, total);
    /* The last so many bytes. */
    if (last == 0)
        return (struct http_range){.kind = HTTP_RANGE_UNSATISFIABLE};
    return part(last < total ? total - last : 0, UINT64_MAX, total);
}

bool http_etag_matches(const char *header, const char *etag) {
    size_t size = strlen(etag);
    if (!header)
        return false;
    const char *at = skip_spaces(header);
    if (*at == '*')
        return *skip_spaces(at + 1) == '\0';
    while (*at) {
        if (strncmp(at, "W/", 2) == 0)
            at += 2;
        const char *end = at + strcspn(at, ",");
        const char *trimmed = end;
        while (trimmed > at && (trimmed[-1] == ' ' || trimmed[-1] == '\t'))
            trimmed--;
        if ((size_t)(trimmed - at) == size && memcmp(at, etag, size) == 0)
            return true;
        at = skip_spaces(*end ? end + 1 : end);
    }
    return false;
}
