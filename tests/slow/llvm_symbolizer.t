#!/usr/bin/python3
"""symbolize prints what llvm-symbolizer prints, byte for byte, for C programs.

Two of its habits are not copied. It names functions after untyped labels inside them: the label
that the sample needs is removed before. And (LLVM 14) it loses DWARF 5's first file as the file a
function is declared in: that one value is not compared.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import samples
from tap import Tap, skip_all

OPTIONS = ([], ["-a"], ["-p"], ["-a", "-p", "-s"], ["--no-inlines"], ["--functions=none"],
           ["--functions=short"], ["-f=linkage", "--no-demangle"], ["--verbose", "--no-inlines"],
           ["--output-style=JSON", "--no-inlines"], ["--output-style=JSON", "--no-inlines", "-p"],
           ["--adjust-vma=16", "-a"])
BUILDS = {"gcc, DWARF 4": ("gcc", "-O1", "-g", "-gdwarf-4"),
          "gcc, DWARF 5": ("gcc", "-O1", "-g", "-gdwarf-5"),
          "gcc, DWARF 5, -O0": ("gcc", "-O0", "-g"),
          "clang, DWARF 5": ("clang", "-O1", "-g", "-gdwarf-5"),
          "clang, compressed": ("clang", "-O1", "-g", "-gz")}


def ask(command, stdin):
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def answers(command, stdin):
    text = ask(command, stdin).stdout
    text = re.sub(r'("StartFileName": ?)"[^"]*"', r"\1...", text)
    return re.sub(r"(Function start filename: ).*", r"\1...", text)


def compare(tap, name, arguments, stdin=""):
    theirs = answers(["llvm-symbolizer", *arguments], stdin)
    ours = answers([samples.SYMBOLIZE, *arguments], stdin)
    different = [(a, b) for a, b in zip(theirs.split("\n"), ours.split("\n")) if a != b]
    tap.ok(theirs == ours, name,
           [f"llvm-symbolizer: {a[:200]!r} symbolize: {b[:200]!r}" for a, b in different[:3]])


def main():
    if not shutil.which("llvm-symbolizer"):
        skip_all("llvm-symbolizer is not installed")
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="llvm-symbolizer-") as folder:
        for name, (compiler, *flags) in BUILDS.items():
            if not shutil.which(compiler):
                print(f"# {name} left out: {compiler} is not installed")
                continue
            sample = samples.Sample(folder, flags=flags, compiler=compiler)
            samples.run("objcopy", "--strip-symbol=here", sample.path)
            for options in OPTIONS:
                offset = 16 if "--adjust-vma=16" in options else 0
                lines = "".join(f"0x{address + offset:x}\n" for address in sample.addresses())
                compare(tap, f"{name}: every address with {' '.join(options) or 'no option'}",
                        ["-e", sample.path, *options], lines)
        address = hex(sample.address())
        odd = ["0x10", "010", "0b11", "0o17", "0X10", "foo", "", " ", address + " words", "-1",
               "0x1g", "0xffffffffffffffffff", f"CODE {address}", f"x {address}", "CODE", "CODE "]
        for options in ([], ["-p"], ["--output-style=JSON"]):
            compare(tap, f"odd lines with {' '.join(options) or 'no option'}",
                    ["-e", sample.path, *options], "\n".join(odd) + "\n")
        named = [f"{sample.path} {address}", f'"{sample.path}" {address}', f"'{sample.path} 0x1",
                 f"CODE {sample.path} {address}", sample.path, f"{sample.path} zz", "CODE x",
                 "missing 0x10", ""]
        for options in ([], ["--output-style=JSON"]):
            compare(tap, f"lines that name files with {' '.join(options) or 'no option'}",
                    options, "\n".join(named) + "\n")
        compare(tap, "arguments as one JSON array",
                ["-e", sample.path, "--output-style=JSON", "--no-inlines", address, "zz", "0x10"])
    tap.finish()


main()
