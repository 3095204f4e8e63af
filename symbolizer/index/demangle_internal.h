/* What the languages' printers share. */
#pragma once

#include <setjmp.h>

#include "symbolizer/index/demangle.h"

struct demangle_output {
    struct buffer *text;
    size_t before; /* what the text held */
    size_t left;
    bool full;
    jmp_buf escape; /* where cxx_print leaves from */
};

/* Appends, or sets `full` and drops the rest. */
void demangle_output_add(struct demangle_output *output, const char *data, size_t size);

/* A C++ name "_Z…" without clone suffix, NUL-terminated. False when it is none or is too costly. */
bool cxx_print(const char *name, struct demangle_output *output);
