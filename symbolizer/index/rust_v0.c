#include "symbolizer/index/rust_v0.h"

#include <stdint.h>

/* About one for each path, type and 16 bytes of identifier, counted as often as they are printed.
 */
#define STEPS_MAX 65536
#define DEPTH_MAX 500

struct walk {
    struct span name;
    size_t next;
    uint64_t steps;
    unsigned depth;
    bool failed;
};

static void skip_path(struct walk *walk);
static void skip_type(struct walk *walk);

static void charge(struct walk *walk, uint64_t steps) {
    if (steps > STEPS_MAX || walk->steps + steps > STEPS_MAX)
        walk->failed = true;
    else
        walk->steps += steps;
}

static char peek(const struct walk *walk) {
    if (walk->failed || walk->next >= walk->name.size)
        return '\0';
    return walk->name.data[walk->next];
}

static char take(struct walk *walk) {
    char byte = peek(walk);
    if (byte == '\0')
        walk->failed = true;
    else
        walk->next++;
    return byte;
}

static bool eat(struct walk *walk, char byte) {
    if (peek(walk) != byte)
        return false;
    walk->next++;
    return true;
}

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static bool is_lower(char byte) {
    return byte >= 'a' && byte <= 'z';
}

static bool is_upper(char byte) {
    return byte >= 'A' && byte <= 'Z';
}

static unsigned base_62_digit(struct walk *walk, char byte) {
    if (is_digit(byte))
        return (unsigned)(byte - '0');
    if (is_lower(byte))
        return (unsigned)(byte - 'a') + 10;
    if (is_upper(byte))
        return (unsigned)(byte - 'A') + 36;
    walk->failed = true;
    return 0;
}

/* <base-62-number>: "_" is 0, otherwise one more than the digits say. */
static uint64_t take_number(struct walk *walk) {
    if (eat(walk, '_'))
        return 0;
    uint64_t value = 0;
    for (char byte = take(walk); byte != '_' && !walk->failed; byte = take(walk)) {
        if (value > UINT64_MAX / 62 - 1)
            walk->failed = true;
        value = value * 62 + base_62_digit(walk, byte);
    }
    return value + 1;
}

static void skip_disambiguator(struct walk *walk) {
    if (eat(walk, 's'))
        take_number(walk);
}

/* <undisambiguated-identifier> */
static void skip_identifier(struct walk *walk) {
    bool is_punycode = eat(walk, 'u');
    size_t size = 0;
    if (!is_digit(peek(walk)))
        walk->failed = true;
    if (!eat(walk, '0')) {
        while (is_digit(peek(walk)) && size < walk->name.size)
            size = size * 10 + (size_t)(take(walk) - '0');
    }
    eat(walk, '_');
    if (walk->failed || size > walk->name.size - walk->next) {
        walk->failed = true;
        return;
    }
    walk->next += size;
    /* Each decoded character is inserted in the middle of those before. */
    charge(walk, 1 + (is_punycode ? size : size / 16));
}

/* <binder>: as many lifetimes are named. */
static void skip_binder(struct walk *walk) {
    if (eat(walk, 'G'))
        charge(walk, take_number(walk));
}

/* <backref>, whose tag was taken; it must refer to what lies before it, and is walked as often as
 * it would be printed. */
static void follow(struct walk *walk, void (*skip)(struct walk *walk)) {
    size_t tag = walk->next - 1;
    uint64_t target = take_number(walk);
    if (walk->failed || target >= tag) {
        walk->failed = true;
        return;
    }
    size_t after = walk->next;
    walk->next = (size_t)target;
    skip(walk);
    walk->next = after;
}

/* <const> */
static void skip_const(struct walk *walk) {
    charge(walk, 1);
    if (++walk->depth > DEPTH_MAX)
        walk->failed = true;
    char tag = take(walk);
    if (tag == 'B') {
        follow(walk, skip_const);
    } else if (tag != 'p') {
        if (!is_lower(tag))
            walk->failed = true;
        eat(walk, 'n');
        while (is_digit(peek(walk)) || (peek(walk) >= 'a' && peek(walk) <= 'f'))
            take(walk);
        if (!eat(walk, '_'))
            walk->failed = true;
    }
    walk->depth--;
}

/* {<generic-arg>} "E" */
static void skip_generic_args(struct walk *walk) {
    while (!walk->failed && !eat(walk, 'E')) {
        if (eat(walk, 'L'))
            take_number(walk);
        else if (eat(walk, 'K'))
            skip_const(walk);
        else
            skip_type(walk);
        charge(walk, 1);
    }
}

/* {<type>} "E" */
static void skip_types(struct walk *walk) {
    while (!walk->failed && !eat(walk, 'E'))
        skip_type(walk);
}

/* <fn-sig> */
static void skip_signature(struct walk *walk) {
    skip_binder(walk);
    eat(walk, 'U');
    if (eat(walk, 'K') && !eat(walk, 'C'))
        skip_identifier(walk);
    skip_types(walk);
    skip_type(walk);
}

/* <dyn-bounds> <lifetime> */
static void skip_dyn(struct walk *walk) {
    skip_binder(walk);
    while (!walk->failed && !eat(walk, 'E')) {
        skip_path(walk);
        while (eat(walk, 'p')) {
            skip_identifier(walk);
            skip_type(walk);
        }
    }
    if (!eat(walk, 'L'))
        walk->failed = true;
    take_number(walk);
}

static void skip_nested(struct walk *walk) {
    char namespace = take(walk);
    if (!is_lower(namespace) && !is_upper(namespace))
        walk->failed = true;
    skip_path(walk);
    skip_disambiguator(walk);
    skip_identifier(walk);
}

static void skip_path_of(struct walk *walk, char tag) {
    switch (tag) {
    case 'C':
        skip_disambiguator(walk);
        skip_identifier(walk);
        return;
    case 'N':
        skip_nested(walk);
        return;
    case 'M':
    case 'X':
        skip_disambiguator(walk);
        skip_path(walk);
        skip_type(walk);
        if (tag == 'X')
            skip_path(walk);
        return;
    case 'Y':
        skip_type(walk);
        skip_path(walk);
        return;
    case 'I':
        skip_path(walk);
        skip_generic_args(walk);
        return;
    case 'B':
        follow(walk, skip_path);
        return;
    default:
        walk->failed = true;
    }
}

/* <path> */
static void skip_path(struct walk *walk) {
    charge(walk, 1);
    if (++walk->depth > DEPTH_MAX)
        walk->failed = true;
    skip_path_of(walk, take(walk));
    walk->depth--;
}

static void skip_type_of(struct walk *walk, char tag) {
    switch (tag) {
    case 'R':
    case 'Q':
        if (eat(walk, 'L'))
            take_number(walk);
        skip_type(walk);
        return;
    case 'P':
    case 'O':
    case 'S':
        skip_type(walk);
        return;
    case 'A':
        skip_type(walk);
        skip_const(walk);
        return;
    case 'T':
        skip_types(walk);
        return;
    case 'F':
        skip_signature(walk);
        return;
    case 'D':
        skip_dyn(walk);
        return;
    case 'B':
        follow(walk, skip_type);
        return;
    default:
        skip_path_of(walk, tag);
    }
}

/* <type>; lower-case letters are the basic types. */
static void skip_type(struct walk *walk) {
    charge(walk, 1);
    if (++walk->depth > DEPTH_MAX)
        walk->failed = true;
    char tag = take(walk);
    if (!is_lower(tag))
        skip_type_of(walk, tag);
    walk->depth--;
}

bool rust_v0_is_affordable(struct span name) {
    struct walk walk = {.name = name};
    skip_path(&walk);
    /* <instantiating-crate> */
    if (!walk.failed && walk.next < name.size)
        skip_path(&walk);
    return !walk.failed && walk.next == name.size;
}
