/* The command line program: code addresses to functions, files and lines, without a server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/command_addresses.h"
#include "cli/command_index.h"
#include "cli/command_inspect.h"
#include "cli/command_line.h"
#include "cli/command_remote.h"
#include "cli/debug_files.h"

static const char help[] =
    "Usage: symbolize -e FILE [OPTION...] [ADDRESS...]\n"
    "       symbolize [OPTION...] [\"[CODE] FILE ADDRESS\"...]\n"
    "       symbolize index FILE [FILE] -o OUT\n"
    "       symbolize inspect FILE...\n"
    "       symbolize upload FILE|FOLDER... --server URL\n"
    "       symbolize query BUILD_ID [ADDRESS...] --server URL\n"
    "       symbolize admin list|missing|show|delete [BUILD_ID...] --server URL\n"
    "\n"
    "Says which functions, files and lines lie at code addresses of ELF files, with the\n"
    "whole chain of inlined calls. Without addresses, standard input is read line by line.\n"
    "\n"
    "  -e, --obj=FILE, --exe=FILE  the file, or a symbol index of it; with --output-style=GNU it\n"
    "                              is a.out if not given\n"
    "      --debug-file=FILE       its separate debug file; else one is looked for by build ID in\n"
    "                              " DEBUG_FOLDER_DEFAULT " and by .gnu_debuglink\n"
    "      --dwp=FILE              its split units (.dwp); else FILE.dwp and .dwo files are looked "
    "for\n"
    "      --debug-file-directory=DIR, --debug-dir=DIR, --fallback-debug-path=DIR\n"
    "                              where debug files are looked for instead; may be repeated\n"
    "      --build-id=ID           instead of -e: the debug file of that build ID\n"
    "  -j, --section=NAME          addresses are offsets in that section\n"
    "      --output-style=STYLE    LLVM (llvm-symbolizer's; the default), GNU (addr2line's), JSON\n"
    "  -f, --functions[=KIND]      function names: linkage, short or none\n"
    "  -i, --inlines               inlined frames too (--no-inlines: not)\n"
    "  -C, --demangle              readable names (--no-demangle: as they are in the file)\n"
    "  -a, --addresses             the address before each answer (also --print-address)\n"
    "  -p, --pretty-print          one line a frame; with JSON, indented\n"
    "  -s, --basenames             file names without folders\n"
    "      --relativenames         file names without the folder of the compilation\n"
    "      --print-source-context-lines=N\n"
    "                              N lines of the source file around each line\n"
    "      --verbose               where functions start too (style LLVM)\n"
    "      --adjust-vma=OFFSET     subtract OFFSET from each address\n"
    "  -h, --help                  this text\n"
    "  -v, --version               the version\n"
    "\n"
    "-f, -i and -C are on in the styles LLVM and JSON and off in the style GNU. Addresses are\n"
    "ELF virtual addresses: with LLVM and JSON decimal or with 0x, with GNU always hexadecimal;\n"
    "or SECTION+OFFSET (.text+0x10), which relocatable files (.o, .ko) need; or SYMBOL[+OFFSET].\n"
    "@FILE stands for the words of a file. Named addr2line, llvm-symbolizer or llvm-addr2line (by\n"
    "a symbolic link), the program takes the place of that one.\n"
    "\n"
    "index makes a symbol index. inspect shows the ids and contents of an ELF file or of a symbol\n"
    "index, and verifies an index. upload sends files to a server, query asks one, and admin\n"
    "shows and deletes what it has (they are the program symbolize-remote). `symbolize COMMAND\n"
    "--help` tells more.\n"
    "\n"
    "Exit codes: 0 all was read, 1 something could not be read, 2 wrong usage.\n";

#ifndef SYMBOLIZE_VERSION
#define SYMBOLIZE_VERSION "1.0"
#endif

static int usage_error(const char *text) {
    fprintf(stderr, "symbolize: %s\nTry 'symbolize --help'.\n", text);
    return EXIT_USAGE;
}

/* LLVM's tools take options from the environment too, and so do we under their names. */
static const char *environment_of(const char *name) {
    switch (options_imitated(name)) {
    case IMITATED_LLVM:
        return getenv("LLVM_SYMBOLIZER_OPTS");
    case IMITATED_LLVM_ADDR2LINE:
        return getenv("LLVM_ADDR2LINE_OPTS");
    default:
        return NULL;
    }
}

static int symbolize(int argument_count, char **arguments) {
    CLEANUP(command_line_clear) struct command_line line;
    struct options options;
    struct error error;
    if (command_line_expand(argument_count, arguments, environment_of(arguments[0]), &line,
                            &error) ||
        options_parse(line.count, line.arguments, &options, &error))
        return usage_error(error.text);
    switch (options.action) {
    case OPTIONS_HELP:
        fputs(help, stdout);
        return EXIT_ALL_READ;
    case OPTIONS_VERSION:
        puts("symbolize " SYMBOLIZE_VERSION);
        return EXIT_ALL_READ;
    case OPTIONS_SYMBOLIZE:
        break;
    }
    return command_addresses(&options);
}

int main(int argument_count, char **arguments) {
    const char *command = argument_count > 1 ? arguments[1] : "";
    if (argument_count < 1)
        return usage_error("no name was given");
    if (options_imitated(arguments[0]) != IMITATED_NONE)
        return symbolize(argument_count, arguments);
    if (strcmp(command, "inspect") == 0)
        return command_inspect(argument_count - 1, arguments + 1);
    if (strcmp(command, "index") == 0)
        return command_index(argument_count - 1, arguments + 1);
    if (command_is_remote(command))
        return command_remote(arguments + 1);
    return symbolize(argument_count, arguments);
}
