#!/usr/bin/python3
"""Damage inside the debug sections of a .dwo, a .dwp or a supplementary file breaks no promise of
our own DWARF source (tests/support/source_check.h)."""
import os
import random
import struct
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import elf64
import spread
from fuzz_replay import replay
from tap import Tap

MUTANTS = 250
ODD_BYTES = (0x00, 0x01, 0x7f, 0x80, 0xff)


def mutate(data, sections, source):
    mutant = bytearray(data)
    for _ in range(source.randint(1, 4)):
        section = source.choice(sections)
        position = section.offset + source.randrange(section.size)
        for offset in range(source.choice((1, 1, 2, 4, 8))):
            if position + offset < section.offset + section.size:
                mutant[position + offset] = source.choice(ODD_BYTES + (source.randrange(256),))
    return bytes(mutant)


def pack(letter, main, other):
    return letter + struct.pack("<I", len(main)) + main + other


def read(path):
    with open(path, "rb") as file:
        return file.read()


def check(tap, name, letter, program, sound):
    """sound: the one other file is all that the main file needs."""
    main = read(program.path)
    other = max((read(path) for _, path in program.others), key=len)
    whole = pack(letter.upper() if sound else letter, main, other)
    good, said = replay("fuzz_dwarf_spread", [whole])
    tap.ok(good, f"{name}: the whole file keeps every promise", said)
    sections = [s for s in elf64.Elf64(other).sections if s.name.startswith(".debug") and s.size]
    source = random.Random(name)
    mutants = [pack(letter, main, mutate(other, sections, source)) for _ in range(MUTANTS)]
    good, said = replay("fuzz_dwarf_spread", mutants)
    tap.ok(good and len(sections) >= 4, f"{name}: {MUTANTS} damaged files keep every promise", said)


def main():
    tap = Tap()
    makers = {
        "a .dwo of DWARF 4": (b"d", False, lambda folder: spread.make_split(folder, "gcc", 4)),
        "a .dwo of DWARF 5": (b"d", False, lambda folder: spread.make_split(folder, "gcc", 5)),
        "a .dwp": (b"p", True, lambda folder: spread.make_package(folder, "gcc", 4, "dwp")),
        "a file of dwz": (b"s", True, lambda folder: spread.make_dwz(folder, 5)),
    }
    for name, (letter, sound, make) in makers.items():
        with tempfile.TemporaryDirectory(prefix="spread-mutations-") as folder:
            check(tap, name, letter, make(folder), sound)
    tap.finish()


main()
