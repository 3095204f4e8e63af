#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Options without a letter of their own. */
enum long_option {
    LONG_NO_INLINES = 256,
    LONG_NO_DEMANGLE,
    LONG_FUNCTIONS,
    LONG_INLINING,
    LONG_OUTPUT_STYLE,
    LONG_ADJUST_VMA,
    LONG_VERBOSE,
    LONG_DEBUG_FILE,
    LONG_DWP,
    LONG_IGNORED,
};

static const char short_options[] = ":aCe:fhiprRsvb:H";

static const struct option long_options[] = {
    {"obj", required_argument, NULL, 'e'},
    {"exe", required_argument, NULL, 'e'},
    {"debug-file", required_argument, NULL, LONG_DEBUG_FILE},
    {"dwp", required_argument, NULL, LONG_DWP},
    {"output-style", required_argument, NULL, LONG_OUTPUT_STYLE},
    {"functions", optional_argument, NULL, LONG_FUNCTIONS},
    {"inlines", no_argument, NULL, 'i'},
    {"no-inlines", no_argument, NULL, LONG_NO_INLINES},
    {"inlining", optional_argument, NULL, LONG_INLINING},
    {"demangle", optional_argument, NULL, 'C'},
    {"no-demangle", no_argument, NULL, LONG_NO_DEMANGLE},
    {"basenames", no_argument, NULL, 's'},
    {"pretty-print", no_argument, NULL, 'p'},
    {"addresses", no_argument, NULL, 'a'},
    {"print-address", no_argument, NULL, 'a'},
    {"adjust-vma", required_argument, NULL, LONG_ADJUST_VMA},
    {"verbose", no_argument, NULL, LONG_VERBOSE},
    {"target", required_argument, NULL, 'b'},
    {"recurse-limit", no_argument, NULL, 'R'},
    {"no-recurse-limit", no_argument, NULL, 'r'},
    {"no-untag-addresses", no_argument, NULL, LONG_IGNORED},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},
    {0},
};

/* A switch that was not given follows the style. */
enum choice { CHOICE_OPEN, CHOICE_OFF, CHOICE_ON };

struct choices {
    enum choice demangle;
    enum choice inlines;
    bool has_functions;
};

static bool settled(enum choice choice, bool fallback) {
    return choice == CHOICE_OPEN ? fallback : choice == CHOICE_ON;
}

static enum err parse_style(const char *name, enum output_style *ret_style, struct error *error) {
    static const char *const names[] = {"LLVM", "GNU", "JSON"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret_style = (enum output_style)i;
            return ERR_OK;
        }
    }
    return error_set(error, ERR_INVALID, "--output-style is LLVM, GNU or JSON, not \"%s\"", name);
}

static enum err parse_functions(const char *name, enum function_names *ret_names,
                                struct error *error) {
    static const char *const names[] = {"none", "short", "linkage"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret_names = (enum function_names)i;
            return ERR_OK;
        }
    }
    return error_set(error, ERR_INVALID, "--functions is none, short or linkage, not \"%s\"", name);
}

static enum err parse_number(const char *option, const char *text, uint64_t *ret_number,
                             struct error *error) {
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 0);
    if (errno || end == text || *end || strchr(text, '-'))
        return error_set(error, ERR_INVALID, "%s needs a number, not \"%s\"", option, text);
    *ret_number = number;
    return ERR_OK;
}

/* "--inlining=false" and "--demangle=false" are switches; other values name addr2line's demangling
 * styles, of which we have one. */
static enum choice choice_of(const char *value) {
    return value && strcmp(value, "false") == 0 ? CHOICE_OFF : CHOICE_ON;
}

/* Options that take a value or stand for more than one switch. */
static enum err apply_valued(int option, const char *value, struct options *options,
                             struct choices *choices, struct error *error) {
    switch (option) {
    case 'e': /* llvm-symbolizer also takes "-e=FILE" */
        options->object = value[0] == '=' ? value + 1 : value;
        return ERR_OK;
    case LONG_DEBUG_FILE:
        options->debug_file = value;
        return ERR_OK;
    case LONG_DWP:
        options->package = value;
        return ERR_OK;
    case LONG_OUTPUT_STYLE:
        return parse_style(value, &options->style, error);
    case LONG_ADJUST_VMA:
        return parse_number("--adjust-vma", value, &options->adjust_vma, error);
    case 'f':
    case LONG_FUNCTIONS:
        choices->has_functions = true;
        return parse_functions(value ? value : "linkage", &options->functions, error);
    case 'C':
        choices->demangle = choice_of(value);
        return ERR_OK;
    case LONG_INLINING:
        choices->inlines = choice_of(value);
        return ERR_OK;
    default: /* -b, -r, -R and others that change nothing here */
        return ERR_OK;
    }
}

static enum err apply(int option, const char *value, struct options *options,
                      struct choices *choices, struct error *error) {
    switch (option) {
    case 'a':
        options->addresses = true;
        return ERR_OK;
    case 'i':
        choices->inlines = CHOICE_ON;
        return ERR_OK;
    case LONG_NO_INLINES:
        choices->inlines = CHOICE_OFF;
        return ERR_OK;
    case LONG_NO_DEMANGLE:
        choices->demangle = CHOICE_OFF;
        return ERR_OK;
    case 'p':
        options->pretty = true;
        return ERR_OK;
    case 's':
        options->basenames = true;
        return ERR_OK;
    case LONG_VERBOSE:
        options->verbose = true;
        return ERR_OK;
    case 'h':
    case 'H':
        options->action = OPTIONS_HELP;
        return ERR_OK;
    case 'v':
        options->action = OPTIONS_VERSION;
        return ERR_OK;
    default:
        return apply_valued(option, value, options, choices, error);
    }
}

/* llvm-symbolizer's "-f=short" would read as a cluster of letters. */
static char *respelled(char *argument) {
    static char none[] = "--functions=none";
    static char short_names[] = "--functions=short";
    static char linkage[] = "--functions=linkage";
    if (strcmp(argument, "-f=none") == 0)
        return none;
    if (strcmp(argument, "-f=short") == 0)
        return short_names;
    return strcmp(argument, "-f=linkage") == 0 ? linkage : argument;
}

static enum err bad_option(int result, char **arguments, struct error *error) {
    const char *what = result == ':' ? "needs a value" : "is not known";
    if (optopt > 0 && optopt < 256)
        return error_set(error, ERR_INVALID, "option -%c %s", optopt, what);
    return error_set(error, ERR_INVALID, "option %s %s", arguments[optind - 1], what);
}

enum err options_parse(int argument_count, char **arguments, struct options *ret_options,
                       struct error *error) {
    struct options options = {.style = OUTPUT_LLVM};
    struct choices choices = {0};
    for (int i = 1; i < argument_count; i++)
        arguments[i] = respelled(arguments[i]);
    optind = 0; /* glibc: start anew */
    opterr = 0;
    for (;;) {
        int option = getopt_long(argument_count, arguments, short_options, long_options, NULL);
        if (option == -1)
            break;
        if (option == '?' || option == ':')
            return bad_option(option, arguments, error);
        enum err err = apply(option, optarg, &options, &choices, error);
        if (err)
            return err;
    }
    bool is_gnu = options.style == OUTPUT_GNU;
    options.demangle = settled(choices.demangle, !is_gnu);
    options.inlines = settled(choices.inlines, !is_gnu);
    if (!choices.has_functions)
        options.functions = is_gnu ? FUNCTION_NAMES_NONE : FUNCTION_NAMES_LINKAGE;
    options.inputs = arguments + optind;
    options.input_count = argument_count - optind;
    *ret_options = options;
    return ERR_OK;
}
