#!/usr/bin/python3
"""Files as Parca Agent extracts them resolve like the programs they come from."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import corpus
import elf64
from tap import Tap

VARIANTS = {
    f"DWARF {version} {kind}{compression}": corpus.Variant(
        {"CFLAGS": f"-O2 -g -gdwarf-{version} {flags}"}, then)
    for version in (4, 5)
    for kind, flags in (("PIE", "-fpie -pie"), ("fixed", "-fno-pie -no-pie"))
    for compression, then in (("", None),
                              (" zlib", "objcopy --compress-debug-sections=zlib {}"),
                              (" zstd", "objcopy --compress-debug-sections=zstd {}"))
}


def check_shape(tap, path):
    """The recipe makes what the agent makes; see its text."""
    elf = elf64.read(path)
    text = elf.section(".text")
    tap.ok(text.type == elf64.SHT_NOBITS and text.size == 0 and text.address != 0,
           "an extracted file has lost the size of .text, not its address")
    tap.ok({segment[0] for segment in elf.segments} == {elf64.PT_NOTE} and elf.entry == 0,
           "it has no segment but notes, and no entry point")
    tap.ok(elf.sections[-1].name == ".shstrtab" and elf.section(".rela.plt").link == 0,
           "its section names come last, and relocations are linked to nothing")


def main():
    tap = Tap()
    truths = corpus.read_truth()
    chains = corpus.expected_chains(truths, False, "gcc")
    with tempfile.TemporaryDirectory(prefix="agent-extract-") as directory:
        path = os.path.join(directory, "program")
        extracted = os.path.join(directory, "extracted")
        for name, variant in VARIANTS.items():
            marks = corpus.make_variant(path, variant, "gcc")
            corpus.run([corpus.EXTRACT, path, extracted])
            corpus.check_readers(tap, f"{name}, extracted", extracted, marks, chains)
            dumps = [corpus.run([os.path.join(corpus.BUILD, "drivers", "dwarf_query"), file, "dump"])
                     for file in (path, extracted)]
            tap.ok(dumps[0] == dumps[1] and len(dumps[0]) > 1000,
                   f"{name}, extracted: push hands out the same as for the whole file")
        check_shape(tap, extracted)
    tap.finish()


main()
