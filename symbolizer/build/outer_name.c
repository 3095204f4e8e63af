#include "symbolizer/build/outer_name.h"

#include "base/cleanup.h"
#include "symbolizer/index/demangle.h"

static bool is_suffix_byte(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '.';
}

/* GCC's DWARF calls a constructor C4 (a destructor D4) where it means each of its variants, of
 * which the symbol is one. */
static bool is_any_variant(struct span name, size_t i) {
    return i > 0 && name.data[i] == '4' && (name.data[i - 1] == 'C' || name.data[i - 1] == 'D') &&
           demangle_looks_mangled(name);
}

/* True if alias begins with name, or with a variant of the constructor that name means. */
static bool begins_with(struct span alias, struct span name) {
    if (name.size == 0 || alias.size < name.size)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        char byte = alias.data[i];
        if (byte != name.data[i] && !(byte >= '0' && byte <= '5' && is_any_variant(name, i)))
            return false;
    }
    return true;
}

static bool is_variant_of(struct span alias, struct span name) {
    return alias.size == name.size && begins_with(alias, name);
}

/* "name.word.1" for "name": no source language has the dot in its identifiers. A number first is
 * what GCC makes of nested functions. */
static bool is_clone_of(struct span alias, struct span name) {
    if (alias.size < name.size + 2 || !begins_with(alias, name) || alias.data[name.size] != '.' ||
        (alias.data[name.size + 1] >= '0' && alias.data[name.size + 1] <= '9'))
        return false;
    for (size_t i = name.size; i < alias.size; i++)
        if (!is_suffix_byte(alias.data[i]))
            return false;
    return true;
}

/* --- comparing a readable name with DW_AT_name --------------------------------------------------
 */

/* What stands before the bracket that the last byte closes; all if it closes none. */
static struct span without_last_bracket(struct span text, char open, char close) {
    size_t depth = 0;
    for (size_t i = text.size; i-- > 0;) {
        if (text.data[i] == close)
            depth++;
        else if (text.data[i] == open && --depth == 0)
            return span_of(text.data, i);
    }
    return text;
}

static bool ends_with(struct span text, const char *suffix) {
    size_t size = strlen(suffix);
    return text.size >= size && memcmp(text.data + text.size - size, suffix, size) == 0;
}

static bool drop(struct span *text, const char *suffix) {
    bool found = ends_with(*text, suffix);
    if (found)
        text->size -= strlen(suffix);
    return found;
}

/* "a::f<int>(int) const" to "a::f<int>". */
static struct span without_parameters(struct span text) {
    while (drop(&text, " const") || drop(&text, " volatile") || drop(&text, " &") ||
           drop(&text, " &&"))
        ;
    return ends_with(text, ")") ? without_last_bracket(text, '(', ')') : text;
}

/* "message[abi:cxx11]" to "message". */
static struct span without_abi_tags(struct span text) {
    static const char mark[] = "[abi:";
    while (ends_with(text, "]")) {
        struct span rest = without_last_bracket(text, '[', ']');
        if (text.size - rest.size < sizeof(mark) - 1 ||
            memcmp(text.data + rest.size, mark, sizeof(mark) - 1) != 0)
            break;
        text = rest;
    }
    return text;
}

/* What ends in a bracket that is none stays: operator> and its like. */
static struct span without_template(struct span text) {
    static const char *const operators[] = {"operator>", "operator->", "operator>>", "operator<=>"};
    for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
        if (ends_with(text, operators[i]))
            return text;
    return ends_with(text, ">") ? without_last_bracket(text, '<', '>') : text;
}

/* True if the last component of the path is that name; a return type may stand before it. */
static bool is_last_component(struct span path, struct span name) {
    if (name.size == 0 || path.size < name.size ||
        memcmp(path.data + path.size - name.size, name.data, name.size) != 0)
        return false;
    if (path.size == name.size)
        return true;
    char before = path.data[path.size - name.size - 1];
    return before == ':' || before == ' ' || before == '*' || before == '&';
}

/* Clone suffixes as demangle() prints them, behind the parameters. */
static struct span without_clones(struct span text) {
    static const char mark[] = " [clone .";
    const char *at = text.size ? memmem(text.data, text.size, mark, sizeof(mark) - 1) : NULL;
    return at ? span_of(text.data, (size_t)(at - text.data)) : text;
}

static bool demangles_to(struct span alias, struct span short_name, struct buffer *text,
                         bool *ret_is_clone) {
    text->size = 0;
    if (!demangle_looks_mangled(alias) || !demangle(alias, text))
        return false;
    struct span whole = without_clones(buffer_span(text));
    struct span path = without_parameters(whole);
    *ret_is_clone = whole.size < text->size;
    return is_last_component(without_abi_tags(path), short_name) ||
           is_last_component(without_abi_tags(without_template(path)),
                             without_template(short_name));
}

/* The first alias that is no clone, else the first clone. */
static size_t choose_readable(struct span short_name, const struct span *aliases, size_t count) {
    struct buffer text = {.size_max = DEMANGLE_OUTPUT_SIZE_MAX};
    size_t chosen = OUTER_NAME_KEEP;
    bool chose_clone = true;
    for (size_t i = 0; i < count && chose_clone; i++) {
        bool is_clone;
        if (!demangles_to(aliases[i], short_name, &text, &is_clone))
            continue;
        if (chosen == OUTER_NAME_KEEP || !is_clone)
            chosen = i;
        chose_clone = is_clone;
    }
    buffer_clear(&text);
    return chosen;
}

size_t outer_name_choose(const struct outer_name *dwarf, const struct span *aliases, size_t count) {
    bool is_mangled = demangle_looks_mangled(dwarf->name);
    struct span source = is_mangled ? dwarf->name : dwarf->short_name;
    for (size_t i = 0; i < count && source.size > 0; i++)
        if (span_equal(aliases[i], source))
            return i;
    for (size_t i = 0; i < count; i++)
        if (span_equal(aliases[i], dwarf->name))
            return i;
    for (size_t i = 0; i < count; i++)
        if (is_variant_of(aliases[i], dwarf->name))
            return i;
    for (size_t i = 0; i < count; i++)
        if (is_clone_of(aliases[i], dwarf->name) || is_clone_of(aliases[i], source))
            return i;
    return is_mangled ? OUTER_NAME_KEEP : choose_readable(dwarf->short_name, aliases, count);
}
