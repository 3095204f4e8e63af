"""Reads the headers of little-endian ELF64 files: enough for fixtures made on this machine."""
import struct
import zlib
from collections import namedtuple

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE = 1, 2, 3, 4, 7
SHT_NOBITS, SHT_REL, SHT_DYNSYM = 8, 9, 11
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_COMPRESSED = 1, 2, 4, 0x800
PT_NOTE = 4

FILE_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
SEGMENT_HEADER = struct.Struct("<IIQQQQQQ")
COMPRESSION_HEADER_SIZE = 24

Section = namedtuple("Section", "name type flags address offset size link info alignment "
                                "entry_size content")


class Elf64:
    """sections: without the null section, each with its bytes as they lie in the file."""

    def __init__(self, data):
        header = FILE_HEADER.unpack_from(data)
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a little-endian ELF64 file")
        (self.ident, self.type, self.machine, _, self.entry, segment_offset, section_offset,
         self.flags, _, _, segment_count, _, section_count, names_index) = header
        raw = [SECTION_HEADER.unpack_from(data, section_offset + i * SECTION_HEADER.size)
               for i in range(section_count)]
        names = raw[names_index]
        self.sections = []
        for name, type_, flags, address, offset, size, link, info, alignment, entry in raw[1:]:
            start = names[4] + name
            text = data[start:data.index(b"\0", start)].decode()
            content = b"" if type_ == SHT_NOBITS else data[offset:offset + size]
            self.sections.append(Section(text, type_, flags, address, offset, size, link, info,
                                         alignment, entry, content))
        self.names_index = names_index
        self.segments = [SEGMENT_HEADER.unpack_from(data, segment_offset + i * SEGMENT_HEADER.size)
                         for i in range(segment_count)]

    def section(self, name):
        return next((s for s in self.sections if s.name == name), None)

    def contents(self, name):
        """The section's bytes, inflated if they are compressed with zlib."""
        section = self.section(name)
        if section.flags & SHF_COMPRESSED:
            return zlib.decompress(section.content[COMPRESSION_HEADER_SIZE:])
        return section.content


def read(path):
    with open(path, "rb") as file:
        return Elf64(file.read())
