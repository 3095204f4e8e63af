#!/usr/bin/python3
"""resolve() gives the frames that follow from what push() hands out, at every address."""
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


def compare(tap, name, path, addresses):
    pulled = corpus.ask_driver_raw(path, addresses, "pull")
    pushed = corpus.ask_driver_raw(path, addresses, "push")
    wrong = [f"{address:#x}: pull {a!r}, push {b!r}"
             for address, a, b in zip(addresses, pulled, pushed) if a != b]
    known = sum(1 for answer in pulled if answer)
    tap.ok(not wrong and len(pulled) == len(addresses) and known > len(addresses) // 2,
           f"{name}: {len(addresses)} addresses, the same frames both ways",
           wrong[:10] + [f"{known} of {len(addresses)} known"])


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="push-pull-") as directory:
        path = os.path.join(directory, "program")
        for name, variant in VARIANTS.items():
            corpus.make_variant(path, variant, "gcc")
            compare(tap, name, path, corpus.text_addresses(path))
        driver = os.path.join(corpus.BUILD, "drivers", "dwarf_query")
        compare(tap, "a program of ours", driver, corpus.text_addresses(driver, 61))
    tap.finish()


main()
