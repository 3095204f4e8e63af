/*
 * Property: a name is either demangled to at most DEMANGLE_OUTPUT_SIZE_MAX bytes behind what the
 * buffer held, or nothing is appended; and what looks_mangled refuses is not demangled.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "symbolizer/index/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buffer text = {0};
    struct span name = span_of(data, size);
    buffer_append_cstr(&text, "before");
    bool done = demangle(name, &text);
    size_t added = text.size - strlen("before");
    assert(memcmp(text.data, "before", strlen("before")) == 0);
    assert(done ? added > 0 : added == 0);
    assert(added <= DEMANGLE_OUTPUT_SIZE_MAX);
    assert(!done || (demangle_looks_mangled(name) && size <= DEMANGLE_INPUT_SIZE_MAX));
    buffer_clear(&text);
    return 0;
}
