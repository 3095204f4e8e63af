#!/usr/bin/python3
"""A cold lookup and an index agree at every address: the DWARF source's resolve() gives the frames
that follow from what it pushes, and symbolize those that an index has. Where nothing was dropped by
the linker, whose leftovers libdw cannot tell apart, the walk over libdw gives the same frames."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import corpus
from tap import Tap

VARIANTS = {
    "DWARF 5 -O2": corpus.Variant({"CFLAGS": "-O2 -g -gdwarf-5"}),
    "DWARF 4 -O0": corpus.Variant({"CFLAGS": "-O0 -g -gdwarf-4"}),
    "DWARF 2 without range lists": corpus.Variant(
        {"CFLAGS": "-O2 -g -gdwarf-2 -gstrict-dwarf"}),
    "--gc-sections in a PIE": corpus.Variant(corpus.COLLECT, None, True),
    "LTO": corpus.Variant({"CFLAGS": "-O2 -g -flto"}, None, True),
}


def compare(tap, name, addresses, one, other):
    wrong = [f"{address:#x}: {a!r} and {b!r}"
             for address, a, b in zip(addresses, one, other) if a != b]
    known = sum(1 for answer in one if answer)
    tap.ok(not wrong and len(one) == len(other) == len(addresses) and known > len(addresses) // 2,
           f"{name} agree at {len(addresses)} addresses",
           wrong[:10] + [f"{known} of {len(addresses)} known"])


def compare_all(tap, name, path, addresses):
    compare(tap, f"{name}: pull and push", addresses,
            corpus.ask_driver_raw(path, addresses, "pull"),
            corpus.ask_driver_raw(path, addresses, "push"))
    compare(tap, f"{name}: symbolize and an index", addresses,
            corpus.ask_symbolize(path, addresses), corpus.ask_index(path, addresses))
    if not name.startswith("--gc-sections"):
        compare(tap, f"{name}: our reader and libdw", addresses,
                corpus.ask_driver_raw(path, addresses, "pull"),
                corpus.ask_driver_raw(path, addresses, "pull", "--libdw"))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="push-pull-") as directory:
        path = os.path.join(directory, "program")
        for name, variant in VARIANTS.items():
            corpus.make_variant(path, variant, "gcc")
            compare_all(tap, name, path, corpus.text_addresses(path))
        driver = os.path.join(corpus.BUILD, "drivers", "dwarf_query")
        compare_all(tap, "a program of ours", driver, corpus.text_addresses(driver, 61))
    tap.finish()


main()
