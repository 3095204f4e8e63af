/*
 * Answers in the shapes of llvm-symbolizer (plain and JSON) and addr2line. One output writes the
 * answers of one run to one stream, and flushes after each so that a pipe's other end can wait for
 * it. Names and paths come from files and may hold any byte: the plain shapes pass them on as they
 * are, JSON replaces what is no UTF-8.
 */
#pragma once

#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/symbol_source.h"
#include "cli/options.h"

struct output;

struct shown_question {
    const char *module;
    struct span symbol; /* empty: the address was asked about */
    uint64_t address;
};

/* What DATA is answered with. */
struct shown_data {
    struct span name; /* empty: unknown */
    uint64_t start;
    uint64_t size;
};

struct output_ops {
    void (*answer)(struct output *output, const char *module, uint64_t address);
    /* The line could not be read as a question: an unknown place, without its address. `module` is
     * what was read of it. */
    void (*unreadable)(struct output *output, struct span module);
    /* The question could not be answered; the plain shapes show an unknown address. */
    void (*failure)(struct output *output, const struct shown_question *question,
                    const struct error *error);
    /* The places of a symbol, of which there may be any number. */
    void (*places_begin)(struct output *output);
    void (*place)(struct output *output);
    void (*places_end)(struct output *output, const struct shown_question *question);
    void (*data)(struct output *output, const struct shown_question *question,
                 const struct shown_data *data);
    /* Variables on the stack, of which we know none. */
    void (*frame)(struct output *output, const struct shown_question *question);
};

/* Ready to be printed: options applied, spans valid until the next output_set_frames. */
struct shown_frame {
    struct span function; /* empty: unknown */
    struct span file;     /* empty: unknown */
    struct span source;   /* the file, with its folders */
    struct span start_file;
    uint64_t start_address; /* 0: unknown */
    uint32_t line;
    uint32_t column;
    uint32_t start_line;
    uint32_t discriminator;
};

struct output {
    const struct output_ops *ops;
    const struct options *options;
    FILE *stream;
    unsigned address_digits; /* of the module's class, for addr2line's fixed width: 8 or 16 */
    bool is_list;            /* JSON: all answers are one array */
    size_t answer_count;
    size_t place_count; /* of the symbol whose places are being shown */
    bool is_place;      /* the frames are those of a symbol's place */
    struct shown_frame *frames;
    size_t frame_count;
    size_t frame_capacity;
    struct buffer names; /* demangled names of the frames */
};

/* is_list: the questions came as arguments, which JSON answers with one array. */
void output_init(struct output *output, const struct options *options, bool is_list, FILE *stream);

/* Applies the options (inlines, names, basenames) to what was resolved. ERR_NO_MEMORY. */
enum err output_set_frames(struct output *output, const struct frame_list *frames,
                           struct error *error);

void output_answer(struct output *output, const char *module, uint64_t address);
void output_unreadable(struct output *output, struct span module);
void output_failure(struct output *output, const struct shown_question *question,
                    const struct error *error);

/* One answer: begin, then for each place output_set_frames and output_place, then end. A place is
 * shown as without --inlines. */
void output_places_begin(struct output *output);
void output_place(struct output *output);
void output_places_end(struct output *output, const struct shown_question *question);

void output_data(struct output *output, const struct shown_question *question,
                 const struct shown_data *data);
void output_no_frame(struct output *output, const struct shown_question *question);

/* Ends the list and frees what the output holds. ERR_IO if something could not be written. */
enum err output_end(struct output *output, struct error *error);

/* One per style. */
extern const struct output_ops output_llvm_ops;
extern const struct output_ops output_gnu_ops;
extern const struct output_ops output_json_ops;

/* For the plain shapes: what they share (output_plain.c). */
void output_plain_question(const struct output *output, const struct shown_question *question);
void output_plain_address(const struct output *output, uint64_t address);
void output_plain_source(const struct output *output, const struct shown_frame *frame);
void output_plain_places_begin(struct output *output);
void output_plain_data(struct output *output, const struct shown_question *question,
                       const struct shown_data *data);
void output_plain_frame(struct output *output, const struct shown_question *question);

/* For the plain shapes: the bytes, or "??" if there are none. */
void output_write_or_unknown(const struct output *output, struct span text);
void output_write(const struct output *output, struct span text);
