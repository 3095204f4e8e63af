"""The corpus with its DWARF spread over several files: .dwo files, a .dwp, what dwz makes."""
import os
import re
import shutil
import subprocess
import tempfile

import corpus

COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}


class Spread:
    """A program, its marks, and the other files of its DWARF by their roles."""

    def __init__(self, path, marks, others=()):
        self.path = path
        self.marks = marks
        self.others = list(others)


def make_split(folder, compiler, version, flags="-O2"):
    """.dwo files, each of which the program names by its path."""
    cc, cxx = COMPILERS[compiler]
    path = os.path.join(folder, "program")
    objects = os.path.join(folder, "objects")
    os.makedirs(objects, exist_ok=True)
    corpus.build(path, CC=cc, CXX=cxx, OBJECTS=objects,
                 CFLAGS=f"{flags} -g -gdwarf-{version} -gsplit-dwarf")
    dwos = sorted(os.path.join(objects, name) for name in os.listdir(objects)
                  if name.endswith(".dwo"))
    assert len(dwos) >= 5, "the compiler made no .dwo files"
    return Spread(path, corpus.live_marks(path), [("dwo", dwo) for dwo in dwos])


def make_package(folder, compiler, version, tool):
    """The .dwo files gathered in a package beside the program, and gone themselves."""
    spread = make_split(folder, compiler, version)
    package = spread.path + ".dwp"
    corpus.run([tool, *(path for _, path in spread.others), "-o", package], timeout=60)
    shutil.rmtree(os.path.join(folder, "objects"))
    return Spread(spread.path, spread.marks, [("dwp", package)])


def make_for_dwz(folder, name, version, *flags):
    """dwz takes no section that it does not know, so that the marks are read before."""
    path = os.path.join(folder, name)
    corpus.build(path, CFLAGS=" ".join(("-O2", "-g", f"-gdwarf-{version}", *flags)))
    marks = corpus.live_marks(path)
    corpus.run(["objcopy", "-R", ".debug_marks", path])
    return Spread(path, marks)


def make_dwz(folder, version, *options):
    """Two programs, and what both have in common in a supplementary file beside them."""
    spread = make_for_dwz(folder, "program", version)
    other = make_for_dwz(folder, "other", version, "-fno-inline-small-functions")
    supplement = os.path.join(folder, "common")
    corpus.run(["dwz", *options, "-m", supplement, "-M", "common", spread.path, other.path])
    spread.others = [("supplementary", supplement)]
    return spread


def make_dwz_alone(folder, version):
    spread = make_for_dwz(folder, "program", version)
    corpus.run(["dwz", spread.path])
    return spread


def ask_index(spread):
    return corpus.ask_index(spread.path, [mark.address for mark in spread.marks],
                            others=spread.others)


def ask_symbolize(spread):
    return corpus.ask_symbolize(spread.path, [mark.address for mark in spread.marks])


READERS = {"symbolize": ask_symbolize, "an index": ask_index}


def check_chains(tap, name, spread, compiler):
    """Every reader shows every chain, as of a program whose DWARF is in one file."""
    chains = corpus.expected_chains(corpus.read_truth(), False, compiler)
    for reader, ask in READERS.items():
        wrong = corpus.differences(spread.marks, ask(spread), chains, True)
        tap.ok(not wrong, f"{name}: {reader} shows every chain", wrong)


def check_symbolize(tap, name, spread, compiler, *options):
    """symbolize, told where something lies, shows every chain."""
    chains = corpus.expected_chains(corpus.read_truth(), False, compiler)
    answers = corpus.ask_symbolize(spread.path, [mark.address for mark in spread.marks], *options)
    wrong = corpus.differences(spread.marks, answers, chains, True)
    tap.ok(not wrong, f"{name}: symbolize shows every chain", wrong)


def lines_of(truths, compiler):
    """Mark id -> the innermost (file, line) of its copies."""
    lines = {}
    for truth in truths:
        if compiler in truth.compilers:
            lines.setdefault(truth.id, set()).add(truth.chain[0][1:])
    return lines


def check_lines(tap, name, spread, compiler):
    """Without the split units, every reader still shows the innermost line, and a name from the
    symbol table."""
    lines = lines_of(corpus.read_truth(), compiler)
    for reader, ask in READERS.items():
        wrong = [f"mark {mark.id} at {mark.address:#x}: {corpus.show(answer)}"
                 for mark, answer in zip(spread.marks, ask(spread))
                 if not answer or not answer[0][0] or answer[0][1:] not in lines[mark.id]]
        tap.ok(not wrong and spread.marks, f"{name}: {reader} shows every line and a name", wrong)


def check_unnamed(tap, name, spread, compiler):
    """Without the supplementary file every line of every chain is there, and every name but those
    that stand in it; the outermost function has one from the symbol table at the least."""
    chains = corpus.expected_chains(corpus.read_truth(), False, compiler)
    for reader, ask in READERS.items():
        answers = ask(spread)
        wrong = [f"mark {mark.id} at {mark.address:#x}: {corpus.show(answer)}"
                 for mark, answer in zip(spread.marks, answers)
                 if not any(is_unnamed(answer, corpus.as_seen(chain, True))
                            for chain in chains[mark.id])]
        unnamed = [answer for answer in answers if any(not frame[0] for frame in answer)]
        tap.ok(not wrong and unnamed, f"{name}: {reader} shows every line and what names there are",
               wrong)


def is_unnamed(answer, chain):
    return (len(answer) == len(chain) and answer[-1][0] and
            all(seen[1:] == frame[1:] and (seen[0] in ("", frame[0]) or i == len(chain) - 1)
                for i, (seen, frame) in enumerate(zip(answer, chain))))


def report_of(spread):
    """What the worker says of a build of it."""
    with tempfile.TemporaryDirectory(prefix="dwarf-spread-") as folder:
        return corpus.build_index(spread.path, os.path.join(folder, "index"),
                                  others=spread.others)


def needs_of(report, kind):
    return re.findall(rf"^need {kind} (\w+)$", report, re.M)


def dwo_ids(path):
    text = subprocess.run(["readelf", "--debug-dump=info", path], capture_output=True, text=True,
                          check=True).stdout
    return {f"{int(value, 16):016x}" for value in
            re.findall(r"(?:DWO ID|DW_AT_GNU_dwo_id\s*): *0x([0-9a-f]+)", text)}
