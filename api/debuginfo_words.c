#include "api/debuginfo_words.h"

#include <string.h>

#include "base/cleanup.h"
#include "cache/artifact.h"

static const char *const state_names[] = {
    [BUILD_QUEUED] = "queued",
    [BUILD_RUNNING] = "running",
    [BUILD_OK] = "ok",
    [BUILD_MALFORMED] = "malformed",
    [BUILD_UNSUPPORTED] = "unsupported",
    [BUILD_KILLED] = "parser_killed",
    [BUILD_FAILED] = "failed",
};

static const struct {
    unsigned flag;
    const char *name;
} contents_kinds[] = {
    {CONTENTS_DWARF, "dwarf"},
    {CONTENTS_PCLNTAB, "pclntab"},
    {CONTENTS_SYMTAB, "symtab"},
    {CONTENTS_DYNSYM, "dynsym"},
};

const char *build_state_name(enum build_state state) {
    return state_names[state];
}

bool build_state_from_name(const char *name, enum build_state *ret_state) {
    for (size_t i = BUILD_QUEUED; i < ARRAY_SIZE(state_names); i++) {
        if (strcmp(state_names[i], name) != 0)
            continue;
        *ret_state = (enum build_state)i;
        return true;
    }
    return false;
}

void debuginfo_write_contents(struct json_writer *writer, unsigned contents) {
    json_writer_key(writer, "contents");
    json_writer_array_begin(writer);
    for (size_t i = 0; i < ARRAY_SIZE(contents_kinds); i++)
        if (contents & contents_kinds[i].flag)
            json_writer_string(writer, span_cstr(contents_kinds[i].name));
    json_writer_array_end(writer);
}

static unsigned flag_of(struct span word) {
    for (size_t i = 0; i < ARRAY_SIZE(contents_kinds); i++)
        if (span_equal(word, span_cstr(contents_kinds[i].name)))
            return contents_kinds[i].flag;
    return 0;
}

bool debuginfo_contents_from_text(const char *text, unsigned *ret_contents) {
    unsigned contents = 0;
    for (;;) {
        size_t size = strcspn(text, ",");
        unsigned flag = flag_of(span_of(text, size));
        if (!flag)
            return false;
        contents |= flag;
        if (text[size] == '\0')
            break;
        text += size + 1;
    }
    *ret_contents = contents;
    return true;
}
