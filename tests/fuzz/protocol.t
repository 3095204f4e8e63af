#!/usr/bin/python3
"""Replays the fuzz targets of the worker protocol over sound texts and damaged forms of them."""
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
from fuzz_replay import replay
from tap import Tap

REPORTS = [
    b"status ok\nend\n",
    b"status failed\nreason no space left: \xc3\xa9\nend\n",
    b"status ok\nid gnu 0123456789abcdef\nid go a/b/c/d\nid htlhash 00112233445566778899aabbccddeeff\n"
    b"id uuid 01234567-89ab-cdef-0123-456789abcdef\nmachine 62\ncontents dwarf,pclntab,symtab,dynsym\n"
    b"functions 1\ninlined 2\nline_rows 3\nintervals 4\nlocations 5\ndamage 6\n"
    b"executable_bytes 18446744073709551615\ncovered_bytes 8\nsize 9\nextents_exact 1\n"
    b"need altlink 0123\nneed dwo 0123456789abcdef\nneed debuglink a file.debug\nmood fine\nend\n",
]
JOBS = [
    b"identify\0--report=3\0main=4",
    b"build\0--report=3\0--out=5\0--memory-max=1000000\0--size-max=5\0main=4\0debug=6\0dwo=7",
    b"section\0--report=3\0--out=5\0--section=.debug_info\0main=4\0dwp=8\0supplementary=2147483647",
]
PIECES = [b"\n", b" ", b"\0", b"=", b",", b"end\n", b"status ok\n", b"reason ", b"need debuglink ../",
          b"id gnu ", b"99999999999999999999", b"-1", b"\xff", b"\xc2\x85", b"\x1b", b"main=4\0",
          b"--out=5\0", b"--section=", b"x" * 300]


def damaged(seeds, count):
    dice = random.Random(3)
    for _ in range(count):
        data = bytearray(dice.choice(seeds))
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(data) + 1)
            kind = dice.randrange(4)
            if kind == 0:
                data[at:at] = dice.choice(PIECES)
            elif kind == 1:
                del data[at:at + dice.randint(1, 12)]
            elif kind == 2 and at < len(data):
                data[at] ^= 1 << dice.randrange(8)
            else:
                other = dice.choice(seeds)
                data[at:] = other[dice.randrange(len(other)):]
        yield bytes(data)


tap = Tap()
for target, seeds in (("fuzz_report", REPORTS), ("fuzz_job", JOBS)):
    good, said = replay(target, [b""] + seeds + list(damaged(seeds, 1000)))
    tap.ok(good, f"{target}: every property holds", said)
tap.finish()
