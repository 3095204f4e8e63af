#!/usr/bin/python3
"""What real tables hold besides plain functions: IFUNCs, versions, aliases of several bindings."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import images
from tap import Tap

SOURCE = """
#define NOINLINE __attribute__((noinline))
static int plain(int x) { return x + 1; }
static int (*choose(void))(int) { return plain; }
int chosen(int) __attribute__((ifunc("choose")));

NOINLINE int old_read(int x) { return x * 3; }
NOINLINE int new_read(int x) { return x * 5; }
__asm__(".symver old_read, versioned@V_1");
__asm__(".symver new_read, versioned@@V_2");

NOINLINE int strong(int x) { return x * 7; }
int weak(int x) __attribute__((weak, alias("strong")));
int __underscored(int x) __attribute__((alias("strong")));
"""
VERSIONS = "V_1 { global: versioned; }; V_2 { global: versioned; chosen; weak; strong; " \
           "__underscored; local: *; };"


def addresses(path, *flags):
    """Name with version -> address; the first of each."""
    table = {}
    for line in images.run("nm", *flags, path).splitlines():
        words = line.split()
        if len(words) == 3:
            table.setdefault(words[2], int(words[0], 16))
    return table


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "versions")
        with open(script, "w", encoding="ascii") as file:
            file.write(VERSIONS)
        whole = images.compile_c(os.path.join(folder, "library"), SOURCE, "-O1", "-shared",
                                 "-fPIC", f"-Wl,--version-script={script}")
        stripped = whole + ".stripped"
        images.run("strip", "-o", stripped, whole)
        dynamic = addresses(whole, "-D")
        for name, path in (("whole", whole), ("stripped", stripped)):
            tap.ok(images.names_at(path, [dynamic["versioned@V_1"],
                                          dynamic["versioned@@V_2"]]) == ["versioned"] * 2,
                   f"{name}: versions are cut off names")
            tap.ok(images.names_at(path, [dynamic["strong@@V_2"]]) == ["strong"],
                   f"{name}: of three aliases the plain global one answers")
        tap.ok(images.names_at(stripped, [dynamic["chosen@@V_2"]]) == ["chosen"],
               "an IFUNC answers at its resolver")
    tap.finish()


if __name__ == "__main__":
    main()
