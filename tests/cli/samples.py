"""Small programs for the tests of the command line, and the tools run on them."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
BUILD = os.environ.get("BUILD", os.path.abspath("build"))
SYMBOLIZE = os.path.join(BUILD, "symbolize")
WORKER = os.path.join(BUILD, "symbolizer-worker")

# Labels give the addresses; the words behind // are the lines that the tests ask for. One statement
# a line, so that no compiler has a reason for discriminators.
SOURCE = """\
extern int printf(const char *, ...);
static inline __attribute__((always_inline)) int inner(int x) { // inner starts
    __asm__ volatile(".globl here\\nhere: nop"); // inner line
    return printf("%d", x);
}
static inline __attribute__((always_inline)) int middle(int x) { // middle starts
    int y = inner(x + 1); // middle line
    return 3 * y;
}
__attribute__((noinline)) int outer(int x) { // outer starts
    int z = middle(x - 1); // outer line
    return z + 2;
}
int main(int argc, char **argv) {
    (void)argv;
    return outer(argc);
}
"""


def run(*command, **options):
    """Runs a tool that must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def symbolize(*arguments, stdin="", **options):
    return subprocess.run([SYMBOLIZE, *arguments], input=stdin, capture_output=True, text=True,
                          timeout=120, **options)


def line_of(words):
    return 1 + [words in line for line in SOURCE.splitlines()].index(True)


class Sample:
    """The program, compiled in a folder of its own."""

    def __init__(self, folder, name="program", flags=("-O1", "-g"), compiler="gcc"):
        self.source = os.path.join(folder, "sample.c")
        self.path = os.path.join(folder, name)
        with open(self.source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        run(compiler, *flags, "-o", self.path, os.path.basename(self.source), cwd=folder)
        self.table = self.read_symbols()

    def read_symbols(self):
        """Name -> (address, size) of the functions."""
        table = {}
        for line in run("nm", "-S", self.path).splitlines():
            match = re.match(r"([0-9a-f]+) (?:([0-9a-f]+) )?[tT] (\w+)$", line)
            if match:
                table[match[3]] = (int(match[1], 16), int(match[2] or "0", 16))
        return table

    def address(self, name="here"):
        return self.table[name][0]

    def addresses(self):
        """Every address of the functions that are ours."""
        return [address + offset for address, size in (self.table["outer"], self.table["main"])
                for offset in range(size)]
