#include "cli/command_line.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"

#define FILE_SIZE_MAX ((size_t)64 << 20)
#define FILE_COUNT_MAX 1000

/* Words that are still to be looked at, the next one last. */
struct pending {
    char **words;
    size_t count;
    size_t capacity;
    unsigned files_left;
};

static void pending_clear(struct pending *pending) {
    for (size_t i = 0; i < pending->count; i++)
        free(pending->words[i]);
    free(pending->words);
}

static enum err no_memory(struct error *error) {
    return error_set(error, ERR_NO_MEMORY, "no memory for the command line");
}

/* Takes the word, also on failure. */
static enum err push(struct pending *pending, char *owned_word, struct error *error) {
    CLEANUP(cleanup_free) char *word = owned_word;
    if (word && pending->count == pending->capacity) {
        size_t capacity = pending->capacity ? 2 * pending->capacity : 64;
        char **grown = reallocarray(pending->words, capacity, sizeof(*grown));
        if (!grown)
            return no_memory(error);
        pending->words = grown;
        pending->capacity = capacity;
    }
    if (!word)
        return no_memory(error);
    pending->words[pending->count++] = TAKE(word);
    return ERR_OK;
}

static void reverse(struct pending *pending, size_t first) {
    for (size_t last = pending->count; first + 1 < last; first++) {
        char *word = pending->words[first];
        pending->words[first] = pending->words[--last];
        pending->words[last] = word;
    }
}

/* --- words of a text ----------------------------------------------------------------------------
 */

static bool is_white(char byte) {
    return byte != '\0' && strchr(" \t\n\v\f\r", byte);
}

/* The word at the front of the text, unquoted; *position is behind it then. */
static char *take_word(struct span text, size_t *position) {
    CLEANUP(buffer_clear) struct buffer word = {0};
    char quote = '\0';
    size_t i = *position;
    for (; i < text.size && (quote || !is_white(text.data[i])); i++) {
        char byte = text.data[i];
        if (byte == '\\' && i + 1 < text.size)
            buffer_append_byte(&word, text.data[++i]);
        else if (byte == quote && quote)
            quote = '\0';
        else if (!quote && (byte == '\'' || byte == '"'))
            quote = byte;
        else
            buffer_append_byte(&word, byte);
    }
    *position = i;
    return buffer_failed(&word) ? NULL : strdup(buffer_cstr(&word));
}

/* The words become the next ones. */
static enum err push_words(struct pending *pending, struct span text, struct error *error) {
    size_t first = pending->count;
    size_t position = 0;
    for (;;) {
        while (position < text.size && is_white(text.data[position]))
            position++;
        if (position == text.size)
            break;
        enum err err = push(pending, take_word(text, &position), error);
        if (err)
            return err;
    }
    reverse(pending, first);
    return ERR_OK;
}

/* --- response files -----------------------------------------------------------------------------
 */

/* Without a file of that name, "@NAME" is a word like others. */
static int open_response_file(const char *word) {
    CLEANUP(cleanup_fd) int fd = -1;
    struct stat status;
    if (word[0] == '@')
        fd = open(word + 1, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode))
        return -1;
    return TAKE_FD(fd);
}

static enum err push_file(struct pending *pending, const char *word, int fd, struct error *error) {
    CLEANUP(buffer_clear) struct buffer text = {.size_max = FILE_SIZE_MAX};
    struct stat status;
    size_t size = 0;
    if (fstat(fd, &status) || (uint64_t)status.st_size > FILE_SIZE_MAX ||
        pending->files_left-- == 0)
        return error_set(error, ERR_LIMIT, "%s: too much to read", word);
    char *bytes = buffer_reserve(&text, (size_t)status.st_size + 1);
    if (!bytes)
        return no_memory(error);
    enum err err = fd_read_full(fd, bytes, (size_t)status.st_size, &size, error);
    text.size = size;
    return err ? error_prefix(error, "%s", word) : push_words(pending, buffer_span(&text), error);
}

/* Takes the word. */
static enum err keep(struct command_line *line, char *owned_word, struct error *error) {
    CLEANUP(cleanup_free) char *word = owned_word;
    if (line->count == line->kept_capacity) {
        if (line->kept_capacity > INT_MAX / 4)
            return error_set(error, ERR_LIMIT, "too many arguments");
        int capacity = line->kept_capacity ? 2 * line->kept_capacity : 64;
        char **grown = reallocarray(line->kept, (size_t)capacity, sizeof(*grown));
        if (!grown)
            return no_memory(error);
        line->kept = grown;
        line->kept_capacity = capacity;
    }
    line->kept[line->count++] = TAKE(word);
    return ERR_OK;
}

static enum err take_pending(struct command_line *line, struct pending *pending,
                             struct error *error) {
    while (pending->count > 0) {
        CLEANUP(cleanup_free) char *word = pending->words[--pending->count];
        CLEANUP(cleanup_fd) int fd = open_response_file(word);
        enum err err = fd >= 0 ? push_file(pending, word, fd, error)
                               : keep(line, TAKE(word), error);
        if (err)
            return err;
    }
    return ERR_OK;
}

static enum err collect(int argument_count, char **arguments, const char *environment,
                        struct command_line *line, struct error *error) {
    CLEANUP(pending_clear) struct pending pending = {.files_left = FILE_COUNT_MAX};
    char *name = strdup(arguments[0]);
    enum err err = name ? keep(line, name, error) : no_memory(error);
    for (int i = argument_count - 1; !err && i > 0; i--)
        err = push(&pending, strdup(arguments[i]), error);
    if (!err)
        err = push_words(&pending, span_cstr(environment), error);
    return err ? err : take_pending(line, &pending, error);
}

enum err command_line_expand(int argument_count, char **arguments, const char *environment,
                             struct command_line *line, struct error *error) {
    *line = (struct command_line){0};
    enum err err = collect(argument_count, arguments, environment, line, error);
    if (err)
        return err;
    line->arguments = calloc((size_t)line->count + 1, sizeof(*line->arguments));
    if (!line->arguments)
        return no_memory(error);
    memcpy(line->arguments, line->kept, (size_t)line->count * sizeof(*line->kept));
    return ERR_OK;
}

void command_line_clear(struct command_line *line) {
    for (int i = 0; i < line->count; i++)
        free(line->kept[i]);
    free(line->kept);
    free(line->arguments);
    *line = (struct command_line){0};
}
