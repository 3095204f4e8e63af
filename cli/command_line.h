/*
 * What a command line means before its options are read, as llvm-symbolizer and addr2line have it:
 * options of the environment, and response files, whose words stand for @FILE.
 */
#pragma once

#include "base/error.h"

struct command_line {
    char **arguments; /* count of them and a NULL; may be permuted and replaced */
    int count;
    char **kept; /* owns the strings */
    int kept_capacity;
};

/*
 * arguments[0], then the words of `environment` (NULL: none), then the other arguments; of these
 * and of words, every "@FILE" whose file can be read is replaced by the file's words. Words are
 * separated by white space; a backslash takes the next character as it is, also inside of '...' and
 * "...", which hold white space. ERR_LIMIT: files of more than 64 MiB, or nested without end.
 * End it with command_line_clear, also after a failure.
 */
enum err command_line_expand(int argument_count, char **arguments, const char *environment,
                             struct command_line *line, struct error *error);
void command_line_clear(struct command_line *line);
