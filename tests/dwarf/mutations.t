#!/usr/bin/python3
"""Damage inside the debug sections breaks no promise of a DWARF source
(tests/support/source_check.h).

usage: mutations.t [MUTANTS [SEED]]
"""
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import corpus
import elf64
from tap import Tap

VARIANTS = {
    "DWARF 5": corpus.Variant({"CFLAGS": "-O2 -g -gdwarf-5"}),
    "DWARF 4 with type units": corpus.Variant(
        {"CFLAGS": "-O2 -g -gdwarf-4 -fdebug-types-section"}),
}
TARGETS = (".debug_info", ".debug_abbrev", ".debug_line", ".debug_rnglists", ".debug_ranges",
           ".debug_types", ".debug_str", ".debug_line_str", ".debug_addr")
# Numbers at which readers tend to go wrong.
ODD_BYTES = (0x00, 0x01, 0x7f, 0x80, 0xff)


def mutate(data, sections, source):
    """A copy with one to four places of its debug sections changed."""
    mutant = bytearray(data)
    for _ in range(source.randint(1, 4)):
        section = source.choice(sections)
        position = section.offset + source.randrange(section.size)
        for offset in range(source.choice((1, 1, 2, 4, 8))):
            if position + offset < section.offset + section.size:
                mutant[position + offset] = source.choice(ODD_BYTES + (source.randrange(256),))
    return bytes(mutant)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    source = random.Random(sys.argv[2] if len(sys.argv) > 2 else "dwarf")
    targets = {"our own reader": "fuzz_dwarf_source", "libdw": "fuzz_libdw"}
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="mutations-") as directory:
        for name, variant in VARIANTS.items():
            path = os.path.join(directory, "program")
            corpus.make_variant(path, variant, "gcc")
            corpus.run([corpus.EXTRACT, path, path])
            with open(path, "rb") as file:
                data = file.read()
            sections = [s for s in elf64.Elf64(data).sections if s.name in TARGETS and s.size]
            mutants = os.path.join(directory, name)
            os.mkdir(mutants)
            for number in range(count):
                with open(os.path.join(mutants, f"{number:05}"), "wb") as file:
                    file.write(mutate(data, sections, source))
            for reader, target in targets.items():
                done = subprocess.run([os.path.join(corpus.BUILD, "fuzz", target), mutants],
                                      capture_output=True, text=True, check=False)
                tap.ok(done.returncode == 0 and len(sections) >= 5,
                       f"{name}: {count} damaged files, and {reader} keeps its promises",
                       f"exit {done.returncode}\n{done.stderr[-2000:]}")
    tap.finish()


main()
