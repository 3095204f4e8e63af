/*
 * What the outermost frame at an address is called, where DWARF and .symtab both have a name for
 * its function. Compilers clone functions (foo.isra.0, foo.constprop.2, foo.llvm.123): DWARF then
 * has the name of the source, and .symtab alone tells the clone. Where a symbol only is another
 * name for the same code (an alias, identical code folding), DWARF's name fits the file and line of
 * the answer and the symbol's may not.
 *
 * So: of the symbols that begin where the function is entered, the first of these is taken
 *
 *   1. one that equals DW_AT_name, unless the linkage name is mangled: an assembler label is a
 *      linkage name too (glibc's __GI_putwc for putwc), and not what people know;
 *      one that equals the linkage name, or is one of the constructors (C1, C2, …) that GCC's C4
 *      means, or one of the destructors of D4;
 *   2. one that equals it with a clone suffix behind: ".word", and more words and numbers. A number
 *      alone (nested.0) only keeps names apart and tells nothing;
 *   3. where DWARF has no mangled name (-g1, simplified template names): a mangled one that
 *      demangles to a function of that name, whatever its scopes, template arguments and
 *      parameters, first without a clone suffix (GCC gives static C++ functions no linkage name,
 *      and their clones mangled symbols);
 *
 * and if there is none, DWARF's name stays. Never a name that merely lies there: not __libc_foo or
 * __foo for foo, and not the better bound or the shorter one.
 *
 * docs/NAMES.md says how llvm-symbolizer chooses and where that differs.
 */
#pragma once

#include <stddef.h>

#include "base/span.h"

struct outer_name {
    struct span name;       /* linkage name, else scoped source name */
    struct span short_name; /* DW_AT_name; may be empty */
};

#define OUTER_NAME_KEEP ((size_t)-1)

/*
 * The position of the alias to take, or OUTER_NAME_KEEP for DWARF's name. Aliases come without
 * @VERSION, the better ones first, as symtab_source orders them; of equally fitting ones the first
 * is taken. Takes time in proportion to the names, and may demangle each.
 */
size_t outer_name_choose(const struct outer_name *dwarf, const struct span *aliases, size_t count);
