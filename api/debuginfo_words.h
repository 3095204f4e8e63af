/* The words that answers have for what is stored. */
#pragma once

#include "api/json_writer.h"
#include "cache/catalog_builds.h"

/* "queued", "running", "ok", "malformed", "unsupported", "parser_killed", "failed". */
const char *build_state_name(enum build_state state);
/* False for another word. */
bool build_state_from_name(const char *name, enum build_state *ret_state);

/* The member "contents": a list of "dwarf", "pclntab", "symtab" and "dynsym". */
void debuginfo_write_contents(struct json_writer *writer, unsigned contents);
/* The same words, separated by commas. False for others. */
bool debuginfo_contents_from_text(const char *text, unsigned *ret_contents);
