#!/usr/bin/python3
"""Replays the fuzz target of symbolize requests over whole requests and damaged copies of them."""
import json
import os
import random
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from fuzz_replay import replay
from tap import Tap

DAMAGED_COUNT = 3000
MAPPING = {"start": "0x7f0000000000", "limit": "0x7f0000100000", "offset": "0x1000"}
MODULES = [
    {"build_id": "c0ffee", "addresses": []},
    {"build_id": "C0FFEE", "id_kind": "gnu", "name": "app", "address_kind": "elf",
     "addresses": ["0x1a2b", "0x1A3B", "0xffffffffffffffff"], "ret": [0, 2]},
    {"build_id": "a/b/c/d", "id_kind": "go", "address_kind": "file_offset", "addresses": ["0x0"]},
    {"build_id": "00112233445566778899aabbccddeeff", "id_kind": "htlhash", "addresses": ["0x1"]},
    {"build_id": "00112233-4455-6677-8899-aabbccddeeff", "id_kind": "uuid", "addresses": ["0x1"],
     "name": "\u00e9\U0001f600\\\"\n"},
    {"build_id": "c0ffee", "address_kind": "runtime", "mapping": MAPPING,
     "addresses": ["0x7f0000001000"] * 40, "ret": list(range(40))},
]
OPTIONS = [None, {}, {"inlines": False, "demangle": False, "wait_ms": 60000}]
PIECES = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u0000", b"\\ud800", b"null", b"-1",
          b"1e999", b"9223372036854775808", b"0x", b"\xff", b"\x00", b'"ret"', b'"mapping"', b" "]


def requests():
    for options in OPTIONS:
        for modules in [[], *[[module] for module in MODULES], MODULES, MODULES * 30]:
            request = {"modules": modules}
            if options is not None:
                request["options"] = options
            yield json.dumps(request).encode()
            yield json.dumps(request, ensure_ascii=False, indent=1).encode()


def damage(data, chance):
    """Cuts, repeats, flips and inserts, a few at a time."""
    for _ in range(chance.randint(1, 4)):
        at, size = chance.randrange(len(data) + 1), chance.randint(1, 12)
        kind = chance.randrange(4)
        if kind == 0:
            data = data[:at] + data[at + size:]
        elif kind == 1:
            data = data[:at] + data[at:at + size] * chance.randint(2, 50) + data[at + size:]
        elif kind == 2:
            data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1:]
        else:
            data = data[:at] + chance.choice(PIECES) + data[at:]
    return data


def hostile():
    yield b""
    yield b"[" * 100000
    yield b'{"modules":' * 5000
    yield b'{"modules":[' + b"{}," * 2000 + b"{}]}"
    yield b"[" + b"1," * 2100000 + b"1]"
    yield b'{"modules":[{"build_id":"c0ffee","addresses":[' + b'"0x1",' * 1000000 + b'"0x1"]}]}'


def check(tap, name, inputs):
    good, said = replay("fuzz_symbolize_request", inputs)
    tap.ok(good, name, said)


def main():
    tap = Tap()
    seeds = list(requests())
    chance = random.Random(7)
    check(tap, "every property holds on whole requests", seeds)
    check(tap, "every property holds on damaged requests",
          (damage(chance.choice(seeds), chance) for _ in range(DAMAGED_COUNT)))
    check(tap, "every property holds on requests made to be costly", hostile())
    tap.finish()


main()
