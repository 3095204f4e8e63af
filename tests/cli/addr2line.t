#!/usr/bin/python3
"""symbolize --output-style=GNU prints what binutils' addr2line prints, byte for byte."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import samples
from tap import Tap, skip_all

OPTIONS = ([], ["-a"], ["-f"], ["-fi"], ["-afi"], ["-afiCp"], ["-ip"], ["-ap"], ["-fps"],
           ["--functions", "--inlines", "--addresses", "--basenames", "--demangle"])
BUILDS = {"DWARF 5": ("-O1", "-g", "-gdwarf-5"), "DWARF 4, not PIE": ("-O1", "-g", "-gdwarf-4",
                                                                   "-no-pie"),
          "compressed": ("-O1", "-g", "-gz=zlib"), "without optimization": ("-O0", "-g")}


def ask(command, stdin):
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def compare(tap, name, theirs, ours, stdin=""):
    a, b = ask(theirs, stdin), ask(ours, stdin)
    tap.ok(a.stdout == b.stdout and a.returncode == b.returncode, name,
           [f"addr2line: {a.stdout[:300]!r}", f"symbolize: {b.stdout[:300]!r} {b.stderr[:200]}"])


def check_name(tap, folder, sample, addresses):
    """Under the name addr2line, with a response file."""
    link = os.path.join(folder, "addr2line")
    os.symlink(os.path.abspath(samples.SYMBOLIZE), link)
    options = os.path.join(folder, "options")
    with open(options, "w", encoding="ascii") as file:
        file.write(f"-f -i '-e' \"{sample.path}\"\n")
    compare(tap, "under the name addr2line, with options of a file",
            ["addr2line", f"@{options}", *addresses], [link, f"@{options}", *addresses])
    compare(tap, "a response file that is not there",
            ["addr2line", "-e", sample.path, "@nothing", addresses[0]],
            [link, "-e", sample.path, "@nothing", addresses[0]])


def main():
    if not shutil.which("addr2line"):
        skip_all("addr2line is not installed")
    tap = Tap()
    ours = [samples.SYMBOLIZE, "--output-style=GNU"]
    with tempfile.TemporaryDirectory(prefix="addr2line-") as folder:
        for name, flags in BUILDS.items():
            sample = samples.Sample(folder, flags=flags)
            addresses = [f"{address:x}" for address in sample.addresses()]
            assert len(addresses) > 40
            for options in OPTIONS:
                compare(tap, f"{name}: every address with {' '.join(options) or 'no option'}",
                        ["addr2line", "-e", sample.path, *options],
                        [*ours, "-e", sample.path, *options], "\n".join(addresses) + "\n")
        odd = ["foo", "zz", "", "0", "0x", "-1", "0xffffffffffffffffffff", "1" * 40, addresses[0],
               "0x" + addresses[0], "0X" + addresses[0], f"  {addresses[0]}", addresses[0] + "zz",
               addresses[0] + " 11"]
        compare(tap, "odd addresses as arguments", ["addr2line", "-afe", sample.path, "--", *odd],
                [*ours, "-afe", sample.path, "--", *odd])
        compare(tap, "odd addresses as lines", ["addr2line", "-afe", sample.path],
                [*ours, "-afe", sample.path], "\n".join(odd))
        compare(tap, "a file that is not there", ["addr2line", "-e", "missing", "1"],
                [*ours, "-e", "missing", "1"])
        words = ["main", "main+4", "main +0x4", " outer", "outer+1000", "nothing", "main+zz", "+3"]
        compare(tap, "symbols as arguments", ["addr2line", "-afe", sample.path, *words],
                [*ours, "-afe", sample.path, *words])
        compare(tap, "symbols as lines", ["addr2line", "-afie", sample.path],
                [*ours, "-afie", sample.path], "\n".join(words))
        text = int(re.search(r" \.text +PROGBITS +(\w+)",
                             samples.run("readelf", "-SW", sample.path))[1], 16)
        offsets = [f"{int(address, 16) - text:x}" for address in addresses]
        compare(tap, "offsets in a section", ["addr2line", "-afe", sample.path, "-j", ".text"],
                [*ours, "-afe", sample.path, "-j", ".text"], "\n".join(offsets))
        compare(tap, "a section that is not there",
                ["addr2line", "-e", sample.path, "-j", "none", "1"],
                [*ours, "-e", sample.path, "-j", "none", "1"])
        check_name(tap, folder, sample, addresses)
        os.chdir(folder)
        shutil.copy(sample.path, "a.out")
        compare(tap, "a.out is the file when none is named", ["addr2line", "-fi", addresses[0]],
                [*ours, "-fi", addresses[0]])
    tap.finish()


main()
