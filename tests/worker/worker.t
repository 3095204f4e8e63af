#!/usr/bin/python3
"""symbolizer-worker, run by hand: every operation, every status, every kind of bad input."""
import hashlib
import os
import resource
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import worker
import corpus
import elf64
from tap import Tap
from worker import run

CFLAGS = "-O2 -g -gdwarf-5"


def make_program(path, then=None):
    corpus.build(path, CFLAGS=CFLAGS)
    if then:
        corpus.run(then.format(path).split())


def ask(how, paths, addresses):
    text = corpus.run([worker.QUERY, how, *paths],
                      input="".join(f"{address:x}\n" for address in addresses))
    return corpus.split_blocks(text)


def build_index(directory, inputs, name="index"):
    """The job and the path of the index it made."""
    job = run("build", inputs)
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(job.output)
    return job, path


def htlhash(path):
    with open(path, "rb") as file:
        data = file.read()
    return hashlib.sha256(data[:4096] + data[-4096:] + struct.pack(">Q", len(data))).hexdigest()[:32]


def gnu_id(path):
    notes = corpus.run(["readelf", "-n", path])
    return notes.split("Build ID: ")[1].split()[0]


def test_usage(tap):
    help_ = subprocess.run([worker.WORKER, "--help"], capture_output=True, text=True)
    tap.ok(help_.returncode == 0 and "build" in help_.stdout and not help_.stderr,
           "--help says what it is")
    wrong = subprocess.run([worker.WORKER, "build"], capture_output=True, text=True)
    tap.ok(wrong.returncode == 2 and "--report" in wrong.stderr and not wrong.stdout,
           "a job that is none is refused on stderr", wrong.stderr)


def test_identify(tap, program):
    job = run("identify", [("main", program)])
    tap.ok(job.ended_well("ok") and
           job.values("id") == [f"gnu {gnu_id(program)}", f"htlhash {htlhash(program)}"] and
           job.value("machine") == "62" and job.value("contents") == "dwarf,symtab",
           "identify tells ids, machine and contents", job.show())


def chains_of(blocks):
    rows = [[line.split("\t") for line in block.splitlines() if not line.startswith("miss ")]
            for block in blocks]
    names = iter(corpus.demangle([row[0] for block in rows for row in block]))
    return [[(corpus.plain(next(names)), os.path.basename(row[3]), int(row[4])) for row in block]
            for block in rows]


def test_build(tap, directory, program):
    job, index = build_index(directory, [("main", program)])
    tap.ok(job.ended_well("ok") and int(job.value("size")) == len(job.output) and
           int(job.value("functions")) > 30 and int(job.value("inlined")) > 20 and
           0 < int(job.value("covered_bytes")) <= int(job.value("executable_bytes")) and
           job.value("extents_exact") == "1" and job.value("damage") == "0",
           "build counts what it wrote", job.show())
    summary = corpus.run([worker.QUERY, "summary", index])
    tap.ok(f"id gnu {gnu_id(program)}\n" in summary and "segments 4\n" in summary and
           all(f"{key} {job.value(key)}\n" in summary
               for key in ("intervals", "locations", "functions")),
           "the index verifies and says the same of itself", summary)
    marks = corpus.live_marks(program)
    chains = corpus.expected_chains(corpus.read_truth(), False, "gcc")
    answers = chains_of(ask("index", [index], [mark.address for mark in marks]))
    wrong = corpus.differences(marks, answers, chains, True)
    tap.ok(not wrong and len(marks) > 30, "the index answers every mark with its true chain", wrong)
    again, _ = build_index(directory, [("main", program)], "again")
    tap.ok(again.output == job.output, "the same input gives the same bytes")


def compare_ways(tap, directory, name, inputs):
    """The index and the resolver of single addresses, all over .text."""
    job, index = build_index(directory, inputs)
    addresses = corpus.text_addresses(inputs[0][1], 5)
    indexed = ask("index", [index], addresses)
    pulled = ask("resolve", [path for _, path in inputs], addresses)
    wrong = [f"{address:#x}: index {a!r}, files {b!r}"
             for address, a, b in zip(addresses, indexed, pulled) if a != b]
    known = sum("\t" in answer for answer in indexed)
    tap.ok(job.ended_well("ok") and not wrong and known > len(addresses) / 2,
           f"{name}: {len(addresses)} addresses, index and files agree",
           wrong[:10] + [f"{known} known", job.show()])
    return job, index


def test_ways(tap, directory, program):
    variants = {
        "DWARF 5": {"CFLAGS": CFLAGS},
        "DWARF 4 -O0": {"CFLAGS": "-O0 -g -gdwarf-4"},
        "--gc-sections": {"CFLAGS": CFLAGS + " -ffunction-sections",
                          "LDFLAGS": "-Wl,--gc-sections -no-pie"},
        "no debug data": {"CFLAGS": "-O2"},
    }
    path = os.path.join(directory, "variant")
    for name, settings in variants.items():
        corpus.build(path, **settings)
        compare_ways(tap, directory, name, [("main", path)])
    compare_ways(tap, directory, "a program of ours", [("main", worker.QUERY)])


def test_two_files(tap, directory, program):
    stripped = os.path.join(directory, "stripped")
    debug = os.path.join(directory, "program.debug")
    corpus.run(["objcopy", "--only-keep-debug", program, debug])
    corpus.run(["strip", "-o", stripped, program])
    both = [("main", stripped), ("debug", debug)]
    job, index = compare_ways(tap, directory, "executable and debug file", both)
    whole, whole_index = build_index(directory, [("main", program)], "whole")
    addresses = corpus.text_addresses(program)
    tap.ok(ask("index", [index], addresses) == ask("index", [whole_index], addresses),
           "executable and debug file answer as the unstripped program does")
    tap.ok(job.values("id") == [f"gnu {gnu_id(program)}", f"htlhash {htlhash(stripped)}"] and
           job.value("executable_bytes") == whole.value("executable_bytes"),
           "ids and extents are those of the executable", job.show())
    alone = run("build", [("debug", debug)])
    # Stubs of the PLT have names by the executable's bytes only.
    tap.ok(alone.ended_well("ok") and
           all(alone.value(key) == whole.value(key) for key in ("inlined", "line_rows")),
           "a debug file alone is enough for functions and lines", alone.show())


def test_needs(tap, directory, program):
    debug = os.path.join(directory, "linked.debug")
    linked = os.path.join(directory, "linked")
    corpus.run(["objcopy", "--only-keep-debug", program, debug])
    corpus.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program, linked])
    job = run("identify", [("main", linked)])
    tap.ok(job.values("need") == ["debuglink linked.debug"],
           "without DWARF the file that the debuglink names is needed", job.show())
    job = run("identify", [("main", linked), ("debug", debug)])
    tap.ok(job.ended_well("ok") and not job.values("need"), "with it nothing is", job.show())
    link = os.path.join(directory, "altlink")
    alt = os.path.join(directory, "alt")
    with open(link, "wb") as file:
        file.write(b"/usr/lib/debug/.dwz/x\0" + bytes(range(20)))
    corpus.run(["objcopy", "--add-section", f".gnu_debugaltlink={link}", program, alt])
    job = run("build", [("main", alt)])
    tap.ok(job.ended_well("ok") and job.values("need") == [f"altlink {bytes(range(20)).hex()}"],
           "the id of a dwz file is needed", job.show())
    with open(link, "wb") as file:
        file.write(b"../../" + bytes(4))
    corpus.run(["objcopy", "--strip-debug", "--add-section", f".gnu_debuglink={link}", program, alt])
    job = run("identify", [("main", alt)])
    tap.ok(job.ended_well("ok") and not job.values("need"),
           "a debuglink that leads out of its folder is none", job.show())


def test_symbols_only(tap, directory, program):
    path = os.path.join(directory, "symbols")
    corpus.run(["strip", "--strip-debug", "-o", path, program])
    job, index = build_index(directory, [("main", path)])
    main = next(int(line.split()[0], 16) for line in corpus.run(["nm", path]).splitlines()
                if line.endswith(" T main"))
    answer = ask("index", [index], [main])
    tap.ok(job.ended_well("ok") and job.value("contents") == "symtab" and
           answer == [f"main\t-\tsymtab\t\t0\t0\t\t0\t{main:x}\nmiss no_line"],
           "without DWARF the symbols answer, without lines", [repr(answer), job.show()])


def test_bad_inputs(tap, directory, program):
    path = os.path.join(directory, "bad")

    def build_of(data, operation="build"):
        with open(path, "wb") as file:
            file.write(data)
        return run(operation, [("main", path)])

    job = build_of(b"")
    tap.ok(job.ended_well("malformed") and job.value("reason"), "an empty file is malformed",
           job.show())
    job = build_of(b"#!/bin/sh\n" * 1000, "identify")
    tap.ok(job.ended_well("malformed") and "main input" in job.value("reason"),
           "a script is malformed, and the reason names the input", job.show())
    with open(program, "rb") as file:
        whole = file.read()
    ends = [0, 4, 16, 52, 64, 100, 1000] + [len(whole) * i // 40 for i in range(1, 40)]
    died = [job.show() for job in map(build_of, (whole[:end] for end in ends))
            if job.code != 0 or not job.text.endswith("\nend\n")]
    tap.ok(not died, f"{len(ends)} truncations all end in a report", died)
    damaged = []
    for i in range(60):
        data = bytearray(whole)
        for j in range(20):
            data[(i * 7919 + j * 104729) % len(data)] ^= 1 << (i + j) % 8
        job = build_of(bytes(data))
        if job.code != 0 or not job.text.endswith("\nend\n"):
            damaged.append(job.show())
    tap.ok(not damaged, "60 damaged copies all end in a report", damaged)


def test_unsupported(tap, directory, program):
    path = os.path.join(directory, "naked")
    corpus.run(["strip", "-s", "-R", ".dynsym", "-o", path,
                program])
    job = run("build", [("main", path)])
    tap.ok(job.ended_well("unsupported") and job.values("id")[0] == f"gnu {gnu_id(program)}" and
           job.value("contents") is None and "no DWARF" in job.value("reason"),
           "a file without symbols is unsupported, and its ids are reported all the same",
           job.show())
    go = os.path.join(directory, "pclntab")
    table = os.path.join(directory, "table")
    with open(table, "wb") as file:
        file.write(b"\xf1\xff\xff\xff" + bytes(60))
    corpus.run(["objcopy", "--add-section", f".gopclntab={table}", path, go])
    job = run("build", [("main", go)])
    tap.ok(job.ended_well("unsupported") and job.value("contents") == "pclntab" and
           "pclntab" in job.value("reason"),
           "a pclntab alone is reported, and not claimed to be read", job.show())


def test_limits(tap, program):
    job = run("build", [("main", program)], ["--memory-max=20000000"])
    tap.ok(job.ended_well("ok"), "20 MB of memory are enough for a small program", job.show())
    for memory in (1_000, 30_000, 300_000):
        job = run("build", [("main", program)], [f"--memory-max={memory}"])
        tap.ok(job.ended_well("limit") and job.value("reason"),
               f"{memory} bytes of memory are not, which is a report", job.show())
    job = run("build", [("main", program)], ["--size-max=2000"])
    tap.ok(job.ended_well("limit"), "an index over its size is a limit", job.show())

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    job = run("build", [("main", program)], preexec_fn=small_files)
    tap.ok(job.ended_well("limit"), "a file-size limit is a limit and no signal", job.show())


def test_failures(tap, program):
    with open("/dev/full", "wb") as full:
        job = run("build", [("main", program)], out=full)
    tap.ok(job.ended_well("failed") and "No space left" in job.value("reason"),
           "a full disk is a failure, and the reason says so", job.show())
    job = run("build", [("main", program), ("main", program)])
    tap.ok(job.ended_well("failed") and "more than one main" in job.value("reason"),
           "two main inputs are refused", job.show())
    job = run("build", [("dwp", program)])
    tap.ok(job.ended_well("failed"), "no main and no debug input is refused", job.show())
    job = run("identify", [("main", "/dev/null")])
    tap.ok(job.ended_well("failed"), "an input that is no regular file is refused", job.show())


def test_section(tap, directory, program):
    section = elf64.read(program).contents(".debug_line")
    job = run("section", [("main", program)], ["--section=.debug_line"])
    tap.ok(job.ended_well("ok") and job.output == section and
           int(job.value("size")) == len(section) > 0,
           "section writes the section's bytes", job.show())
    packed = os.path.join(directory, "packed")
    corpus.run(["objcopy", "--compress-debug-sections=zlib", program, packed])
    job = run("section", [("main", packed)], ["--section=.debug_line"])
    tap.ok(job.output == section and elf64.read(packed).section(".debug_line").content != section,
           "a compressed section is written inflated", job.show())
    job = run("section", [("main", program)], ["--section=.none"])
    tap.ok(job.ended_well("unsupported") and ".none" in job.value("reason"),
           "a section that is not there is unsupported", job.show())
    job = run("section", [("main", program)], ["--section=.debug_line", "--size-max=10"])
    tap.ok(job.ended_well("limit") and not job.output, "a section over its limit is not written",
           job.show())


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="worker-") as directory:
        program = os.path.join(directory, "program")
        make_program(program)
        test_usage(tap)
        test_identify(tap, program)
        test_build(tap, directory, program)
        test_ways(tap, directory, program)
        test_two_files(tap, directory, program)
        test_needs(tap, directory, program)
        test_symbols_only(tap, directory, program)
        test_bad_inputs(tap, directory, program)
        test_unsupported(tap, directory, program)
        test_limits(tap, program)
        test_failures(tap, program)
        test_section(tap, directory, program)
    tap.finish()


main()
