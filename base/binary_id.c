#include "base/binary_id.h"

#include <string.h>

#include "base/hash.h"

#define GNU_ID_BYTES_MIN 2
#define GNU_ID_BYTES_MAX 64

static const char *const kind_names[] = {
    [BINARY_ID_GNU] = "gnu",
    [BINARY_ID_GO] = "go",
    [BINARY_ID_HTLHASH] = "htlhash",
    [BINARY_ID_UUID] = "uuid",
};

const char *binary_id_kind_name(enum binary_id_kind kind) {
    if (kind < BINARY_ID_GNU || kind > BINARY_ID_UUID)
        return NULL;
    return kind_names[kind];
}

bool binary_id_kind_from_name(struct span name, enum binary_id_kind *ret_kind) {
    for (int kind = BINARY_ID_GNU; kind <= BINARY_ID_UUID; kind++) {
        if (span_equal_cstr(name, kind_names[kind])) {
            *ret_kind = (enum binary_id_kind)kind;
            return true;
        }
    }
    return false;
}

bool binary_id_equal(const struct binary_id *a, const struct binary_id *b) {
    return a->kind == b->kind && strcmp(a->text, b->text) == 0;
}

static bool all_zero(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static enum err parse_hex(struct span text, size_t bytes_min, size_t bytes_max,
                          struct binary_id *ret_id, struct error *error) {
    uint8_t bytes[GNU_ID_BYTES_MAX];
    size_t size = 0;
    if (!hex_decode(text, bytes, bytes_max, &size) || size < bytes_min)
        return error_set(error, ERR_INVALID,
                         "not a build ID: want %zu to %zu bytes as an even number of hex digits",
                         bytes_min, bytes_max);
    if (all_zero(bytes, size))
        return error_set(error, ERR_INVALID, "an all-zero build ID identifies nothing");
    hex_encode(span_of(bytes, size), ret_id->text);
    return ERR_OK;
}

static enum err parse_go(struct span text, struct binary_id *ret_id, struct error *error) {
    if (text.size < 2 || text.size > BINARY_ID_TEXT_MAX)
        return error_set(error, ERR_INVALID, "not a Go build ID: want 2 to %d characters",
                         BINARY_ID_TEXT_MAX);
    if (span_equal_cstr(text, "redacted"))
        return error_set(error, ERR_INVALID, "the Go build ID \"redacted\" identifies nothing");
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] <= ' ' || text.data[i] >= 0x7f)
            return error_set(error, ERR_INVALID,
                             "not a Go build ID: want printable ASCII without spaces");
    memcpy(ret_id->text, text.data, text.size);
    ret_id->text[text.size] = '\0';
    return ERR_OK;
}

static enum err parse_uuid(struct span text, struct binary_id *ret_id, struct error *error) {
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    bool nonzero = false;
    bool fits = text.size == sizeof(shape) - 1;
    for (size_t i = 0; fits && i < text.size; i++) {
        char c = text.data[i];
        if (c >= 'A' && c <= 'F')
            c = (char)(c - 'A' + 'a');
        bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        fits = shape[i] == '-' ? c == '-' : digit;
        nonzero |= digit && c != '0';
        ret_id->text[i] = c;
    }
    if (!fits || !nonzero)
        return error_set(error, ERR_INVALID, "not a UUID: want %s of hex digits, not all zero",
                         shape);
    ret_id->text[text.size] = '\0';
    return ERR_OK;
}

enum err binary_id_parse(enum binary_id_kind kind, struct span text, struct binary_id *ret_id,
                         struct error *error) {
    struct binary_id id = {.kind = kind};
    enum err err = ERR_OK;
    switch (kind) {
    case BINARY_ID_GNU:
        err = parse_hex(text, GNU_ID_BYTES_MIN, GNU_ID_BYTES_MAX, &id, error);
        break;
    case BINARY_ID_HTLHASH:
        err = parse_hex(text, 16, 16, &id, error);
        break;
    case BINARY_ID_GO:
        err = parse_go(text, &id, error);
        break;
    case BINARY_ID_UUID:
        err = parse_uuid(text, &id, error);
        break;
    default:
        err = error_set(error, ERR_INVALID, "unknown build-ID kind %d", (int)kind);
    }
    if (err == ERR_OK)
        *ret_id = id;
    return err;
}

enum err binary_id_from_gnu_note(struct span bytes, struct binary_id *ret_id, struct error *error) {
    char text[2 * GNU_ID_BYTES_MAX + 1];
    if (bytes.size > GNU_ID_BYTES_MAX)
        return error_set(error, ERR_INVALID, "build-ID note of %zu bytes: want at most %d",
                         bytes.size, GNU_ID_BYTES_MAX);
    hex_encode(bytes, text);
    return binary_id_parse(BINARY_ID_GNU, span_cstr(text), ret_id, error);
}
