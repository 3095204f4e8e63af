#include "cli/command_addresses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/module_list.h"
#include "cli/output.h"
#include "cli/request_line.h"

/* addr2line's name for the file when none is given. */
static const char default_object[] = "a.out";

/* Symbols of one name whose places are shown. */
#define SYMBOL_COUNT_MAX 64

/* Of a line that is named in a complaint. */
#define SHOWN_LINE_SIZE 200

struct run {
    const struct options *options;
    const char *object; /* NULL: each line names its file */
    bool object_is_build_id;
    struct module_list modules;
    struct frame_list frames;
    struct output output;
    int exit_code;
};

static void run_clear(struct run *run) {
    module_list_clear(&run->modules);
    frame_list_clear(&run->frames);
}

static void complain(struct run *run, const char *about, const char *text) {
    fprintf(stderr, "symbolize: %s: %s\n", about, text);
    run->exit_code = EXIT_SOMETHING_UNREAD;
}

/* Says once per file why it cannot be read. */
static void complain_once(struct run *run, struct module *module) {
    if (!module->is_reported)
        complain(run, module->path, module->failure.text);
    module->is_reported = true;
}

/* A line of another form is answered like one that nothing is known about. */
static void refuse_line(struct run *run, const struct request_line *request, struct span line) {
    char shown[SHOWN_LINE_SIZE];
    utf8_copy_printable(line, shown, sizeof(shown));
    if (line.size > 0)
        fprintf(stderr, "symbolize: '%s': %s\n", shown, request->problem);
    output_unreadable(&run->output, line.size > 0 ? request->module : line);
}

/* --- one question -------------------------------------------------------------------------------
 */

/* Fills the output's frames, or says why not. */
static enum err resolve(struct run *run, struct module *module, uint64_t address,
                        struct error *error) {
    enum err err = module_resolve(module, address, &run->frames, error);
    if (!err)
        err = output_set_frames(&run->output, &run->frames, error);
    if (err)
        complain(run, module->path, error->text);
    return err;
}

/* The address in the file that a question means. False where the file has no such section. */
static bool address_of(const struct run *run, const struct module *module,
                       const struct request_line *request, uint64_t *ret_address) {
    uint64_t offset = request->address - run->options->adjust_vma;
    return module_address(module, request->section, offset, ret_address);
}

/* What the answer shows as its address is what was asked for: in a section, the offset. */
static void answer_address(struct run *run, struct module *module,
                           const struct request_line *request) {
    struct error reason;
    uint64_t address;
    enum err err;
    if (address_of(run, module, request, &address)) {
        err = resolve(run, module, address, &reason);
    } else {
        run->frames.count = 0;
        err = output_set_frames(&run->output, &run->frames, &reason);
    }
    if (err)
        output_failure(&run->output, &(struct shown_question){module->path, {0}, request->address},
                       &reason);
    else
        output_answer(&run->output, module->path, request->address);
}

/* An offset beyond the symbol's end is not followed. */
static uint64_t address_in(const struct named_symbol *symbol, uint64_t offset) {
    return symbol->value + (offset < symbol->size ? offset : 0);
}

/* As llvm-symbolizer: every symbol of that name that has a file. */
static void answer_symbol(struct run *run, struct module *module,
                          const struct request_line *request) {
    struct named_symbol symbols[SYMBOL_COUNT_MAX];
    struct error reason;
    size_t count = module_symbols(module, request->symbol, symbols, SYMBOL_COUNT_MAX);
    output_places_begin(&run->output);
    for (size_t i = 0; i < count; i++) {
        if (!resolve(run, module, address_in(&symbols[i], request->address), &reason) &&
            run->frames.count > 0 && run->frames.frames[0].file.size > 0)
            output_place(&run->output);
    }
    output_places_end(&run->output,
                      &(struct shown_question){module->path, request->symbol, request->address});
}

/* As addr2line: the symbol stands for an address, 0 if there is none. */
static void answer_symbol_gnu(struct run *run, struct module *module,
                              const struct request_line *request) {
    struct named_symbol symbol;
    struct request_line plain = {.module = request->module};
    if (module_symbols(module, request->symbol, &symbol, 1) > 0)
        plain.address = symbol.value + request->address + run->options->adjust_vma;
    answer_address(run, module, &plain);
}

static void answer_data(struct run *run, struct module *module,
                        const struct request_line *request) {
    const struct shown_question question = {module->path, request->symbol, request->address};
    struct named_symbol symbol = {0};
    uint64_t address;
    bool found = request->symbol.size > 0 ? module_symbols(module, request->symbol, &symbol, 1) > 0
                                          : address_of(run, module, request, &address) &&
                                                module_data(module, address, &symbol);
    if (!found)
        symbol = (struct named_symbol){0};
    output_data(&run->output, &question,
                &(struct shown_data){symbol.name, symbol.value, symbol.size});
}

/* llvm-symbolizer answers FRAME from variables, of which we know nothing. */
static void answer_frame(struct run *run, struct module *module,
                         const struct request_line *request) {
    complain(run, "FRAME", "variables on the stack are not known");
    output_no_frame(&run->output,
                    &(struct shown_question){module->path, request->symbol, request->address});
}

static enum err answer(struct run *run, const struct request_line *request, struct error *error) {
    const struct module_name name = {request->module, request->module_is_build_id};
    struct module *module;
    enum err err = module_list_get(&run->modules, name, &module, error);
    if (err)
        return err;
    run->output.address_digits = module->address_digits;
    if (module_failed(module)) {
        complain_once(run, module);
        const struct shown_question question = {module->path, request->symbol, request->address};
        output_failure(&run->output, &question, &module->failure);
    } else if (request->verb == REQUEST_DATA) {
        answer_data(run, module, request);
    } else if (request->verb == REQUEST_FRAME) {
        answer_frame(run, module, request);
    } else if (request->symbol.size == 0) {
        answer_address(run, module, request);
    } else if (run->options->questions == QUESTIONS_GNU) {
        answer_symbol_gnu(run, module, request);
    } else {
        answer_symbol(run, module, request);
    }
    return ERR_OK;
}

/* --- all questions ------------------------------------------------------------------------------
 */

static enum err answer_line(struct run *run, struct span line, struct error *error) {
    struct request_line request;
    if (run->options->questions == QUESTIONS_GNU) {
        request_line_parse_gnu(line, &request);
        request.module = span_cstr(run->object);
    } else if (!request_line_parse(line, run->object, run->options->questions, &request)) {
        refuse_line(run, &request, line);
        return ERR_OK;
    }
    request.module_is_build_id |= run->object_is_build_id;
    if (request.section.size == 0 && request.symbol.size == 0)
        request.section = span_cstr(run->options->section);
    return answer(run, &request, error);
}

static enum err answer_arguments(struct run *run, struct error *error) {
    for (int i = 0; i < run->options->input_count; i++) {
        enum err err = answer_line(run, span_cstr(run->options->inputs[i]), error);
        if (err)
            return err;
    }
    return ERR_OK;
}

static size_t without_line_end(const char *line, size_t size) {
    while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r'))
        size--;
    return size;
}

static enum err answer_standard_input(struct run *run, struct error *error) {
    CLEANUP(cleanup_free) char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    while ((size = getline(&line, &capacity, stdin)) >= 0) {
        enum err err = answer_line(run, span_of(line, without_line_end(line, (size_t)size)), error);
        if (err)
            return err;
    }
    if (ferror(stdin))
        return error_set(error, ERR_IO, "standard input cannot be read");
    return ERR_OK;
}

/* What is wrong with the file that all questions are about, or with its section: both tools say so
 * at once, and answer nothing. */
static const struct error *object_trouble(struct module *module, const char *section,
                                          struct error *error) {
    uint64_t address;
    if (module_failed(module))
        return &module->failure;
    if (!section || module_address(module, span_cstr(section), 0, &address))
        return NULL;
    error_set(error, ERR_NOT_FOUND, "no section %s", section);
    return error;
}

static bool object_suits(struct run *run, struct error *error) {
    struct module *module;
    const struct module_name name = {.text = span_cstr(run->object)};
    if (!run->object || run->object_is_build_id)
        return true;
    if (module_list_get(&run->modules, name, &module, error)) {
        complain(run, run->object, error->text);
        return false;
    }
    const struct error *trouble = object_trouble(module, run->options->section, error);
    if (!trouble)
        return true;
    complain(run, run->object, trouble->text);
    if (run->options->style == OUTPUT_JSON)
        output_failure(&run->output, &(struct shown_question){.module = run->object}, trouble);
    return false;
}

static enum err answer_all(struct run *run, struct error *error) {
    return run->options->input_count > 0 ? answer_arguments(run, error)
                                         : answer_standard_input(run, error);
}

static struct debug_folders folders_of(const struct options *options) {
    static const char *const defaults[] = {DEBUG_FOLDER_DEFAULT};
    if (options->folder_count > 0)
        return (struct debug_folders){options->folders, options->folder_count};
    return (struct debug_folders){defaults, ARRAY_SIZE(defaults)};
}

static void run_all(struct run *run) {
    struct error error;
    output_init(&run->output, run->options, false, stdout);
    if (object_suits(run, &error)) {
        run->output.is_list = run->options->input_count > 0;
        if (answer_all(run, &error))
            complain(run, "stopped", error.text);
    }
    if (output_end(&run->output, &error))
        complain(run, "standard output", error.text);
}

int command_addresses(const struct options *options) {
    CLEANUP(run_clear)
    struct run run = {
        .options = options,
        .object = options->build_id ? options->build_id : options->object,
        .object_is_build_id = options->build_id != NULL,
        .modules.debug_file = options->debug_file,
        .modules.package = options->package,
        .modules.relative_names = options->relative_names,
        .modules.folders = folders_of(options),
        .exit_code = EXIT_ALL_READ,
    };
    if (!run.object && options->questions == QUESTIONS_GNU)
        run.object = default_object;
    run_all(&run);
    return run.exit_code;
}
