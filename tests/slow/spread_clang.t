#!/usr/bin/python3
"""Split DWARF of clang, with .dwo files and in packages, is read like DWARF in one file."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dwarf"))
import spread
from tap import Tap, skip_all


def main():
    if not shutil.which("clang++") or not shutil.which("llvm-dwp"):
        skip_all("clang or llvm-dwp is not installed")
    tap = Tap()
    for version in (4, 5):
        with tempfile.TemporaryDirectory(prefix="dwarf-spread-") as folder:
            program = spread.make_split(folder, "clang", version)
            spread.check_chains(tap, f"clang, DWARF {version} split", program, "clang")
            package = spread.make_package(folder, "clang", version, "llvm-dwp")
            spread.check_chains(tap, f"clang, a package of DWARF {version}", package, "clang")
    tap.finish()


main()
