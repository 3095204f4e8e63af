#!/usr/bin/python3
"""Assembly without sizes: a symbol answers up to the next symbol or FDE, and in .dynsym alone no
farther than its own FDE says."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import images
from tap import Tap

SOURCE = """
.text
.globl with_frame, without_frame, last
with_frame:
    .cfi_startproc
    .skip 16, 0x90
    .cfi_endproc
    .skip 16, 0xcc
    .cfi_startproc
    .skip 16, 0x90
    .cfi_endproc
without_frame:
    .skip 16, 0x90
last:
    .cfi_startproc
    .skip 16, 0x90
    .cfi_endproc
"""


def answers(path, start):
    """The names at each of the 80 bytes, in runs: [(count, name)]."""
    runs = []
    for name in images.names_at(path, range(start, start + 80)):
        if runs and runs[-1][1] == name:
            runs[-1][0] += 1
        else:
            runs.append([1, name])
    return [tuple(run) for run in runs]


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "code.s")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        for name, flags in (("table", ()), ("walk", ("-Wl,--no-eh-frame-hdr",))):
            whole = os.path.join(folder, name)
            images.run("gcc", "-nostdlib", "-shared", *flags, "-o", whole, source)
            start = dict((name, address)
                         for address, _, name in images.functions(whole))["with_frame"]
            tap.ok(answers(whole, start) == [(32, "with_frame"), (16, "??"),
                                             (16, "without_frame"), (16, "last")],
                   f"in .symtab the next FDE ends a symbol ({name})", str(answers(whole, start)))
            stripped = whole + ".stripped"
            images.run("strip", "-o", stripped, whole)
            tap.ok(answers(stripped, start) == [(16, "with_frame"), (32, "??"),
                                                (1, "without_frame"), (15, "??"), (16, "last")],
                   f"in .dynsym the own FDE does ({name})", str(answers(stripped, start)))
    tap.finish()


if __name__ == "__main__":
    main()
