#include "cli/command_addresses.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/module_list.h"
#include "cli/output.h"
#include "cli/request_line.h"

/* addr2line's name for the file when none is given. */
static const char default_object[] = "a.out";

struct run {
    const struct options *options;
    const char *object; /* NULL: each line names its file */
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

/* Fills the output's frames, or says why not. */
static enum err resolve(struct run *run, struct module *module, uint64_t address,
                        struct error *error) {
    if (module_failed(module)) {
        complain_once(run, module);
        *error = module->failure;
        return error->code;
    }
    enum err err = module_resolve(module, address, &run->frames, error);
    if (!err)
        err = output_set_frames(&run->output, &run->frames, error);
    if (err)
        complain(run, module->path, error->text);
    return err;
}

/* What the answer shows as its address is what was asked for: in a section, the offset. */
static enum err answer(struct run *run, const struct request_line *request, struct error *error) {
    struct module *module;
    enum err err = module_list_get(&run->modules, request->module, &module, error);
    if (err)
        return err;
    struct error reason;
    uint64_t address = 0;
    uint64_t offset = request->address - run->options->adjust_vma;
    if (!module_failed(module) && !module_address(module, request->section, offset, &address)) {
        run->frames.count = 0;
        err = output_set_frames(&run->output, &run->frames, &reason);
    } else {
        err = resolve(run, module, address, &reason);
    }
    run->output.address_digits = module->address_digits;
    if (err)
        output_failure(&run->output, module->path, request->address, &reason);
    else
        output_answer(&run->output, module->path, request->address);
    return ERR_OK;
}

static struct request_line request_gnu(const struct run *run, struct span text) {
    struct request_line request = {.verb = REQUEST_CODE, .module = span_cstr(run->object)};
    request_section_take(&text, &request.section);
    request.address = request_address_gnu(text);
    return request;
}

/* llvm-symbolizer answers DATA and FRAME from variables, of which we know nothing. */
static bool is_supported(struct run *run, const struct request_line *request) {
    if (request->verb == REQUEST_CODE)
        return true;
    complain(run, request->verb == REQUEST_DATA ? "DATA" : "FRAME",
             "only code addresses are answered");
    return false;
}

static enum err answer_line(struct run *run, struct span line, struct error *error) {
    struct request_line request;
    if (run->options->style == OUTPUT_GNU) {
        request = request_gnu(run, line);
        return answer(run, &request, error);
    }
    if (request_line_parse(line, run->object, &request) && is_supported(run, &request))
        return answer(run, &request, error);
    output_unreadable(&run->output, request.module, line);
    return ERR_OK;
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

/* addr2line says at once that it cannot read its file, and answers nothing. */
static bool first_module_suits(struct run *run, struct error *error) {
    struct module *module;
    if (run->options->style != OUTPUT_GNU)
        return true;
    if (module_list_get(&run->modules, span_cstr(run->object), &module, error))
        return false;
    if (!module_failed(module))
        return true;
    complain_once(run, module);
    return false;
}

static enum err answer_all(struct run *run, struct error *error) {
    return run->options->input_count > 0 ? answer_arguments(run, error)
                                         : answer_standard_input(run, error);
}

int command_addresses(const struct options *options) {
    CLEANUP(run_clear)
    struct run run = {
        .options = options,
        .object = options->object,
        .modules.debug_file = options->debug_file,
        .modules.package = options->package,
        .exit_code = EXIT_ALL_READ,
    };
    if (!run.object && options->style == OUTPUT_GNU)
        run.object = default_object;
    struct error error = {0};
    if (!first_module_suits(&run, &error)) {
        if (error.code)
            complain(&run, run.object, error.text);
        return run.exit_code;
    }
    output_init(&run.output, options, options->input_count > 0, stdout);
    if (answer_all(&run, &error))
        complain(&run, "stopped", error.text);
    if (output_end(&run.output, &error))
        complain(&run, "standard output", error.text);
    return run.exit_code;
}
