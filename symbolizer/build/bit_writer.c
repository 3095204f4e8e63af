#include "symbolizer/build/bit_writer.h"

#include <assert.h>
#include <endian.h>

static void flush_bytes(struct bit_writer *writer) {
    unsigned count = writer->pending_bits / 8;
    uint64_t bytes = htole64(writer->pending);
    if (writer->err == ERR_OK)
        writer->err = record_array_add(writer->bytes, &bytes, count, writer->budget, writer->error);
    writer->pending = count < 8 ? writer->pending >> (8 * count) : 0;
    writer->pending_bits %= 8;
}

void bit_writer_put(struct bit_writer *writer, uint64_t value, unsigned width) {
    if (width > 32) {
        bit_writer_put(writer, value & UINT32_MAX, 32);
        value >>= 32;
        width -= 32;
    }
    assert(width <= 32 && value >> width == 0);
    writer->pending |= value << writer->pending_bits;
    writer->pending_bits += width;
    if (writer->pending_bits >= 32)
        flush_bytes(writer);
}

enum err bit_writer_align(struct bit_writer *writer) {
    writer->pending_bits = (writer->pending_bits + 7) / 8 * 8;
    flush_bytes(writer);
    return writer->err;
}
