#!/usr/bin/python3
"""Replays the fuzz target of .debug_info: what compilers write, whole and damaged."""
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
namespace scope {
struct type { int member(int x); template <class T> T other(T x) { return x - 1; } };
int type::member(int x) { return x > 7 ? other(x) : x + 1; }
static inline __attribute__((always_inline)) int twice(type &t, int x) { return 2 * t.member(x); }
}
extern "C" int outer(int x) {
    scope::type t;
    auto inner = [&](int y) { return scope::twice(t, y); };
    return inner(x) + scope::twice(t, x + 1);
}
__attribute__((section(".text.other"))) int other(int x) { return outer(x) * 3; }
"""
# In the order of fuzz_dwarf_info.c; .debug_info is last, without a size.
SECTIONS = (".debug_abbrev", ".debug_types", ".debug_line", ".debug_str", ".debug_str_offsets",
            ".debug_addr", ".debug_rnglists", ".debug_ranges", ".debug_info")


def compiled_inputs():
    with tempfile.TemporaryDirectory(prefix="fuzz-dwarf-") as folder:
        for flags in (["-gdwarf-2"], ["-gdwarf-3"], ["-gdwarf-4"], ["-gdwarf-5"],
                      ["-gdwarf-5", "-gdwarf64"], ["-gdwarf-5", "-fdebug-types-section"],
                      ["-gdwarf-4", "-fdebug-types-section"]):
            path = f"{folder}/{'-'.join(flags)}.so"
            subprocess.run(["g++", "-x", "c++", "-O1", *flags, "-shared", "-fPIC", "-o", path, "-"],
                           input=PROGRAM, check=True)
            elf = elf64.read(path)
            present = {section.name for section in elf.sections}
            parts = [elf.contents(name) if name in present else b"" for name in SECTIONS]
            yield b"\0" + b"".join(struct.pack("<H", len(part)) + part
                                   for part in parts[:-1]) + parts[-1]


def damaged(whole, dice, count):
    """Copies of which some bytes differ, or the end is missing."""
    for _ in range(count):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 6)):
            data[dice.randrange(len(data))] = dice.choice(
                (0, 1, 5, 0x7f, 0x80, 0xff, dice.getrandbits(8)))
        yield bytes(data[:dice.randrange(1, len(data))] if dice.random() < 0.2 else data)


def main():
    dice = random.Random(1)
    tap = Tap()
    wholes = list(compiled_inputs())
    good, said = replay("fuzz_dwarf_info", [b""] + wholes)
    tap.ok(good, "what compilers write keeps every promise", said)
    inputs = [data for whole in wholes for data in damaged(whole, dice, 400)]
    good, said = replay("fuzz_dwarf_info", inputs)
    tap.ok(good, "what is damaged keeps every promise", said)
    tap.finish()


main()
