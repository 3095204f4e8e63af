/*
 * C++ (Itanium) and Rust (legacy and v0) names to readable ones, through libiberty's callback
 * forms. Mangled names are hostile: input and output are capped, and output past the cap abandons
 * the name. Clone suffixes (.isra.0, .part.1, .cold, .llvm.123) are set apart before and put back
 * as "name (.isra.0)", as c++filt does.
 */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/span.h"

#define DEMANGLE_INPUT_SIZE_MAX ((size_t)4096)
#define DEMANGLE_OUTPUT_SIZE_MAX ((size_t)65536)

/* True and the readable name appended to *ret_text (whose bytes before stay), or false and nothing
 * appended: no mangled name, or over a cap. */
bool demangle(struct span name, struct buffer *ret_text);

/* A cheap test of the prefix alone (_Z, __Z, _R, ZN…): false means demangle() would fail. */
bool demangle_looks_mangled(struct span name);
