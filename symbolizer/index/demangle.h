/*
 * C++ (Itanium) and Rust (legacy and v0) names to readable ones, as addr2line -C and c++filt print
 * them, through libiberty. Rust's legacy names lose their hash. Clone suffixes (.isra.0, .cold,
 * .llvm.123) are set apart before and put back as "name() [clone .isra.0]", one bracket for each;
 * "@plt" stays behind all of them.
 *
 * Mangled names are hostile. Input, nesting and output are capped, and so is the work that prints
 * nothing, by looking at the parsed name before it is printed:
 *
 *   Rust v0  the grammar is walked and each back reference followed; too many steps, and the name
 *            is not printed (symbolizer/index/rust_v0.h).
 *   C++      the parsed tree is walked as printing would walk it, with what is shared visited as
 *            often as it occurs and template parameters replaced by their arguments: libiberty's
 *            search for argument packs, and packs that come out empty, double without output. So
 *            would its stack, which holds templates times forwarding references. Printing is
 *            left by longjmp when the output is full.
 *
 * The walk over C++ follows libiberty's printing but not to the letter (saved scopes of forwarding
 * references); a name made to exploit the difference could still take long. So a name is first
 * tried in the worker, under its deadline, and only names that passed there (SYMBOL_DEMANGLES) are
 * demangled in the server.
 *
 * Stack: below 2 MiB for the worst name known. Thread-safe.
 */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/span.h"

#define DEMANGLE_INPUT_SIZE_MAX ((size_t)4096)
#define DEMANGLE_OUTPUT_SIZE_MAX ((size_t)65536)

/* True and the readable name appended to *ret_text (whose bytes before stay), or false and nothing
 * appended: no mangled name, over a cap, or the buffer's own limit. */
bool demangle(struct span name, struct buffer *ret_text);

/*
 * True of the C++ names whose text alone shows that demangling them is affordable. What makes a
 * name grow is a reference to a part of it that has ended before, so reading from left to right a
 * bound can be kept of the parts that all read so far would print:
 *
 *   a substitution  adds at most what was printable when it, or a later one, was first referred to,
 *                   since they are numbered in the order in which they end
 *   a template parameter  adds at most what was printable at the last end of a list of arguments
 *   an expansion of a pack  prints a part as often as the pack has elements, of which there are no
 *                   more than half the bytes of the name
 *
 * The template parameters of a conversion operator stand before what they mean; names that may have
 * both are left out. Nearly all real names are cheap. Whether the name is well-formed is not looked
 * at beyond its first letters. True means that demangle() may be called in the server although
 * nobody has tried it.
 */
bool demangle_is_cheap(struct span name);

/* A cheap test of the prefix alone (_Z, __Z, _R, __R, ZN…): false means demangle() would fail. */
bool demangle_looks_mangled(struct span name);
