/* The shape of addr2line: file:line, with the function before it and the address before that only
 * if asked. */
#include <inttypes.h>

#include "cli/output.h"

static void write_line(const struct output *output, const struct shown_frame *frame) {
    output_write_or_unknown(output, frame->file);
    if (frame->line == 0)
        fputs(":?\n", output->stream);
    else if (frame->discriminator)
        fprintf(output->stream, ":%" PRIu32 " (discriminator %" PRIu32 ")\n", frame->line,
                frame->discriminator);
    else
        fprintf(output->stream, ":%" PRIu32 "\n", frame->line);
}

static void write_frame(const struct output *output, const struct shown_frame *frame) {
    if (output->options->functions != FUNCTION_NAMES_NONE) {
        output_write_or_unknown(output, frame->function);
        fputs(output->options->pretty ? " at " : "\n", output->stream);
    }
    write_line(output, frame);
}

static void write_unknown(const struct output *output) {
    if (output->options->functions != FUNCTION_NAMES_NONE)
        fputs(output->options->pretty ? "?? " : "??\n", output->stream);
    fputs("??:0\n", output->stream);
}

static void gnu_answer(struct output *output, const char *module, uint64_t address) {
    (void)module;
    if (output->options->addresses)
        fprintf(output->stream, "0x%0*" PRIx64 "%s", (int)output->address_digits, address,
                output->options->pretty ? ": " : "\n");
    for (size_t i = 0; i < output->frame_count; i++) {
        if (i > 0 && output->options->pretty)
            fputs(" (inlined by) ", output->stream);
        write_frame(output, &output->frames[i]);
    }
    if (output->frame_count == 0)
        write_unknown(output);
}

static void gnu_unreadable(struct output *output, struct span module, struct span line) {
    (void)module;
    output_write(output, line);
    fputc('\n', output->stream);
}

static void gnu_failure(struct output *output, const char *module, uint64_t address,
                        const struct error *error) {
    (void)error;
    gnu_answer(output, module, address);
}

const struct output_ops output_gnu_ops = {
    .answer = gnu_answer,
    .unreadable = gnu_unreadable,
    .failure = gnu_failure,
};
