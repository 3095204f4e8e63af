#!/usr/bin/python3
"""symbolizerd holds no code that parses uploaded binaries, and this test would see it if it did.

It looks for every global symbol of the parsing modules, and for the libraries that parse, linked
in either way. An object file of a module can only get into a program by one of its globals.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from tap import Tap

BUILD = os.environ.get("BUILD") or os.path.join(ROOT, "build")
PARSING_MODULES = ("debuginfo", "gopclntab", "symbolizer-build")
PARSING_SYMBOLS = re.compile(
    r"(elf|elf32|elf64|gelf|dwarf|dwfl|dwelf|ebl|nlist|libdeflate|lzma|backtrace)_\w+$")
PARSING_LIBRARIES = re.compile(r"lib(elf|dw|dwarf|asm|deflate|lzma|bfd|backtrace)\b")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(path, *flags):
    """Names in a program or library, versions cut off."""
    lines = output("nm", "--format=posix", *flags, path).splitlines()
    return {line.split()[0].split("@")[0] for line in lines if len(line.split()) > 1}


def module_symbols():
    names = set()
    for module in PARSING_MODULES:
        library = os.path.join(BUILD, "lib", module + ".a")
        if os.path.exists(library):
            names |= symbols(library, "--defined-only", "--extern-only")
    return names


def findings(program, forbidden):
    present = symbols(program)
    found = sorted(symbols(program, "--extern-only") & forbidden)
    found += sorted(name for name in present if PARSING_SYMBOLS.match(name))
    needed = re.findall(r"NEEDED\s+(\S+)", output("objdump", "-p", program))
    return found + [library for library in needed if PARSING_LIBRARIES.match(library)]


def main():
    tap = Tap()
    forbidden = module_symbols()
    server = os.path.join(BUILD, "symbolizerd")
    worker = os.path.join(BUILD, "symbolizer-worker")
    tap.ok(len(forbidden) > 20, "the parsing modules have symbols to look for")
    tap.ok("main" in symbols(server), "symbolizerd is not stripped, so that its symbols show")
    found = findings(server, forbidden)
    tap.ok(not found, "symbolizerd has no symbol and no library that parses binaries", found)
    found = findings(worker, forbidden)
    tap.ok(forbidden & set(found), "the same look at symbolizer-worker finds the parsing modules")
    tap.ok([name for name in found if PARSING_SYMBOLS.match(name)],
           "and the symbols of the parsing libraries")
    tap.ok([name for name in found if PARSING_LIBRARIES.match(name)],
           "and the parsing libraries themselves")
    tap.finish()


main()
