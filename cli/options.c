#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/binary_id.h"
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
    LONG_FOLDER,
    LONG_BUILD_ID,
    LONG_RELATIVE_NAMES,
    LONG_SOURCE_LINES,
    LONG_REFUSED,
    LONG_IGNORED,
};

static const char short_options[] = ":aCe:fhij:prRsvb:H";

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
    {"section", required_argument, NULL, 'j'},
    {"build-id", required_argument, NULL, LONG_BUILD_ID},
    {"debug-file-directory", required_argument, NULL, LONG_FOLDER},
    {"debug-dir", required_argument, NULL, LONG_FOLDER},
    {"fallback-debug-path", required_argument, NULL, LONG_FOLDER},
    {"relativenames", no_argument, NULL, LONG_RELATIVE_NAMES},
    {"print-source-context-lines", required_argument, NULL, LONG_SOURCE_LINES},
    {"filter-markup", no_argument, NULL, LONG_REFUSED},
    {"debuginfod", no_argument, NULL, LONG_REFUSED},
    {"no-debuginfod", no_argument, NULL, LONG_IGNORED},
    {"no-untag-addresses", no_argument, NULL, LONG_IGNORED},
    {"relative-address", no_argument, NULL, LONG_IGNORED},
    {"cache-size", required_argument, NULL, LONG_IGNORED},
    {"color", optional_argument, NULL, LONG_IGNORED},
    {"default-arch", required_argument, NULL, LONG_IGNORED},
    {"dia", no_argument, NULL, LONG_IGNORED},
    {"dsym-hint", required_argument, NULL, LONG_IGNORED},
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

static enum err parse_source_lines(const char *text, unsigned *ret_count, struct error *error) {
    uint64_t count = 0;
    enum err err = parse_number("--print-source-context-lines", text, &count, error);
    if (err)
        return err;
    if (count > SOURCE_LINES_MAX)
        return error_set(error, ERR_INVALID, "--print-source-context-lines is at most %d",
                         SOURCE_LINES_MAX);
    *ret_count = (unsigned)count;
    return ERR_OK;
}

static enum err add_folder(struct options *options, const char *folder, struct error *error) {
    if (options->folder_count == ARRAY_SIZE(options->folders))
        return error_set(error, ERR_INVALID, "more than %zu folders for debug files",
                         ARRAY_SIZE(options->folders));
    options->folders[options->folder_count++] = folder;
    return ERR_OK;
}

/* Options that say where what is asked about lies. */
static enum err apply_place(int option, const char *value, struct options *options,
                            struct error *error) {
    switch (option) {
    case 'j':
        options->section = value;
        return ERR_OK;
    case LONG_DEBUG_FILE:
        options->debug_file = value;
        return ERR_OK;
    case LONG_DWP:
        options->package = value;
        return ERR_OK;
    case LONG_BUILD_ID:
        options->build_id = value;
        return binary_id_parse(BINARY_ID_GNU, span_cstr(value), &(struct binary_id){0}, error);
    case LONG_FOLDER:
        return add_folder(options, value, error);
    default: /* -b, -r, -R and others that change nothing here */
        return ERR_OK;
    }
}

/* Options that take a value or stand for more than one switch. */
static enum err apply_valued(int option, const char *value, struct options *options,
                             struct choices *choices, struct error *error) {
    switch (option) {
    case 'e': /* llvm-symbolizer also takes "-e=FILE" */
        options->object = value[0] == '=' ? value + 1 : value;
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
    case LONG_SOURCE_LINES:
        return parse_source_lines(value, &options->source_lines, error);
    default:
        return apply_place(option, value, options, error);
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
    case LONG_RELATIVE_NAMES:
        options->relative_names = true;
        return ERR_OK;
    case LONG_REFUSED:
        return error_set(error, ERR_INVALID, "%s",
                         "neither markup (--filter-markup) nor debuginfod (--debuginfod) is known");
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

/* llvm-symbolizer's spellings that would read as clusters of letters. */
static char *respelled(char *argument) {
    static char spellings[][2][24] = {
        {"-f=none", "--functions=none"},       {"-f=short", "--functions=short"},
        {"-f=linkage", "--functions=linkage"}, {"-demangle=true", "--demangle"},
        {"-demangle=false", "--no-demangle"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
        if (strcmp(argument, spellings[i][0]) == 0)
            return spellings[i][1];
    return argument;
}

static enum err bad_option(int result, char **arguments, struct error *error) {
    const char *what = result == ':' ? "needs a value" : "is not known";
    if (optopt > 0 && optopt < 256)
        return error_set(error, ERR_INVALID, "option -%c %s", optopt, what);
    return error_set(error, ERR_INVALID, "option %s %s", arguments[optind - 1], what);
}

enum imitated options_imitated(const char *name) {
    const char *slash = strrchr(name, '/');
    const char *last = slash ? slash + 1 : name;
    if (strstr(last, "llvm-symbolizer"))
        return IMITATED_LLVM;
    if (strstr(last, "llvm-addr2line"))
        return IMITATED_LLVM_ADDR2LINE;
    return strstr(last, "addr2line") ? IMITATED_ADDR2LINE : IMITATED_NONE;
}

static enum err read_options(int argument_count, char **arguments, struct options *options,
                             struct choices *choices, struct error *error) {
    for (int i = 1; i < argument_count; i++)
        arguments[i] = respelled(arguments[i]);
    optind = 0; /* glibc: start anew */
    opterr = 0;
    for (;;) {
        int option = getopt_long(argument_count, arguments, short_options, long_options, NULL);
        if (option == -1)
            return ERR_OK;
        if (option == '?' || option == ':')
            return bad_option(option, arguments, error);
        enum err err = apply(option, optarg, options, choices, error);
        if (err)
            return err;
    }
}

static enum questions questions_of(enum imitated imitated, enum output_style style) {
    switch (imitated) {
    case IMITATED_LLVM:
        return QUESTIONS_LLVM;
    case IMITATED_LLVM_ADDR2LINE:
        return QUESTIONS_LLVM_HEX;
    case IMITATED_ADDR2LINE:
        return QUESTIONS_GNU;
    case IMITATED_NONE:
        break;
    }
    return style == OUTPUT_GNU ? QUESTIONS_GNU : QUESTIONS_LLVM;
}

enum err options_parse(int argument_count, char **arguments, struct options *ret_options,
                       struct error *error) {
    enum imitated imitated = options_imitated(arguments[0]);
    bool is_addr2line = imitated == IMITATED_ADDR2LINE || imitated == IMITATED_LLVM_ADDR2LINE;
    struct options options = {.style = is_addr2line ? OUTPUT_GNU : OUTPUT_LLVM};
    struct choices choices = {0};
    enum err err = read_options(argument_count, arguments, &options, &choices, error);
    if (err)
        return err;
    if (options.object && options.build_id)
        return error_set(error, ERR_INVALID, "--build-id goes without -e");
    options.questions = questions_of(imitated, options.style);
    bool is_brief = is_addr2line || options.questions == QUESTIONS_GNU;
    options.demangle = settled(choices.demangle, !is_brief);
    options.inlines = settled(choices.inlines, !is_brief);
    if (!choices.has_functions)
        options.functions = is_brief ? FUNCTION_NAMES_NONE : FUNCTION_NAMES_LINKAGE;
    options.inputs = arguments + optind;
    options.input_count = argument_count - optind;
    *ret_options = options;
    return ERR_OK;
}
