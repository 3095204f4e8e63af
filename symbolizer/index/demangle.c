#include "symbolizer/index/demangle.h"

#include <libiberty/demangle.h>
#include <stdint.h>
#include <string.h>

#include "symbolizer/index/demangle_internal.h"
#include "symbolizer/index/rust_v0.h"

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static bool is_lower(char byte) {
    return byte >= 'a' && byte <= 'z';
}

bool demangle_looks_mangled(struct span name) {
    return span_starts_with(name, "_Z") || span_starts_with(name, "__Z") ||
           span_starts_with(name, "_R") || span_starts_with(name, "__R") ||
           (span_starts_with(name, "ZN") && name.size > 2 && is_digit(name.data[2]));
}

/* Visits of parts, as in demangle_cxx.c. */
#define CHEAP_WORK_MAX ((size_t)262144)
#define CHEAP_SIZE_MAX ((size_t)1024)

/* "_Z", then what begins the name of a function in a scope or out of any. */
static bool begins_as_function(struct span name) {
    if (name.size < 4 || !span_starts_with(name, "_Z"))
        return false;
    struct span rest = span_of(name.data + 2, name.size - 2);
    return is_digit(rest.data[0]) || span_starts_with(rest, "St") ||
           (rest.data[0] == 'L' && is_digit(rest.data[1])) ||
           (rest.data[0] == 'N' &&
            (is_digit(rest.data[1]) || rest.data[1] == 'K' || rest.data[1] == 'S'));
}

/* Substitutions that are told apart; of later ones all that was printable is taken. */
#define SUBSTITUTIONS_TOLD 64u

struct expansion {
    size_t work;   /* parts that may have to be visited so far, at most */
    size_t at_end; /* the same at the last 'E' */
    unsigned told; /* substitutions below are bounded */
    size_t bounds[SUBSTITUTIONS_TOLD];
    unsigned pack_types;       /* Dp: expansions of packs of types */
    unsigned pack_expressions; /* sp: those in expressions */
    bool has_expressions;
    bool has_parameters;
    bool has_conversions;
};

static void note_substitution(struct expansion *expansion, unsigned number) {
    for (; expansion->told < SUBSTITUTIONS_TOLD && expansion->told <= number; expansion->told++)
        expansion->bounds[expansion->told] = expansion->work;
    expansion->work += number < SUBSTITUTIONS_TOLD ? expansion->bounds[number] : expansion->work;
}

/* S_, S0_, SZ_: the number is one more than what stands there. Returns whether it is one. */
static bool read_substitution(const char *at, const char *end, unsigned *ret_number) {
    unsigned number = 0;
    for (const char *start = ++at; at < end; at++) {
        if (*at == '_') {
            *ret_number = number;
            return true;
        }
        bool is_upper = *at >= 'A' && *at <= 'Z';
        if ((!is_digit(*at) && !is_upper) || at - start >= 4)
            return false;
        number = (at == start ? 0 : number - 1) * 36 + 1 +
                 (unsigned)(is_upper ? *at - 'A' + 10 : *at - '0');
    }
    return false;
}

/* What is one of these only because of an identifier's letters is counted all the same. */
static void note_byte(struct expansion *expansion, const char *at, const char *end) {
    unsigned number;
    char next = '\0';
    if (at + 1 < end)
        next = at[1];
    expansion->work++;
    if (*at == 'E')
        expansion->at_end = expansion->work;
    if (*at == 'S' && read_substitution(at, end, &number))
        note_substitution(expansion, number);
    if (*at == 'T' && (next == '_' || next == 'L' || is_digit(next))) {
        expansion->work += expansion->at_end ? expansion->at_end : expansion->work;
        expansion->has_parameters = true;
    }
    expansion->pack_types += *at == 'D' && next == 'p';
    expansion->pack_expressions += *at == 's' && next == 'p';
    /* Arguments X…E, decltype, noexcept, and bounds of arrays that are no number. */
    expansion->has_expressions |= *at == 'X' ||
                                  (*at == 'D' && (next == 't' || next == 'T' || next == 'O')) ||
                                  (*at == 'A' && next != '_' && !is_digit(next));
    expansion->has_conversions |= *at == 'c' && next == 'v';
}

static size_t with_packs(const struct expansion *expansion, size_t size) {
    unsigned packs = expansion->pack_types;
    size_t work = expansion->work;
    if (expansion->has_expressions)
        packs += expansion->pack_expressions;
    for (unsigned i = 0; i < packs && work <= CHEAP_WORK_MAX; i++)
        work *= size / 2;
    return work;
}

bool demangle_is_cheap(struct span name) {
    if (name.size > CHEAP_SIZE_MAX || !begins_as_function(name) ||
        memchr(name.data, '\0', name.size))
        return false;
    struct expansion expansion = {.work = 0};
    const char *end = name.data + name.size;
    for (const char *at = name.data; at < end && expansion.work <= CHEAP_WORK_MAX; at++)
        note_byte(&expansion, at, end);
    return with_packs(&expansion, name.size) <= CHEAP_WORK_MAX &&
           !(expansion.has_parameters && expansion.has_conversions);
}

static void start_output(struct demangle_output *output) {
    output->text->size = output->before;
    output->left = DEMANGLE_OUTPUT_SIZE_MAX;
    output->full = buffer_failed(output->text);
}

void demangle_output_add(struct demangle_output *output, const char *data, size_t size) {
    if (output->full || size > output->left) {
        output->full = true;
        return;
    }
    buffer_append(output->text, data, size);
    output->left -= size;
    output->full = buffer_failed(output->text);
}

static void add_or_drop(const char *data, size_t size, void *context) {
    demangle_output_add(context, data, size);
}

/* The size of a legacy Rust name, which ends in its hash, "17h" and 16 hex digits, and "E"; or 0.
 */
static size_t rust_legacy_size(const char *name) {
    const size_t hash_size = strlen("17h0123456789abcdefE");
    for (const char *at = strstr(name, "17h"); at; at = strstr(at + 1, "17h")) {
        size_t digits = strspn(at + 3, "0123456789abcdef");
        if (digits == 16 && at[19] == 'E' && (at[20] == '\0' || at[20] == '.'))
            return (size_t)(at - name) + hash_size;
    }
    return 0;
}

/* One ".word.1.2" or ".1" as GCC and LLVM append them; 0 when there is none. */
static size_t clone_suffix_size(const char *suffix) {
    size_t size = 0;
    if (suffix[0] == '.' && (is_lower(suffix[1]) || is_digit(suffix[1]) || suffix[1] == '_')) {
        size = 2;
        while (is_lower(suffix[size]) || is_digit(suffix[size]) || suffix[size] == '_')
            size++;
    }
    while (size > 0 && suffix[size] == '.' && is_digit(suffix[size + 1])) {
        size += 2;
        while (is_digit(suffix[size]))
            size++;
    }
    return size;
}

static bool add_clones(const char *suffix, struct demangle_output *output) {
    while (*suffix != '\0') {
        size_t size = clone_suffix_size(suffix);
        if (size == 0)
            return false;
        demangle_output_add(output, " [clone ", strlen(" [clone "));
        demangle_output_add(output, suffix, size);
        demangle_output_add(output, "]", 1);
        suffix += size;
    }
    return true;
}

static bool print_rust(const char *name, struct demangle_output *output) {
    return rust_demangle_callback(name, 0, add_or_drop, output) != 0 && !output->full;
}

/* `suffix` is where a clone suffix begins, or the end; it is cut off while the name is printed. */
static bool print_with_clones(char *name, char *suffix, struct demangle_output *output,
                              bool (*print)(const char *name, struct demangle_output *output)) {
    char first = *suffix;
    *suffix = '\0';
    bool printed = print(name, output);
    *suffix = first;
    return printed && add_clones(suffix, output) && !output->full;
}

/* `name` begins with "_Z" or "_R", or with "_ZN" where only Rust is meant. */
static bool print_name(char *name, bool only_rust, struct demangle_output *output) {
    char *suffix = strchrnul(name, '.');
    if (name[1] == 'R') {
        struct span path = span_of(name + 2, (size_t)(suffix - name) - 2);
        return rust_v0_is_affordable(path) && print_with_clones(name, suffix, output, print_rust);
    }
    size_t legacy_size = rust_legacy_size(name);
    if (legacy_size > 0 && print_with_clones(name, name + legacy_size, output, print_rust))
        return true;
    /* A C++ name may look like that too; what Rust's printer left behind goes. */
    start_output(output);
    return !only_rust && print_with_clones(name, suffix, output, cxx_print);
}

/* "@plt", as a linker's stub for calls of the function is named; it stands behind clone suffixes.
 */
static struct span stub_suffix(struct span name) {
    static const char suffix[] = "@plt";
    size_t size = sizeof(suffix) - 1;
    bool is_stub = name.size > size && memcmp(name.data + name.size - size, suffix, size) == 0;
    return is_stub ? span_of(suffix, size) : (struct span){NULL, 0};
}

bool demangle(struct span name, struct buffer *ret_text) {
    char copy[DEMANGLE_INPUT_SIZE_MAX + 2]; /* one for a "_" before, one for the NUL behind */
    if (name.size > DEMANGLE_INPUT_SIZE_MAX || !demangle_looks_mangled(name) ||
        memchr(name.data, '\0', name.size) || buffer_failed(ret_text))
        return false;
    bool only_rust = name.data[0] == 'Z';
    struct span stub = stub_suffix(name);
    struct span rest = span_of(name.data, name.size - stub.size);
    if (span_starts_with(name, "__"))
        rest = span_of(rest.data + 1, rest.size - 1);
    copy[0] = '_';
    memcpy(copy + only_rust, rest.data, rest.size);
    copy[only_rust + rest.size] = '\0';
    struct demangle_output output = {.text = ret_text, .before = ret_text->size};
    start_output(&output);
    /* "_RC0" names the nameless. */
    if (print_name(copy, only_rust, &output) && ret_text->size > output.before) {
        demangle_output_add(&output, stub.data, stub.size);
        if (!output.full)
            return true;
    }
    ret_text->size = output.before;
    return false;
}
