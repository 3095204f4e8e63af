#!/usr/bin/python3
"""symbolize prints what llvm-symbolizer prints, byte for byte, for C programs.

Two of its habits are not copied. It names functions after untyped labels inside them: the label
that the sample needs is removed before. And it loses DWARF 5's first file as the file a function is
declared in: that one value is not compared. How questions are read is LLVM 19's way, and compared
when that is installed.
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


NEWEST = "/usr/lib/llvm-19/bin"


def ask(command, stdin):
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def answers(command, stdin):
    result = ask(command, stdin)
    text = result.stdout + (f"exit code {result.returncode}\n" if "-e" in command else "")
    text = re.sub(r'("StartFileName": ?)"[^"]*"', r"\1...", text)
    return re.sub(r"(Function start filename: ).*", r"\1...", text)


def compare(tap, name, arguments, stdin="", tools=("llvm-symbolizer", samples.SYMBOLIZE)):
    theirs, ours = (answers([tool, *arguments], stdin) for tool in tools)
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
        if os.path.exists(os.path.join(NEWEST, "llvm-symbolizer")):
            check_questions(tap, folder, sample)
            check_context(tap, folder, sample)
        else:
            print("# LLVM 19's questions are left out: it is not installed")
    tap.finish()


def check_questions(tap, folder, sample):
    """Every kind of line, under the names of LLVM's two tools."""
    for name in ("llvm-symbolizer", "llvm-addr2line"):
        os.symlink(os.path.abspath(samples.SYMBOLIZE), os.path.join(folder, name))
    symbolizer, addr2line = ((os.path.join(NEWEST, name), os.path.join(folder, name))
                             for name in ("llvm-symbolizer", "llvm-addr2line"))
    address = hex(sample.address())
    start = hex(sample.address("outer"))
    odd = ["0x10", "010", "0b11", "0o17", "0X10", "foo", "", " ", address + " words", "-1",
           "0x1g", "0xffffffffffffffffff", f"CODE {address}", f"x {address}", "CODE", "CODE ", "9x",
           "main", "main+4", "main+0x1000", "main+zz", "outer words", "+5", "\t0x10", "0x10\t7",
           f"DATA {start}", "DATA 0x10", "FILE:x 0x10", "BUILDID:abcd 0x1",
           address[2:]]
    shapes = ([], ["-p"], ["-a"], ["-a", "-p"], ["--output-style=JSON"], ["--output-style=GNU", "-a"],
              ["--output-style=JSON", "-p"], ["--output-style=GNU", "-a", "-p"], ["--no-inlines"])
    path = sample.path
    named = [f"{path} {address}", f'"{path}" {address}', f"'{path} 0x1", f"CODE {path} {address}",
             path, f"{path} zz", "CODE x", "missing 0x10", "absent main", "", f"FILE:{path} main",
             f"FILE: '{path}' {address}", "FILE:", "BUILDID:", "BUILDID:zz 1", "BUILDID:abcd 1",
             '"" 1', f"FILE:FILE:{path} 1", f"DATA {path} {start}", f" DATA {path} 1",
             f"FRAME {path} 1"]
    for shape in shapes:
        words = " ".join(shape) or "no option"
        compare(tap, f"odd lines with {words}", ["-e", path, *shape],
                "\n".join(odd) + "\n", tools=symbolizer)
        compare(tap, f"lines that name files with {words}", shape, "\n".join(named) + "\n",
                tools=symbolizer)
        compare(tap, f"arguments with {words}", ["-e", path, *shape, address, "main", "foo", "9x",
                                                 "0x10"], tools=symbolizer)
        compare(tap, f"a missing file with {words}", ["-e", "missing", *shape, "1", "2"],
                tools=symbolizer)
        compare(tap, f"a folder with {words}", ["-e", folder, *shape, "1", "2"], tools=symbolizer)
        compare(tap, f"an unknown build ID with {words}", ["--build-id=abcdef", *shape, "1", "2"],
                tools=symbolizer)
    for shape in ([], ["-a"], ["-f"], ["-afi"], ["-afip"], ["-apC"], ["-sf"]):
        compare(tap, f"llvm-addr2line {' '.join(shape)}", ["-e", path, *shape],
                "\n".join(odd) + "\n", tools=addr2line)


def check_context(tap, folder, sample):
    """Options that take a value, response files and the environment."""
    tools = [os.path.join(NEWEST, "llvm-symbolizer"), os.path.join(folder, "llvm-symbolizer")]
    address = hex(sample.address())
    path = sample.path
    for count in (0, 1, 2, 3, 4, 9, 10, 11, 40):
        for shape in ([], ["-p"], ["--output-style=JSON"], ["--output-style=GNU"], ["--verbose"]):
            compare(tap, f"{count} lines around with {' '.join(shape) or 'no option'}",
                    ["-e", path, f"--print-source-context-lines={count}", *shape, address, "main"],
                    tools=tools)
    options = os.path.join(folder, "options")
    with open(options, "w", encoding="ascii") as file:
        file.write(f"-e '{path}'\n\"{address}\" -p")
    compare(tap, "a response file", [f"@{options}"], tools=tools)
    compare(tap, "a response file that is not there", ["@nothing"], tools=tools)
    compare(tap, "options that change nothing",
            ["-e", path, "--relative-address", "--no-untag-addresses", "--default-arch=x86_64",
             "--dsym-hint=x", "--cache-size=5", "--color=never", "--no-debuginfod", address],
            tools=tools)
    compare(tap, "single dashes", ["-e", path, "-demangle=false", "--inlining=false", address],
            tools=tools)
    compare(tap, "--relativenames", ["-e", path, "--relativenames", address], tools=tools)
    os.environ["LLVM_SYMBOLIZER_OPTS"] = "-a '-p'"
    compare(tap, "options of the environment", ["-e", path, address], tools=tools)
    del os.environ["LLVM_SYMBOLIZER_OPTS"]


main()
