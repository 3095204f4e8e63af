"""Relocatable files of a known program, and what must be answered in them."""
import re

import images

# The label stands in code inlined twice, in a section of its own name and in .text.
SOURCE = """\
static inline __attribute__((always_inline)) int twice(int x, int y) {
    __asm__ volatile(".globl LABEL\\nLABEL: NOP"); // inner
    return 2 * x + y;
}
__attribute__((noinline, section(".text.other"))) int other(int x) {
    __asm__ volatile(".globl there\\nthere: NOP"); // there
    return x + 1;
}
int first(int x) {
    int y = other(x);
    return twice(x, y) * 3; // outer
}
"""
FILE = "sample.c"


def source(nop="nop"):
    return SOURCE.replace("LABEL", "here").replace("NOP", nop)


def line_of(word):
    return 1 + [f"// {word}" in line for line in SOURCE.splitlines()].index(True)


def labels(path, tool="nm"):
    """Name -> offset in its section."""
    table = {}
    for line in images.run(tool, path).splitlines():
        match = re.match(r"([0-9a-f]+) \w (\w+)$", line)
        if match:
            table[match[2]] = int(match[1], 16)
    return table


def frames(path, address, *flags):
    """[(name, file and line)] at one address, as `symbolize` shows them."""
    lines = images.run(images.SYMBOLIZE, "-s", *flags, "-e", path, address).split("\n")
    return [(name, place.rsplit(":", 1)[0])
            for name, place in zip(lines[:-2:2], lines[1:-2:2])]


def check(tap, path, name, *flags, tool="nm", prefix=""):
    """Both labels by section and offset."""
    offsets = labels(path, tool)
    got = frames(path, f".text+{offsets['here']:#x}", *flags)
    want = [("twice", f"{prefix}{FILE}:{line_of('inner')}"),
            ("first", f"{prefix}{FILE}:{line_of('outer')}")]
    tap.ok(got == want, f"{name}: the inlined chain in .text", f"want {want}\ngot {got}")
    got = frames(path, f".text.other+{offsets['there']:#x}", *flags)
    want = [("other", f"{prefix}{FILE}:{line_of('there')}")]
    tap.ok(got == want, f"{name}: the function in .text.other", f"want {want}\ngot {got}")
