/*
 * One question, as llvm-symbolizer and addr2line read it from an argument or a line of standard
 * input. The lines are the user's own words and may be anything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "cli/options.h"

enum request_verb { REQUEST_CODE, REQUEST_DATA, REQUEST_FRAME };

struct request_line {
    enum request_verb verb;
    struct span module;      /* into the line, or the object given */
    bool module_is_build_id; /* of BUILDID: in the line */
    struct span section;     /* of SECTION+OFFSET, into the line; empty: a plain address */
    struct span symbol;      /* of SYMBOL or SYMBOL+OFFSET, into the line; empty: an address */
    uint64_t address;        /* or the offset in the section, or above the symbol */
    const char *problem;     /* why the line cannot be read; else NULL */
};

/*
 * llvm-symbolizer's form: [CODE|DATA|FRAME ] [[FILE:]FILE |BUILDID:ID ]ADDRESS, where the file
 * stands only if `object` is NULL and may be quoted. ADDRESS is decimal or prefixed by 0x, 0b, 0o
 * or 0, with QUESTIONS_LLVM_HEX hexadecimal throughout; or a number behind the name of a section
 * (".text+0x10"); or the name of a symbol, alone or with such a number behind. Words behind the
 * address are ignored. False with a `problem` if that cannot be read; the module is then what was
 * read of it.
 */
bool request_line_parse(struct span line, const char *object, enum questions questions,
                        struct request_line *ret_line);

/*
 * addr2line's form, with which everything can be read: what begins with a hexadecimal digit is an
 * address, with or without 0x, as far as the digits go, and too many are the highest address; what
 * begins with another letter or '_' is a symbol, or a symbol and an offset. Else the address is 0.
 * A word that begins with a dot may be SECTION+OFFSET, as above. The module is left out.
 */
void request_line_parse_gnu(struct span line, struct request_line *ret_line);
