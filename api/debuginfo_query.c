#include "api/debuginfo_query.h"

#include <string.h>

enum err debuginfo_query_id(const struct http_exchange *exchange, struct binary_id *ret_id,
                            struct error *error) {
    char kind_name[256];
    bool has_kind = false;
    enum binary_id_kind kind = BINARY_ID_GNU;
    enum err err = http_exchange_query(exchange, "id_kind", kind_name, &has_kind, error);
    if (err != ERR_OK)
        return err;
    if (has_kind && !binary_id_kind_from_name(span_cstr(kind_name), &kind))
        return error_set(error, ERR_INVALID,
                         "query argument id_kind: want gnu, go, htlhash or uuid");
    return binary_id_parse(kind, http_exchange_parameter(exchange), ret_id, error);
}

enum err debuginfo_query_type(const struct http_exchange *exchange, enum artifact_type *ret_type,
                              bool *ret_present, struct error *error) {
    char text[256];
    bool present = false;
    enum err err = http_exchange_query(exchange, "type", text, &present, error);
    if (err != ERR_OK)
        return err;
    for (int type = ARTIFACT_DEBUGINFO; present && type <= ARTIFACT_SOURCE_MAP; type++) {
        if (strcmp(text, artifact_type_name((enum artifact_type)type)) != 0)
            continue;
        *ret_type = (enum artifact_type)type;
        *ret_present = true;
        return ERR_OK;
    }
    *ret_present = false;
    if (!present)
        return ERR_OK;
    return error_set(error, ERR_INVALID,
                     "query argument type: want debuginfo, executable, sources or source_map");
}

enum err debuginfo_query_flag(const struct http_exchange *exchange, const char *key, bool *ret_flag,
                              struct error *error) {
    char text[256];
    bool present = false;
    enum err err = http_exchange_query(exchange, key, text, &present, error);
    if (err != ERR_OK)
        return err;
    bool on = present && (!strcmp(text, "true") || !strcmp(text, "1") || !text[0]);
    if (present && !on && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
        return error_set(error, ERR_INVALID, "query argument %s: want true or false", key);
    *ret_flag = on;
    return ERR_OK;
}

static bool parse_number(const char *text, uint64_t *ret_number) {
    uint64_t number = 0;
    if (!text[0] || strlen(text) > 18)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        number = number * 10 + (uint64_t)(*text - '0');
    }
    *ret_number = number;
    return true;
}

enum err debuginfo_query_number(const struct http_exchange *exchange, const char *key,
                                const struct query_range *range, uint64_t *ret_number,
                                struct error *error) {
    char text[256];
    bool present = false;
    uint64_t number = range->fallback;
    enum err err = http_exchange_query(exchange, key, text, &present, error);
    if (err != ERR_OK)
        return err;
    if (present && (!parse_number(text, &number) || number < range->min || number > range->max))
        return error_set(error, ERR_INVALID, "query argument %s: want a number from %llu to %llu",
                         key, (unsigned long long)range->min, (unsigned long long)range->max);
    *ret_number = number;
    return ERR_OK;
}
