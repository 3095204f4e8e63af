#include "api/list_cursor.h"

#include <string.h>

#include "base/hash.h"

/* Version, number, and four bytes of a digest of both, against typing errors; as hex. */
#define VERSION 1
#define NUMBER_SIZE 8
#define CHECK_SIZE 4
#define CURSOR_SIZE (1 + NUMBER_SIZE + CHECK_SIZE)

_Static_assert(LIST_CURSOR_SIZE == 2 * CURSOR_SIZE + 1, "hex with NUL");

static void add_check(uint8_t bytes[static CURSOR_SIZE]) {
    struct digest digest = hash_sha256_of(span_of((const char *)bytes, 1 + NUMBER_SIZE));
    memcpy(bytes + 1 + NUMBER_SIZE, digest.bytes, CHECK_SIZE);
}

void list_cursor_write(int64_t before, char ret_text[static LIST_CURSOR_SIZE]) {
    uint8_t bytes[CURSOR_SIZE] = {VERSION};
    for (size_t i = 0; i < NUMBER_SIZE; i++)
        bytes[1 + i] = (uint8_t)((uint64_t)before >> (8 * (NUMBER_SIZE - 1 - i)));
    add_check(bytes);
    hex_encode(span_of((const char *)bytes, sizeof(bytes)), ret_text);
}

bool list_cursor_read(struct span text, int64_t *ret_before) {
    uint8_t bytes[CURSOR_SIZE];
    uint8_t wanted[CURSOR_SIZE];
    size_t size = 0;
    if (!hex_decode(text, bytes, sizeof(bytes), &size) || size != sizeof(bytes) ||
        bytes[0] != VERSION)
        return false;
    memcpy(wanted, bytes, sizeof(bytes));
    add_check(wanted);
    if (memcmp(wanted, bytes, sizeof(bytes)) != 0)
        return false;
    uint64_t before = 0;
    for (size_t i = 0; i < NUMBER_SIZE; i++)
        before = before << 8 | bytes[1 + i];
    if (before == 0 || before > INT64_MAX)
        return false;
    *ret_before = (int64_t)before;
    return true;
}
