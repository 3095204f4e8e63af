#!/usr/bin/python3
"""DWARF that is spread over several files is read like DWARF in one; without those files every line
is still there, and the report says what is missing. Programs by gcc."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import corpus
import spread
from tap import Tap


def check_missing(tap, name, program):
    spread.check_lines(tap, name, program, "gcc")
    needs = set(spread.needs_of(spread.report_of(program), "dwo"))
    ids = spread.dwo_ids(program.path)
    tap.ok(needs == ids and ids, f"{name}: the report names every DWO id that is missing",
           [f"{sorted(needs)}, not {sorted(ids)}"])


def check_split(tap, folder, version):
    name = f"DWARF {version} split"
    program = spread.make_split(folder, "gcc", version)
    spread.check_chains(tap, f"{name}, with .dwo files", program, "gcc")
    tap.ok(not spread.needs_of(spread.report_of(program), "dwo"),
           f"{name}: nothing is missing then")
    moved = os.path.join(folder, "moved")
    os.mkdir(moved)
    shutil.copy(program.path, moved)
    shutil.move(os.path.join(folder, "objects"), os.path.join(folder, "away"))
    alone = spread.Spread(os.path.join(moved, "program"), program.marks)
    check_missing(tap, f"{name}, .dwo files missing", alone)
    with tempfile.TemporaryDirectory(prefix="dwarf-other-") as other:
        wrong = spread.make_split(other, "gcc", version, "-O0")
        for _, dwo in wrong.others:
            shutil.copy(dwo, moved)
        check_missing(tap, f"{name}, .dwo files of another build",
                      spread.Spread(alone.path, program.marks, wrong.others))


def check_package(tap, folder):
    name = "a package of DWARF 4"
    program = spread.make_package(folder, "gcc", 4, "dwp")
    spread.check_chains(tap, name, program, "gcc")
    debug = program.path + ".debug"
    corpus.run(["objcopy", "--only-keep-debug", program.path, debug])
    corpus.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program.path])
    spread.check_symbolize(tap, f"{name} of an executable with a debug file", program, "gcc")
    elsewhere = os.path.join(folder, "elsewhere")
    os.rename(program.path + ".dwp", elsewhere)
    spread.check_symbolize(tap, f"{name} given as --dwp", program, "gcc", f"--dwp={elsewhere}")
    index = os.path.join(folder, "index")
    corpus.run([os.path.join(corpus.BUILD, "symbolize"), "index", program.path, debug, "-o", index,
                f"--dwp={elsewhere}"])
    made = spread.Spread(index, program.marks)
    spread.check_symbolize(tap, f"{name} given to symbolize index", made, "gcc")


def check_supplement(tap, folder, name, version, *options):
    program = spread.make_dwz(folder, version, *options)
    spread.check_chains(tap, f"{name}, DWARF {version}", program, "gcc")
    os.remove(os.path.join(folder, "common"))
    alone = spread.Spread(program.path, program.marks)
    spread.check_unnamed(tap, f"{name}, DWARF {version}, missing", alone, "gcc")
    tap.ok(len(spread.needs_of(spread.report_of(alone), "altlink")) == 1,
           f"{name}, DWARF {version}: the report says that it is missing")


def in_folder(check, *arguments):
    with tempfile.TemporaryDirectory(prefix="dwarf-spread-") as folder:
        check(folder, *arguments)


def main():
    tap = Tap()
    for version in (4, 5):
        in_folder(lambda folder, v=version: check_split(tap, folder, v))
        in_folder(lambda folder, v=version: spread.check_chains(
            tap, f"DWARF {v} split, with type units",
            spread.make_split(folder, "gcc", v, "-O2 -fdebug-types-section"), "gcc"))
        in_folder(lambda folder, v=version: spread.check_chains(
            tap, f"dwz alone, DWARF {v}", spread.make_dwz_alone(folder, v), "gcc"))
        in_folder(lambda folder, v=version: check_supplement(
            tap, folder, "dwz with .gnu_debugaltlink", v))
    in_folder(lambda folder: check_package(tap, folder))
    in_folder(lambda folder: check_supplement(tap, folder, "dwz with .debug_sup", 5, "--dwarf-5"))
    tap.finish()


main()
