#!/usr/bin/python3
"""Replays the fuzz target of upload tokens over tokens of every length, and damaged ones."""
import base64
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
sys.path.insert(0, os.path.join(ROOT, "tests/support"))
from tap import Tap


def inputs():
    rng = random.Random(3)
    for size in range(0, 140):
        raw = b"\1" + rng.randbytes(40) + bytes(rng.randrange(1, 256) for _ in range(size))
        text = base64.urlsafe_b64encode(raw)
        yield text.rstrip(b"=")
        yield text
        yield text.rstrip(b"=")[:-1]
        damaged = bytearray(text)
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        yield bytes(damaged)
    for size in range(0, 300, 7):
        yield rng.randbytes(size)
    yield base64.urlsafe_b64encode(b"\1\x80" + bytes(39) + b"a").rstrip(b"=")
    yield base64.urlsafe_b64encode(b"\1" + bytes(40) + b"a\0b").rstrip(b"=")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        for number, data in enumerate(inputs()):
            with open(os.path.join(directory, f"{number:04}"), "wb") as file:
                file.write(data)
        run = subprocess.run([os.path.join(BUILD, "fuzz/fuzz_upload_token"), directory],
                             capture_output=True, text=True, errors="replace")
        tap.ok(run.returncode == 0, "no text opens an upload that it was not written for",
               run.stderr)
    tap.finish()


main()
