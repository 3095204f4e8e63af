/* Files, split at the last '/' where others lie in the same directory. */
#include <endian.h>
#include <string.h>

#include "symbolizer/build/index_encode.h"
#include "symbolizer/index/bit_field.h"

/* A directory as the front of the first path that has it. */
struct directory {
    uint32_t string;
    uint32_t size; /* with the '/' */
    uint32_t file_count;
    uint32_t number; /* 0: not written */
};

struct file_encoder {
    struct index_encoder *encoder;
    struct intern_table by_text;
    struct record_array directories; /* struct directory */
    struct record_array of_files;    /* uint32_t: position in directories, plus one; 0: none */
};

static void cleanup_file_encoder(struct file_encoder *self) {
    struct memory_budget *budget = &self->encoder->writer->budget;
    memory_budget_give(budget, self->by_text.capacity * sizeof(struct intern_slot));
    intern_table_clear(&self->by_text);
    memory_budget_give(budget, self->directories.capacity * sizeof(struct directory));
    record_array_clear(&self->directories);
    memory_budget_give(budget, self->of_files.capacity * sizeof(uint32_t));
    record_array_clear(&self->of_files);
}

static struct span directory_text(const struct file_encoder *self, uint32_t position) {
    const struct directory *directory = record_array_at(&self->directories, position - 1);
    return span_of(index_writer_text(self->encoder->writer, directory->string).data,
                   directory->size);
}

struct wanted_directory {
    const struct file_encoder *self;
    struct span text;
};

static bool directory_matches(const void *context, uint32_t position) {
    const struct wanted_directory *wanted = context;
    return span_equal(directory_text(wanted->self, position), wanted->text);
}

static enum err find_directory(struct file_encoder *self, uint32_t string, struct span text,
                               uint32_t *ret_position, struct error *error) {
    struct index_writer *writer = self->encoder->writer;
    struct wanted_directory wanted = {self, text};
    uint64_t hash = keyed_hash(writer->key, text);
    uint32_t position = intern_table_find(&self->by_text, hash, directory_matches, &wanted);
    if (position == 0) {
        struct directory added = {.string = string, .size = (uint32_t)text.size};
        enum err err = intern_table_reserve(&self->by_text, &writer->budget, error);
        if (err == ERR_OK)
            err = record_array_add(&self->directories, &added, 1, &writer->budget, error);
        if (err)
            return err;
        position = (uint32_t)self->directories.count;
        intern_table_add(&self->by_text, hash, position);
    }
    struct directory *found = record_array_at(&self->directories, position - 1);
    found->file_count++;
    *ret_position = position;
    return ERR_OK;
}

/* The path's bytes up to the last '/'; empty when it must stay in one piece. */
static struct span directory_of(struct span path) {
    const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
    if (!slash || path.size > FORMAT_JOINED_PATH_MAX)
        return (struct span){NULL, 0};
    return span_of(path.data, (size_t)(slash + 1 - path.data));
}

static enum err find_directories(struct file_encoder *self, struct error *error) {
    struct index_writer *writer = self->encoder->writer;
    const struct record_array *files = &self->encoder->numbering.file_order;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < files->count; i++) {
        uint32_t string = *(const uint32_t *)record_array_at(files, i);
        struct span text = directory_of(index_writer_text(writer, string));
        uint32_t position = 0;
        if (text.size)
            err = find_directory(self, string, text, &position, error);
        if (err == ERR_OK)
            err = record_array_add(&self->of_files, &position, 1, &writer->budget, error);
    }
    return err;
}

static enum err encode_directories(struct file_encoder *self, struct error *error) {
    struct index_sections *sections = &self->encoder->sections;
    uint32_t number = 0;
    for (uint32_t i = 1; i <= self->directories.count; i++) {
        struct directory *directory = record_array_at(&self->directories, i - 1);
        struct span text = directory_text(self, i);
        struct record_array *bytes = &sections->bytes[FORMAT_DIRECTORY_BYTES];
        if (directory->file_count < 2 || text.size > UINT32_MAX - bytes->count)
            continue;
        enum err err =
            index_encode_bytes(self->encoder, FORMAT_DIRECTORY_BYTES, text.data, text.size, error);
        uint32_t end = htole32((uint32_t)bytes->count);
        if (err == ERR_OK)
            err =
                index_encode_bytes(self->encoder, FORMAT_DIRECTORY_ENDS, &end, sizeof(end), error);
        if (err)
            return err;
        directory->number = ++number;
    }
    sections->counts[FORMAT_DIRECTORY_ENDS] = number;
    sections->counts[FORMAT_DIRECTORY_BYTES] = sections->bytes[FORMAT_DIRECTORY_BYTES].count;
    return ERR_OK;
}

struct file_row {
    uint64_t end; /* from the block's first on */
    uint32_t directory;
};

/* Adds what stands in path_bytes of one file. */
static enum err add_path(struct file_encoder *self, uint32_t file, uint32_t *ret_directory,
                         struct error *error) {
    struct index_encoder *encoder = self->encoder;
    uint32_t string = *(const uint32_t *)record_array_at(&encoder->numbering.file_order, file);
    uint32_t position = *(const uint32_t *)record_array_at(&self->of_files, file);
    struct span path = index_writer_text(encoder->writer, string);
    *ret_directory = 0;
    if (position) {
        const struct directory *directory = record_array_at(&self->directories, position - 1);
        *ret_directory = directory->number;
        if (directory->number)
            path = span_of(path.data + directory->size, path.size - directory->size);
    }
    return index_encode_bytes(encoder, FORMAT_PATH_BYTES, path.data, path.size, error);
}

static enum err encode_file_block(struct file_encoder *self, uint32_t first, uint32_t count,
                                  struct error *error) {
    struct index_encoder *encoder = self->encoder;
    const struct record_array *paths = &encoder->sections.bytes[FORMAT_PATH_BYTES];
    struct file_row rows[FORMAT_BLOCK_RECORDS] = {{0, 0}};
    uint64_t base = paths->count;
    uint32_t lowest = UINT32_MAX;
    uint32_t highest = 0;
    for (uint32_t i = 0; i < count; i++) {
        enum err err = add_path(self, first + i, &rows[i].directory, error);
        if (err)
            return err;
        rows[i].end = paths->count - base;
        lowest = rows[i].directory < lowest ? rows[i].directory : lowest;
        highest = rows[i].directory > highest ? rows[i].directory : highest;
    }
    struct format_file_block header = {
        .path_base = htole64(base),
        .directory_base = htole32(lowest),
        .end_bits = (uint8_t)bit_length(rows[count - 1].end),
        .directory_bits = (uint8_t)bit_length(highest - lowest),
    };
    enum err err = index_encode_offset(encoder, FORMAT_FILES, error);
    if (err)
        return err;
    struct bit_writer bits = index_encode_bits(encoder, FORMAT_FILES, error);
    bits.err = index_encode_bytes(encoder, FORMAT_FILES, &header, sizeof(header), error);
    for (uint32_t i = 0; i < count; i++) {
        bit_writer_put(&bits, rows[i].end, header.end_bits);
        bit_writer_put(&bits, rows[i].directory - lowest, header.directory_bits);
    }
    return bit_writer_align(&bits);
}

enum err index_encode_files(struct index_encoder *encoder, struct error *error) {
    size_t count = encoder->numbering.file_order.count;
    CLEANUP(cleanup_file_encoder)
    struct file_encoder self = {
        .encoder = encoder,
        .directories = {.record_size = sizeof(struct directory)},
        .of_files = {.record_size = sizeof(uint32_t)},
    };
    enum err err = find_directories(&self, error);
    if (err == ERR_OK)
        err = encode_directories(&self, error);
    for (uint32_t first = 0; err == ERR_OK && first < count; first += FORMAT_BLOCK_RECORDS) {
        size_t left = count - first;
        err = encode_file_block(&self, first,
                                left < FORMAT_BLOCK_RECORDS ? (uint32_t)left : FORMAT_BLOCK_RECORDS,
                                error);
    }
    encoder->sections.counts[FORMAT_FILES] = count;
    encoder->sections.counts[FORMAT_PATH_BYTES] = encoder->sections.bytes[FORMAT_PATH_BYTES].count;
    return err ? err : index_encode_tail(encoder, FORMAT_FILES, error);
}
