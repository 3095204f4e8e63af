#include "debuginfo/frame_entries.h"

/* Compilers write at most six letters ("zPLRSB"). */
#define AUGMENTATION_MAX 16

/* Length fields from here up say something else than a length (DWARF 5, 7.4). */
#define LENGTH_64 0xffffffffu
#define LENGTH_RESERVED 0xfffffff0u

static uint64_t read_address(struct cursor *cursor, uint8_t size) {
    return size == 8 ? cursor_u64(cursor) : cursor_u32(cursor);
}

/* The number itself, without its base. */
static bool read_format(struct cursor *cursor, uint8_t encoding, uint8_t address_size,
                        uint64_t *ret_value) {
    switch (encoding & 0x0f) {
    case EH_POINTER_ABSOLUTE:
        *ret_value = read_address(cursor, address_size);
        break;
    case EH_POINTER_SIGNED:
        *ret_value = address_size == 8 ? cursor_u64(cursor)
                                       : (uint64_t)(int64_t)(int32_t)cursor_u32(cursor);
        break;
    case EH_POINTER_ULEB128:
        *ret_value = cursor_uleb128(cursor);
        break;
    case EH_POINTER_SLEB128:
        *ret_value = (uint64_t)cursor_sleb128(cursor);
        break;
    case EH_POINTER_U16:
        *ret_value = cursor_u16(cursor);
        break;
    case EH_POINTER_S16:
        *ret_value = (uint64_t)(int64_t)(int16_t)cursor_u16(cursor);
        break;
    case EH_POINTER_U32:
        *ret_value = cursor_u32(cursor);
        break;
    case EH_POINTER_S32:
        *ret_value = (uint64_t)(int64_t)(int32_t)cursor_u32(cursor);
        break;
    case EH_POINTER_U64:
    case EH_POINTER_S64:
        *ret_value = cursor_u64(cursor);
        break;
    default:
        return false;
    }
    return !cursor_failed(cursor);
}

bool eh_pointer_read(struct cursor *cursor, uint8_t encoding, const struct eh_bases *bases,
                     uint64_t *ret_value) {
    uint64_t here = bases->here + cursor_offset(cursor);
    uint64_t base = 0;
    if (encoding == EH_POINTER_NONE || (encoding & EH_POINTER_INDIRECT))
        return false;
    switch (encoding & 0x70) {
    case EH_POINTER_ABSOLUTE:
        break;
    case EH_POINTER_FROM_HERE:
        base = here;
        break;
    case EH_POINTER_FROM_TEXT:
        base = bases->text;
        break;
    case EH_POINTER_FROM_DATA:
        base = bases->data;
        break;
    case EH_POINTER_ALIGNED:
        cursor_skip(cursor, -here & (bases->address_size - 1u));
        break;
    default:
        return false;
    }
    uint64_t value;
    if (!read_format(cursor, encoding, bases->address_size, &value))
        return false;
    value += base;
    *ret_value = bases->address_size == 4 ? (uint32_t)value : value;
    return true;
}

/* The encoding of the addresses in a CIE's FDEs: letter R of the augmentation that z announces. */
static uint8_t read_augmentation(struct cursor *cursor, struct span letters,
                                 const struct eh_bases *bases) {
    if (letters.size == 0 || letters.data[0] != 'z')
        return EH_POINTER_ABSOLUTE;
    cursor_uleb128(cursor); /* its size */
    for (size_t i = 1; i < letters.size; i++) {
        uint64_t ignored;
        switch (letters.data[i]) {
        case 'R':
            return cursor_u8(cursor);
        case 'L':
            cursor_u8(cursor);
            break;
        case 'P': { /* only skipped: where the routine is needs no base, and may be INDIRECT */
            uint8_t encoding = cursor_u8(cursor);
            if (encoding != EH_POINTER_NONE)
                eh_pointer_read(cursor, encoding & ~EH_POINTER_INDIRECT, bases, &ignored);
            break;
        }
        case 'S':
        case 'B':
        case 'G':
            break;
        default:
            return EH_POINTER_ABSOLUTE;
        }
    }
    return EH_POINTER_ABSOLUTE;
}

/* Length and id of the entry at the cursor. */
struct entry_head {
    uint64_t end;
    uint64_t id;
    uint64_t id_offset;
    bool is_64;
};

/* False at the section's end or where a length is no length. A zero length has no id. */
static bool read_head(const struct frame_section *section, struct cursor *cursor,
                      struct entry_head *ret_head) {
    struct entry_head head = {0};
    uint64_t length = cursor_u32(cursor);
    if (length == LENGTH_64) {
        head.is_64 = true;
        length = cursor_u64(cursor);
    } else if (length >= LENGTH_RESERVED) {
        return false;
    }
    if (length > cursor_left(cursor))
        return false;
    head.id_offset = cursor_offset(cursor);
    head.end = head.id_offset + length;
    if (length > 0)
        head.id = head.is_64 ? cursor_u64(cursor) : cursor_u32(cursor);
    if (cursor_failed(cursor))
        return false;
    /* In .debug_frame all ones mark a CIE, whose id in .eh_frame is 0. */
    if (!section->is_eh && !head.is_64 && head.id == UINT32_MAX)
        head.id = UINT64_MAX;
    *ret_head = head;
    return true;
}

static bool is_cie(const struct frame_section *section, const struct entry_head *head) {
    return head->id == (section->is_eh ? 0 : UINT64_MAX);
}

static bool read_cie_fields(struct frame_section *section, struct cursor *cursor) {
    uint8_t version = cursor_u8(cursor);
    struct span letters = cursor_cstring(cursor);
    uint8_t address_size = section->bases.address_size;
    uint8_t segment_size = 0;
    if (version != 1 && version != 3 && version != 4)
        return false;
    if (letters.size > AUGMENTATION_MAX)
        return false;
    if (span_equal_cstr(letters, "eh"))
        cursor_skip(cursor, address_size);
    if (version == 4) {
        address_size = cursor_u8(cursor);
        segment_size = cursor_u8(cursor);
    }
    cursor_uleb128(cursor); /* code alignment */
    cursor_sleb128(cursor); /* data alignment */
    if (version == 1)
        cursor_u8(cursor); /* return address register */
    else
        cursor_uleb128(cursor);
    section->cie_encoding = read_augmentation(cursor, letters, &section->bases);
    section->cie_address_size = address_size;
    section->cie_segment_size = segment_size;
    return !cursor_failed(cursor) && (address_size == 4 || address_size == 8) && segment_size <= 8;
}

/* The cursor's bytes end where the CIE does, so that a name without end costs no more than that;
 * one that is longer than any real CIE is not read. */
#define CIE_SIZE_MAX 512

static bool read_cie(struct frame_section *section, uint64_t offset) {
    if (section->has_cie && section->cie_offset == offset)
        return true;
    section->has_cie = false;
    struct cursor cursor = cursor_of(section->bytes, section->big_endian, "CIE");
    struct entry_head head;
    cursor_seek(&cursor, offset);
    if (!read_head(section, &cursor, &head) || head.end == head.id_offset ||
        !is_cie(section, &head))
        return false;
    uint64_t end = head.end - offset > CIE_SIZE_MAX ? offset + CIE_SIZE_MAX : head.end;
    cursor.end = cursor.start + end;
    if (cursor.position > cursor.end || !read_cie_fields(section, &cursor))
        return false;
    section->cie_offset = offset;
    section->has_cie = true;
    return true;
}

/* The cursor stands behind the id. */
static bool read_range(const struct frame_section *section, struct cursor *cursor,
                       struct pc_range *ret_range) {
    struct eh_bases bases = section->bases;
    bases.address_size = section->cie_address_size;
    uint64_t begin;
    uint64_t size;
    cursor_skip(cursor, section->cie_segment_size);
    if (!eh_pointer_read(cursor, section->cie_encoding, &bases, &begin) ||
        !read_format(cursor, section->cie_encoding, bases.address_size, &size))
        return false;
    uint64_t most = bases.address_size == 4 ? ((uint64_t)1 << 32) - begin : UINT64_MAX - begin;
    *ret_range = (struct pc_range){begin, size <= most ? begin + size : begin};
    return true;
}

bool frame_entry_read(struct frame_section *section, uint64_t offset, struct frame_entry *ret_entry,
                      bool *ret_damaged) {
    if (offset >= section->bytes.size)
        return false;
    struct cursor cursor = cursor_of(section->bytes, section->big_endian, "frame entry");
    struct entry_head head;
    cursor_seek(&cursor, offset);
    if (!read_head(section, &cursor, &head)) {
        *ret_damaged = true;
        return false;
    }
    *ret_entry = (struct frame_entry){.kind = FRAME_ENTRY_OTHER, .end = head.end};
    if (head.end == head.id_offset || is_cie(section, &head))
        return true;
    cursor.end = cursor.start + head.end;
    uint64_t cie = section->is_eh ? head.id_offset - head.id : head.id;
    if (cie < section->bytes.size && read_cie(section, cie) &&
        read_range(section, &cursor, &ret_entry->range))
        ret_entry->kind = FRAME_ENTRY_FDE;
    else
        ret_entry->kind = FRAME_ENTRY_DAMAGED;
    return true;
}
