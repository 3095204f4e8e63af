#include "api/upload_request.h"

#include <assert.h>
#include <string.h>

enum { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_GROUP_START, WIRE_GROUP_END, WIRE_FIXED32 };
enum { FIELD_INFO = 1, FIELD_CHUNK_DATA = 2 };

enum place { AT_TAG, AT_VALUE, AT_SIZE, AT_SKIPPED, AT_INFO, AT_CHUNK };

#define FIELD_NUMBER_MAX ((UINT64_C(1) << 29) - 1)

void upload_request_begin(struct upload_request_reader *reader, uint64_t size) {
    reader->left = size;
    reader->at = AT_TAG;
    reader->varint = 0;
    reader->varint_shift = 0;
    reader->has_data = false;
    reader->group_depth = 0;
    reader->info_size = 0;
}

/* Moves the input past `size` bytes, which belong to the message. */
static void advance(struct upload_request_reader *reader, struct span *input, size_t size) {
    assert(size <= input->size && size <= reader->left);
    input->data += size;
    input->size -= size;
    reader->left -= size;
}

/* True when the varint is complete; its value is in reader->varint until the next one. */
static enum err read_varint(struct upload_request_reader *reader, struct span *input,
                            bool *ret_complete, struct error *error) {
    *ret_complete = false;
    while (input->size > 0 && !*ret_complete) {
        uint8_t byte = (uint8_t)input->data[0];
        advance(reader, input, 1);
        if (reader->varint_shift == 0)
            reader->varint = 0;
        if (reader->varint_shift > 63 || (reader->varint_shift == 63 && (byte & 0x7e)))
            return error_set(error, ERR_MALFORMED, "UploadRequest: a varint of over 64 bits");
        reader->varint |= (uint64_t)(byte & 0x7f) << reader->varint_shift;
        reader->varint_shift += 7;
        *ret_complete = !(byte & 0x80);
    }
    if (*ret_complete)
        reader->varint_shift = 0;
    return ERR_OK;
}

static enum err start_group(struct upload_request_reader *reader, uint64_t number,
                            struct error *error) {
    if (reader->group_depth == UPLOAD_GROUP_DEPTH_MAX)
        return error_set(error, ERR_MALFORMED, "UploadRequest: groups nested deeper than %d",
                         UPLOAD_GROUP_DEPTH_MAX);
    reader->groups[reader->group_depth++] = number;
    reader->at = AT_TAG;
    return ERR_OK;
}

static enum err end_group(struct upload_request_reader *reader, uint64_t number,
                          struct error *error) {
    if (reader->group_depth == 0 || reader->groups[reader->group_depth - 1] != number)
        return error_set(error, ERR_MALFORMED, "UploadRequest: the end of a group without start");
    reader->group_depth--;
    reader->at = AT_TAG;
    return ERR_OK;
}

static enum err skip_fixed(struct upload_request_reader *reader, uint64_t size) {
    reader->field_left = size;
    reader->at = AT_SKIPPED;
    return ERR_OK;
}

static enum err start_field(struct upload_request_reader *reader, struct error *error) {
    reader->tag = reader->varint;
    uint64_t number = reader->tag >> 3;
    if (number == 0 || number > FIELD_NUMBER_MAX)
        return error_set(error, ERR_MALFORMED, "UploadRequest: no field has the number %llu",
                         (unsigned long long)number);
    switch (reader->tag & 7) {
    case WIRE_VARINT:
        reader->at = AT_VALUE;
        return ERR_OK;
    case WIRE_FIXED64:
        return skip_fixed(reader, 8);
    case WIRE_BYTES:
        reader->at = AT_SIZE;
        return ERR_OK;
    case WIRE_GROUP_START:
        return start_group(reader, number, error);
    case WIRE_GROUP_END:
        return end_group(reader, number, error);
    case WIRE_FIXED32:
        return skip_fixed(reader, 4);
    default:
        return error_set(error, ERR_MALFORMED, "UploadRequest: unknown wire type %d",
                         (int)(reader->tag & 7));
    }
}

/* The size of a length-delimited field is known: what becomes of its bytes? */
static enum err start_bytes(struct upload_request_reader *reader, struct error *error) {
    uint64_t number = reader->tag >> 3;
    reader->field_left = reader->varint;
    if (reader->field_left > reader->left)
        return error_set(error, ERR_MALFORMED, "UploadRequest: a field longer than its message");
    reader->at = AT_SKIPPED;
    if (reader->group_depth > 0 || number > FIELD_CHUNK_DATA)
        return ERR_OK;
    if (reader->has_data)
        return error_set(error, ERR_MALFORMED, "UploadRequest: data is set more than once");
    reader->has_data = true;
    reader->at = number == FIELD_INFO ? AT_INFO : AT_CHUNK;
    if (number == FIELD_INFO && reader->field_left > UPLOAD_INFO_SIZE_MAX)
        return error_set(error, ERR_LIMIT, "UploadInfo of %llu bytes: at most %d are accepted",
                         (unsigned long long)reader->field_left, UPLOAD_INFO_SIZE_MAX);
    return ERR_OK;
}

static enum err read_number(struct upload_request_reader *reader, struct span *input,
                            struct error *error) {
    bool complete = false;
    enum err err = read_varint(reader, input, &complete, error);
    if (err != ERR_OK || !complete)
        return err;
    if (reader->at == AT_TAG)
        return start_field(reader, error);
    if (reader->at == AT_SIZE)
        return start_bytes(reader, error);
    reader->at = AT_TAG;
    return ERR_OK;
}

/* The part of the current field that lies in the input. */
static struct span take_bytes(struct upload_request_reader *reader, struct span *input) {
    size_t size = input->size < reader->field_left ? input->size : (size_t)reader->field_left;
    struct span bytes = span_of(input->data, size);
    advance(reader, input, size);
    reader->field_left -= size;
    return bytes;
}

/* True when there is an event. */
static bool read_bytes(struct upload_request_reader *reader, struct span *input,
                       enum upload_request_event *ret_event, struct span *ret_bytes) {
    struct span bytes = take_bytes(reader, input);
    enum place at = reader->at;
    bool complete = reader->field_left == 0;
    if (complete)
        reader->at = AT_TAG;
    if (at == AT_CHUNK && bytes.size > 0) {
        *ret_event = UPLOAD_REQUEST_CHUNK;
        *ret_bytes = bytes;
        return true;
    }
    if (at != AT_INFO)
        return false;
    if (bytes.size > 0)
        memcpy(reader->info + reader->info_size, bytes.data, bytes.size);
    reader->info_size += bytes.size;
    if (complete) {
        *ret_event = UPLOAD_REQUEST_INFO;
        *ret_bytes = span_of(reader->info, reader->info_size);
    }
    return complete;
}

enum err upload_request_next(struct upload_request_reader *reader, struct span *input,
                             enum upload_request_event *ret_event, struct span *ret_bytes,
                             struct error *error) {
    for (;;) {
        bool in_bytes = reader->at >= AT_SKIPPED;
        if (input->size == 0 && !(in_bytes && reader->field_left == 0)) {
            *ret_event = UPLOAD_REQUEST_MORE;
            return ERR_OK;
        }
        if (in_bytes) {
            if (reader->field_left > reader->left)
                return error_set(error, ERR_MALFORMED,
                                 "UploadRequest: a field longer than its message");
            if (read_bytes(reader, input, ret_event, ret_bytes))
                return ERR_OK;
        } else {
            enum err err = read_number(reader, input, error);
            if (err != ERR_OK)
                return err;
        }
    }
}

enum err upload_request_end(const struct upload_request_reader *reader, struct error *error) {
    if (reader->at != AT_TAG || reader->varint_shift != 0 || reader->group_depth != 0)
        return error_set(error, ERR_MALFORMED, "UploadRequest: the message ends inside a field");
    return ERR_OK;
}
