/*
 * The command line of `symbolize -e FILE [ADDRESS...]`: the options of llvm-symbolizer and of
 * addr2line. What an option leaves open follows the output style: LLVM and JSON show functions,
 * inlined frames and demangled names, GNU shows lines alone and reads addresses as addr2line does.
 *
 * Under another name, as that of a symbolic link, the program stands in for the one of that name:
 *
 *   ...addr2line            the style GNU
 *   ...llvm-addr2line...    the style GNU in LLVM's variety: addresses are hexadecimal, questions
 *                           and answers else of LLVM's form
 *   ...llvm-symbolizer...   the style LLVM; GNU is but another shape of the answers
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum output_style { OUTPUT_LLVM, OUTPUT_GNU, OUTPUT_JSON };

enum function_names {
    FUNCTION_NAMES_NONE,
    FUNCTION_NAMES_SHORT,   /* DW_AT_name alone */
    FUNCTION_NAMES_LINKAGE, /* the linkage name, demangled if asked */
};

/* How questions are read (cli/request_line.h). */
enum questions { QUESTIONS_LLVM, QUESTIONS_LLVM_HEX, QUESTIONS_GNU };

enum imitated { IMITATED_NONE, IMITATED_ADDR2LINE, IMITATED_LLVM_ADDR2LINE, IMITATED_LLVM };

#define OPTIONS_FOLDER_MAX 16
#define SOURCE_LINES_MAX 1000

enum options_action { OPTIONS_SYMBOLIZE, OPTIONS_HELP, OPTIONS_VERSION };

struct options {
    enum options_action action;
    enum output_style style;
    enum questions questions;
    enum function_names functions;
    bool demangle;
    bool inlines;
    bool basenames;
    bool pretty;
    bool addresses; /* show them before the answer */
    bool verbose;
    bool relative_names;    /* files as they are below their compilation directories */
    unsigned source_lines;  /* to show around each line */
    const char *object;     /* -e; NULL: each input line names its file */
    const char *build_id;   /* instead of an object, as it was given; NULL: none */
    const char *section;    /* addresses are offsets in it; NULL: they are addresses */
    const char *debug_file; /* NULL: one is looked for */
    const char *package;    /* a .dwp; NULL: one is looked for */
    const char *folders[OPTIONS_FOLDER_MAX]; /* where debug files are looked for */
    size_t folder_count;                     /* 0: where they are by default */
    uint64_t adjust_vma;                     /* subtracted from each address */
    char **inputs;                           /* into argv; none: standard input is read */
    int input_count;
};

/* What the program stands in for under that name (argv[0]). */
enum imitated options_imitated(const char *name);

/* ERR_INVALID names the argument that is wrong. Reorders argv (getopt_long) and keeps pointing into
 * it. */
enum err options_parse(int argument_count, char **arguments, struct options *ret_options,
                       struct error *error);
