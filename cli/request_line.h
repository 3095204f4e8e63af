/*
 * One question, as llvm-symbolizer and addr2line read it from an argument or a line of standard
 * input. The lines are the user's own words and may be anything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum request_verb { REQUEST_CODE, REQUEST_DATA, REQUEST_FRAME };

struct request_line {
    enum request_verb verb;
    struct span module;  /* into the line, or the object given */
    struct span section; /* of SECTION+OFFSET, into the line; empty: a plain address */
    uint64_t address;    /* or the offset in the section */
};

/*
 * llvm-symbolizer's form: [CODE|DATA|FRAME ] [FILE ]ADDRESS, where FILE stands only if `object` is
 * NULL and may be quoted, and ADDRESS is decimal or prefixed by 0x, 0b, 0o or 0, or such a number
 * behind the name of a section (".text+0x10"). Words behind the address are ignored. False if that
 * cannot be read; ret_line->module is then what was read of it.
 */
bool request_line_parse(struct span line, const char *object, struct request_line *ret_line);

/*
 * Cuts "SECTION+" off the front of a word that begins with a dot; false when there is none. What is
 * left is the offset.
 */
bool request_section_take(struct span *text, struct span *ret_section);

/*
 * addr2line's form: hexadecimal with or without 0x, as far as the digits go; no digits are 0, too
 * many are the highest address.
 */
uint64_t request_address_gnu(struct span text);
