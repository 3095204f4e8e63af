#include "debuginfo/identity.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "debuginfo/elf_file_internal.h"

#define NOTE_GO_BUILD_ID 4

/* How much of either end of a file its htlhash covers. */
#define HTLHASH_PART_SIZE ((size_t)4096)

/* One note of a run of notes. */
struct note {
    struct span name; /* with its NUL */
    uint32_t type;
    struct span descriptor;
};

static void skip_to_alignment(struct cursor *cursor, size_t alignment) {
    size_t past = cursor_offset(cursor) % alignment;
    if (past)
        cursor_skip(cursor, alignment - past);
}

static bool next_note(struct cursor *cursor, size_t alignment, struct note *ret_note) {
    uint32_t name_size = cursor_u32(cursor);
    uint32_t descriptor_size = cursor_u32(cursor);
    struct note note = {.type = cursor_u32(cursor)};
    note.name = cursor_bytes(cursor, name_size);
    skip_to_alignment(cursor, alignment);
    note.descriptor = cursor_bytes(cursor, descriptor_size);
    if (cursor_failed(cursor))
        return false;
    /* The last note need not be padded. */
    if (cursor_left(cursor) >= alignment)
        skip_to_alignment(cursor, alignment);
    *ret_note = note;
    return true;
}

/* The name's size counts its NUL, and in Go's notes the padding too. */
static bool name_is(const struct note *note, const char *want) {
    struct span name = note->name;
    while (name.size > 0 && name.data[name.size - 1] == '\0')
        name.size--;
    return span_equal_cstr(name, want);
}

static void take_note(const struct note *note, struct elf_identity *identity) {
    struct error ignored;
    if (!identity->has_gnu && note->type == NT_GNU_BUILD_ID && name_is(note, "GNU"))
        identity->has_gnu = binary_id_from_gnu_note(note->descriptor, &identity->gnu, &ignored) ==
                            ERR_OK;
    if (!identity->has_go && note->type == NOTE_GO_BUILD_ID && name_is(note, "Go"))
        identity->has_go =
            binary_id_parse(BINARY_ID_GO, note->descriptor, &identity->go, &ignored) == ERR_OK;
}

/*
 * Notes are padded to 4 bytes or, in newer files, to 8; the alignment that headers claim is not to
 * be relied on (agents repack sections). Each note is at least 12 bytes, which bounds the loop.
 */
static void read_notes(struct span bytes, bool big_endian, struct elf_identity *identity) {
    for (size_t alignment = 4; alignment <= 8; alignment += 4) {
        struct cursor cursor = cursor_of(bytes, big_endian, "notes");
        struct note note;
        while (!(identity->has_gnu && identity->has_go) && next_note(&cursor, alignment, &note))
            take_note(&note, identity);
    }
}

/* True if there was a section of notes, whatever it said. */
static bool read_note_sections(struct elf_file *file, struct elf_identity *identity) {
    bool any = false;
    for (size_t i = 0; i < elf_file_section_count(file); i++) {
        const struct elf_section *section = elf_file_section(file, i);
        struct span bytes;
        struct error ignored;
        if (section->type != SHT_NOTE || elf_file_section_data(file, section, &bytes, &ignored) ||
            bytes.size == 0)
            continue;
        any = true;
        read_notes(bytes, file->header.big_endian, identity);
    }
    return any;
}

static void read_note_segments(const struct elf_file *file, struct elf_identity *identity) {
    struct span all = elf_file_bytes(file);
    for (size_t i = 0; i < elf_file_segment_count(file); i++) {
        const struct elf_segment *segment = elf_file_segment(file, i);
        if (segment->type == PT_NOTE && segment->offset <= all.size &&
            segment->file_size <= all.size - segment->offset)
            read_notes(span_of(all.data + segment->offset, segment->file_size),
                       file->header.big_endian, identity);
    }
}

void elf_identity_read(struct elf_file *file, struct elf_identity *ret_identity) {
    struct elf_identity identity = {0};
    /* Segments only where there are no sections: agents move the sections and leave the segment's
     * offset as it was, so that it points at something else. */
    if (!read_note_sections(file, &identity))
        read_note_segments(file, &identity);
    identity.htlhash = identity_htlhash(elf_file_bytes(file));
    *ret_identity = identity;
}

struct binary_id identity_htlhash(struct span bytes) {
    size_t part = bytes.size < HTLHASH_PART_SIZE ? bytes.size : HTLHASH_PART_SIZE;
    unsigned char length[8];
    for (size_t i = 0; i < sizeof(length); i++)
        length[i] = (unsigned char)((uint64_t)bytes.size >> (56 - 8 * i));
    struct hash_sha256 hash;
    hash_sha256_init(&hash);
    if (part > 0) {
        hash_sha256_update(&hash, bytes.data, part);
        hash_sha256_update(&hash, bytes.data + bytes.size - part, part);
    }
    hash_sha256_update(&hash, length, sizeof(length));
    struct digest digest = hash_sha256_final(&hash);
    struct binary_id id = {.kind = BINARY_ID_HTLHASH};
    hex_encode(span_of(digest.bytes, 16), id.text);
    return id;
}
