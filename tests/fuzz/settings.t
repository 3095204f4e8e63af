#!/usr/bin/python3
"""Replays the fuzz target of the configuration file over whole files and damaged copies of them."""
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from tap import Tap

BUILD = os.environ.get("BUILD") or os.path.join(ROOT, "build")
DAMAGED_COUNT = 3000
PIECES = ["{", "}", "[", "]", ",", ": ", "? ", "- ", "&a ", "*a", "!!str ", "!x ", "|\n ", ">-\n ",
          "---\n", "...\n", "%YAML 1.1\n", "#", "'", '"', "\\x80", "\\u2028", "\\0", "\u0085",
          "\u2029", "\ufeff", "\u00e9", "\t", "\r", "\n", "\x01", "~", "null", "true", "<<: "]


def seeds():
    printed = subprocess.run([os.path.join(BUILD, "symbolizerd"), "--print-config"], check=True,
                             capture_output=True, text=True).stdout
    flow = ("{data_dir: /d, listen: {http: '[::1]:0'}, uploads: {max_size: 7KiB, stale_after: 3s},"
            " log: {level: error}}")
    block = ("# settings\ndata_dir: \"/ab\\u00e9\"\nallow_remote: true\nhttp:\nindexes:\n"
             "  cache_size: 1048576\n")
    return [printed, flow, block, "---\nlog: {level: debug}\n...\n", "\ufefflog:\n  level: info\n"]


def damage(text, chance):
    for _ in range(chance.randint(1, 4)):
        at, size = chance.randrange(len(text) + 1), chance.randint(1, 12)
        kind = chance.randrange(4)
        if kind == 0:
            text = text[:at] + text[at + size:]
        elif kind == 1:
            text = text[:at] + text[at:at + size] * chance.randint(2, 50) + text[at + size:]
        elif kind == 2:
            text = text[:at] + chr(chance.randrange(256)) + text[at + 1:]
        else:
            text = text[:at] + chance.choice(PIECES) + text[at:]
    return text


def hostile():
    yield b""
    yield b"[" * 65536
    yield b"{a: " * 16384
    yield b"- " * 32768
    yield b"? " * 32768
    yield b"data_dir: " + b"x" * 65000
    yield b"http: {cors_allowed_origins: [" + b"a," * 30000 + b"]}"
    yield b"\xff\xfe" + "log: {level: info}".encode("utf-16-le")
    yield b"log: \xc3"
    yield b"#" * 70000


def replay(tap, name, inputs):
    with tempfile.TemporaryDirectory(prefix="corpus-") as directory:
        for number, data in enumerate(inputs):
            with open(os.path.join(directory, f"{number:06}"), "wb") as file:
                file.write(data)
        run = subprocess.run([os.path.join(BUILD, "fuzz/fuzz_settings"), directory],
                             capture_output=True, text=True)
        tap.ok(run.returncode == 0, name, f"{run.returncode} {run.stdout}{run.stderr}")


def main():
    tap = Tap()
    files = seeds()
    chance = random.Random(5)
    replay(tap, "every property holds on whole files", [text.encode() for text in files])
    replay(tap, "every property holds on damaged files",
           (damage(chance.choice(files), chance).encode() for _ in range(DAMAGED_COUNT)))
    replay(tap, "every property holds on files made to be costly", hostile())
    tap.finish()


main()
