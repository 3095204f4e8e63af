/*
 * The command line of `symbolize -e FILE [ADDRESS...]`: the options of llvm-symbolizer and of
 * addr2line, as far as they are the same question. What an option leaves open follows the output
 * style: LLVM and JSON show functions, inlined frames and demangled names, GNU shows lines alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum output_style { OUTPUT_LLVM, OUTPUT_GNU, OUTPUT_JSON };

enum function_names {
    FUNCTION_NAMES_NONE,
    FUNCTION_NAMES_SHORT,   /* DW_AT_name alone */
    FUNCTION_NAMES_LINKAGE, /* the linkage name, demangled if asked */
};

enum options_action { OPTIONS_SYMBOLIZE, OPTIONS_HELP, OPTIONS_VERSION };

struct options {
    enum options_action action;
    enum output_style style;
    enum function_names functions;
    bool demangle;
    bool inlines;
    bool basenames;
    bool pretty;
    bool addresses; /* show them before the answer */
    bool verbose;
    const char *object;     /* -e; NULL: each input line names its file */
    const char *debug_file; /* NULL: one is looked for */
    const char *package;    /* a .dwp; NULL: one is looked for */
    uint64_t adjust_vma;    /* subtracted from each address */
    char **inputs;          /* into argv; none: standard input is read */
    int input_count;
};

/* ERR_INVALID names the argument that is wrong. Reorders argv (getopt_long) and keeps pointing into
 * it. */
enum err options_parse(int argument_count, char **arguments, struct options *ret_options,
                       struct error *error);
