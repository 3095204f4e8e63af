#!/usr/bin/python3
"""Replays the index fuzz target over damaged forms of the worked example of format.h, and of a
small index with buckets and chains that the target makes itself."""
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
from fuzz_replay import replay
from tap import Tap

COMB_SIZE = 8192  # not less than the size of the target's own index; offsets wrap


def worked_example():
    text = (ROOT / "symbolizer/index/format.h").read_text()
    lines = re.findall(r"^ \*   [0-9a-f]{4}: ((?:[0-9a-f]{2} ?)+)(?: |$)", text, re.M)
    return bytes.fromhex("".join(lines))


def damaged(example):
    yield example
    for offset in range(len(example)):
        for mask in (0x01, 0x80):
            yield example[:offset] + bytes([example[offset] ^ mask]) + example[offset + 1:]
    for size in range(0, len(example), 7):
        yield example[:size]
    for offset in range(0, len(example) - 3, 4):
        for value in (0, 5, 0xffffffff):
            yield example[:offset] + value.to_bytes(4, "little") + example[offset + 4:]
    dice = random.Random(1)
    for _ in range(500):
        bytes_ = bytearray(example)
        for _ in range(dice.randint(1, 8)):
            bytes_[dice.randrange(len(bytes_))] = dice.choice((0, 1, 3, 0x40, 0xff, dice.getrandbits(8)))
        yield bytes(bytes_)


def patched():
    dice = random.Random(2)
    for _ in range(1000):
        patches = bytearray()
        for _ in range(dice.randint(1, 6)):
            patches += dice.randrange(COMB_SIZE).to_bytes(2, "little")
            patches.append(dice.choice((1, 2, 0x40, 0x80, 0xff, dice.getrandbits(8))))
        yield bytes(patches)


def main():
    example = worked_example()
    inputs = [b"", b"f", b"p"]
    inputs += [b"f" + bytes_ for bytes_ in damaged(example)]
    inputs += [b"p" + patches for patches in patched()]
    tap = Tap()
    tap.ok(len(example) > 800 and example.startswith(b"SYMINDEX"), "the worked example is read")
    good, said = replay("fuzz_index", inputs)
    tap.ok(good, "damaged indexes are read safely, sound ones fully", said)
    tap.finish()


main()
