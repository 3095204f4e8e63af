#!/usr/bin/python3
"""`symbolize index`, and `symbolize -e` on what it made."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import samples
from samples import symbolize
from tap import Tap


def check_answers(tap, sample, index):
    """What an index does not keep (discriminators, short names) is not asked for."""
    lines = "".join(f"0x{address:x}\n" for address in sample.addresses())
    for style in ([], ["--output-style=GNU", "-f", "-i", "-a"], ["-s", "-p", "--no-inlines"]):
        from_file = symbolize("-e", sample.path, *style, stdin=lines).stdout
        from_index = symbolize("-e", index, *style, stdin=lines).stdout
        tap.ok("outer" in from_file and from_index == from_file,
               f"the index answers as the file does ({' '.join(style) or 'LLVM'})", from_index)
    unknown = symbolize("-e", index, "0x1")
    tap.ok(unknown.stdout == "??\n??:0:0\n\n" and unknown.returncode == 0,
           "an unknown address is no error", unknown.stdout + unknown.stderr)
    symbol = symbolize("-e", index, "outer", "DATA 0x1")
    tap.ok(symbol.stdout == "??\n??:0:0\n\n??\n0 0\n??:?\n\n" and symbol.returncode == 0,
           "nor is a symbol, of which an index has none", symbol.stdout + symbol.stderr)
    named = symbolize(f"{index} 0x{sample.address():x}")
    tap.ok(named.stdout.startswith("inner\n"), "a line may name the index", named.stdout)
    both = symbolize("-e", index, f"--debug-file={sample.path}", "0x1")
    tap.ok(both.returncode == 1 and "--debug-file" in both.stderr,
           "a debug file goes with no index", both.stderr)


def check_inputs(tap, sample, folder, index):
    debug, stripped = os.path.join(folder, "debug"), os.path.join(folder, "stripped")
    samples.run("objcopy", "--only-keep-debug", sample.path, debug)
    samples.run("objcopy", "--strip-all", sample.path, stripped)
    lines = "".join(f"0x{address:x}\n" for address in sample.addresses())
    whole = symbolize("-e", index, stdin=lines).stdout
    for files in ([debug, stripped], [stripped, debug], [debug]):
        out = os.path.join(folder, "pair")
        made = symbolize("index", *files, "-o", out)
        names = " ".join(os.path.basename(file) for file in files)
        tap.ok(made.returncode == 0 and symbolize("-e", out, stdin=lines).stdout == whole,
               f"an index of {names} answers the same", made.stderr)
    twice = symbolize("index", sample.path, sample.path, "-o", os.path.join(folder, "twice"))
    tap.ok(twice.returncode == 1 and "debug file" in twice.stderr,
           "two executables are refused", twice.stderr)


def check_output(tap, sample, folder, index):
    quiet = symbolize("index", sample.path, "-o", index)
    tap.ok(quiet.returncode == 0 and quiet.stdout == "", "nothing is printed", quiet.stdout)
    summary = symbolize("index", "--verbose", sample.path, "-o", index).stdout
    tap.ok(f"index: {index}, {os.path.getsize(index)} bytes\n" in summary and "id gnu: " in summary
           and "functions: " in summary, "--verbose prints a summary", summary)
    shown = symbolize("inspect", index)
    tap.ok(shown.returncode == 0 and "verified: " in shown.stdout, "inspect verifies the index",
           shown.stderr)
    small = os.path.join(folder, "small")
    made = symbolize("index", "--no-columns", sample.path, "-o", small)
    shown = symbolize("inspect", small)
    tap.ok(made.returncode == 0 and "columns: left out\n" in shown.stdout and
           os.path.getsize(small) < os.path.getsize(index),
           "--no-columns makes a smaller index that says so", made.stderr + shown.stdout)
    os.unlink(small)
    with open(index, "rb") as file:
        before = file.read()
    same = []
    for threads in ("1", "2", "7"):
        made = symbolize("index", "-j", threads, sample.path, "-o", small)
        with open(small, "rb") as file:
            same.append(made.returncode == 0 and file.read() == before)
    tap.ok(all(same), "any number of threads makes the same index", str(same))
    os.unlink(small)
    refused = [symbolize("index", "-j", threads, sample.path, "-o", small)
               for threads in ("-1", "257", "two", "")]
    tap.ok(all(made.returncode == 2 and "threads" in made.stderr for made in refused),
           "a number of threads that makes no sense is refused",
           [made.stderr for made in refused])
    files = sorted(os.listdir(folder))
    failed = symbolize("index", sample.source, "-o", index)
    with open(index, "rb") as file:
        after = file.read()
    tap.ok(failed.returncode == 1 and sample.source in failed.stderr and before == after and
           sorted(os.listdir(folder)) == files,
           "a failure names the file, leaves the old index and nothing else", failed.stderr)
    bare = os.path.join(folder, "bare")
    samples.run("gcc", "-static", "-nostdlib", "-s", "-x", "c", "-o", bare, "-",
                input="void _start(void) {}")
    files = sorted(os.listdir(folder))
    nothing = symbolize("index", bare, "-o", os.path.join(folder, "nothing"))
    tap.ok(nothing.returncode == 1 and "no ELF symbols" in nothing.stderr and
           sorted(os.listdir(folder)) == files,
           "a file without symbols makes no index, and leaves none", nothing.stderr)
    nowhere = symbolize("index", sample.path, "-o", os.path.join(folder, "none/index"))
    tap.ok(nowhere.returncode == 1 and "No such file" in nowhere.stderr,
           "a folder that is not there is said", nowhere.stderr)


def check_usage(tap, sample):
    for words in ([], [sample.path], ["-o"], ["-q"], [sample.path] * 3 + ["-o", "x"]):
        usage = symbolize("index", *words)
        tap.ok(usage.returncode == 2 and "symbolize index: " in usage.stderr,
               f"wrong usage ({len(words)} words) is exit code 2", usage.stderr)
    for command in ("index", "inspect"):
        shown = symbolize(command, "--help")
        tap.ok(shown.returncode == 0 and "Exit codes: " in shown.stdout,
               f"{command} --help tells the exit codes", shown.stdout)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="index-") as folder:
        sample = samples.Sample(folder)
        index = os.path.join(folder, "index")
        symbolize("index", sample.path, "-o", index)
        check_answers(tap, sample, index)
        check_output(tap, sample, folder, index)
        check_inputs(tap, sample, folder, index)
        check_usage(tap, sample)
    tap.finish()


main()
