#!/usr/bin/python3
"""Replays the fuzz targets of the DWARF tables: line tables that compilers made, range lists and
indexes of packages made here; whole ones, which must be read fully, and damaged ones."""
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
import elf64
from fuzz_replay import replay
from tap import Tap

PROGRAM = b"""
static inline __attribute__((always_inline)) int twice(int x) { return x > 7 ? 2 * x : x - 1; }
__attribute__((noinline)) int outer(int x) { return twice(x) + twice(x + 1); }
__attribute__((section(".text.other"))) int other(int x) { return outer(x) * 3; }
"""

BIG_ENDIAN, SHORT, NO_EXTENTS, OLD, INDEXED, NO_LOW_PC, WIDE, SOUND = (1 << i for i in range(8))


def compiled_tables():
    with tempfile.TemporaryDirectory(prefix="fuzz-dwarf-") as folder:
        for flags in (["-gdwarf-2"], ["-gdwarf-3"], ["-gdwarf-4"], ["-gdwarf-5"],
                      ["-gdwarf-5", "-gdwarf64"], ["-gdwarf-5", "-gno-as-loc-support"]):
            path = f"{folder}/{'-'.join(flags)}.so"
            subprocess.run(["gcc", "-x", "c", "-O1", *flags, "-shared", "-o", path, "-"],
                           input=PROGRAM, check=True)
            yield elf64.read(path).contents(".debug_line")


def handmade_lists():
    """(flags, DW_AT_ranges, .debug_addr, section)"""
    pairs = [(0x2000, 0x2010), (2**64 - 1, 0x4000), (0, 8), (2**64 - 16, 2**64 - 8), (0, 0)]
    yield OLD, 0, b"", b"".join(struct.pack("<QQ", *pair) for pair in pairs)
    pairs = [(0x2000, 0x2010), (2**32 - 1, 0x4000), (0, 8), (0, 0)]
    yield OLD | SHORT | BIG_ENDIAN, 0, b"", b"".join(struct.pack(">II", *pair) for pair in pairs)
    addresses = struct.pack("<QQQ", 0x3000, 0x3010, 0x5000)
    entries = (b"\x04\x10\x20" + b"\x02\x00\x01" + b"\x03\x02\x08" + b"\x01\x02" + b"\x04\x01\x02" +
               b"\x05" + struct.pack("<Q", 0x6000) + b"\x04\x01\x7f" +
               b"\x06" + struct.pack("<QQ", 0x7000, 0x7004) +
               b"\x07" + struct.pack("<Q", 0x8000) + b"\x20" + b"\x00")
    yield 0, 0, addresses, entries
    for flags, length, offset in ((INDEXED, "<I", "<I"), (INDEXED | WIDE, "<IQ", "<Q")):
        offsets = struct.pack(offset, struct.calcsize(offset))
        size = 8 + len(offsets) + len(entries)
        sizes = (size,) if length == "<I" else (0xffffffff, size)
        header = struct.pack(length, *sizes) + struct.pack("<HBBI", 5, 8, 0, 1)
        yield flags, 0, addresses, header + offsets + entries


def pack_lists(flags, ranges, addresses, section):
    return struct.pack("<BBQB", flags, ranges, 0x1000, len(addresses)) + addresses + section


def package_index(order, version, ids, slot_count):
    """The index of a .dwp (DWARF 5, 7.3.5.3), whose units have 16 bytes of .debug_info each."""
    slots = [0] * slot_count
    for row, id_ in enumerate(ids, 1):
        slot, step = id_ % slot_count, (id_ >> 32) % slot_count | 1
        while slots[slot]:
            slot = (slot + step) % slot_count
        slots[slot] = row
    head = struct.pack(order + ("HH" if version == 5 else "I"), *((5, 0) if version == 5 else (2,)))
    columns = (1, 3, 6)
    cells = [len(columns), len(ids), slot_count]
    body = struct.pack(f"{order}{slot_count}Q", *(ids[row - 1] if row else 0 for row in slots))
    tables = [*slots, *columns]
    for row in range(len(ids)):
        tables += (16 * row, 0, 8 * row)
    tables += (16, 40, 8) * len(ids)
    return (head + struct.pack(order + "3I", *cells) + body +
            struct.pack(f"{order}{len(tables)}I", *tables))


def package_indexes(dice):
    for flags, order in ((0, "<"), (BIG_ENDIAN, ">")):
        for version in (2, 5):
            ids = [dice.getrandbits(64) | 1 for _ in range(10)]
            yield bytes([flags]) + package_index(order, version, ids, 16)


def damaged(whole, first, dice, count):
    """Copies of which some bytes behind the first ones differ, or the end is missing."""
    for _ in range(count):
        data = bytearray(whole)
        data[0] = data[0] & ~SOUND if dice.random() < 0.8 else dice.randrange(SOUND)
        for _ in range(dice.randint(0, 6)):
            data[dice.randrange(first, len(data))] = dice.choice(
                (0, 1, 5, 0x7f, 0x80, 0xff, dice.getrandbits(8)))
        yield bytes(data[:dice.randrange(1, len(data))] if dice.random() < 0.2 else data)


def main():
    dice = random.Random(1)
    tap = Tap()
    tables = list(compiled_tables())
    good, said = replay("fuzz_dwarf_line",
                        [bytes([NO_EXTENTS | SOUND]) + table for table in tables])
    tap.ok(good, "line tables of compilers are read fully", said)
    inputs = [data for table in tables
              for data in damaged(bytes([NO_EXTENTS]) + table, 1, dice, 600)]
    good, said = replay("fuzz_dwarf_line", [b""] + inputs)
    tap.ok(good, "damaged line tables keep every property", said)

    lists = list(handmade_lists())
    good, said = replay("fuzz_dwarf_ranges",
                        [pack_lists(one[0] | SOUND, *one[1:]) for one in lists])
    tap.ok(good, "range lists of every kind are read fully", said)
    inputs = [data for one in lists for data in damaged(pack_lists(*one), 1, dice, 600)]
    good, said = replay("fuzz_dwarf_ranges", [b""] + inputs)
    tap.ok(good, "damaged range lists keep every property", said)

    indexes = list(package_indexes(dice))
    good, said = replay("fuzz_dwp_index",
                        [bytes([index[0] | SOUND]) + index[1:] for index in indexes])
    tap.ok(good, "indexes of packages are read, and each unit is found", said)
    inputs = [data for index in indexes for data in damaged(index, 1, dice, 600)]
    good, said = replay("fuzz_dwp_index", [b""] + inputs)
    tap.ok(good, "damaged indexes of packages keep every property", said)
    tap.finish()


main()
