#!/usr/bin/python3
"""Debug files are found without being named: through .gnu_debuglink, and as binutils finds them."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import samples
from samples import symbolize
from tap import Tap


def split(sample, folder):
    """The sample as a distribution ships it: stripped, with a link, and its debug file."""
    debug = os.path.join(folder, "program.debug")
    stripped = os.path.join(folder, "stripped")
    samples.run("objcopy", "--only-keep-debug", sample.path, debug)
    samples.run("objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", sample.path, stripped)
    return stripped, debug


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        sample = samples.Sample(folder, flags=("-O1", "-g", "-Wl,--build-id=none"))
        lines = "".join(f"0x{address:x}\n" for address in sample.addresses())
        whole = symbolize("-e", sample.path, stdin=lines).stdout
        stripped, debug = split(sample, folder)

        def answer():
            result = symbolize("-e", stripped, stdin=lines)
            return result.stdout if not result.returncode and not result.stderr else result.stderr

        tap.ok(answer() == whole, "a debug file beside the executable, without a build ID")
        gnu = samples.run("addr2line", "-fie", stripped, f"{sample.address():x}")
        ours = symbolize("--output-style=GNU", "-fi", "-e", stripped, f"{sample.address():x}")
        tap.ok(ours.stdout == gnu, "as addr2line finds it", f"want {gnu}\ngot {ours.stdout}")
        os.mkdir(os.path.join(folder, ".debug"))
        moved = shutil.move(debug, os.path.join(folder, ".debug"))
        tap.ok(answer() == whole, "in .debug/ there")
        with open(moved, "ab") as file:
            file.write(b"\n")
        other = answer()
        tap.ok(other.count("??") > 0 and "sample.c" not in other,
               "one with another checksum is not read", other[:200])
        os.remove(moved)
        tap.ok(answer() == other, "one that is not there changes nothing")
        # The stripped file under the link's own name: a link to itself.
        own = os.path.join(folder, "program.debug")
        shutil.copy(stripped, own)
        alone = symbolize("-e", own, stdin=lines)
        tap.ok(alone.returncode == 0 and alone.stdout == other, "a link to itself is passed over")
    tap.finish()


if __name__ == "__main__":
    main()
