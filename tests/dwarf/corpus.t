#!/usr/bin/python3
"""What the DWARF source says about the corpus equals what its sources say; programs by gcc."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import corpus
from tap import Tap

variants = corpus.common_variants()
variants["LTO"] = corpus.Variant({"CFLAGS": "-O2 -g -flto"}, None, True)
tap = Tap()
corpus.check_the_check(tap)
corpus.check_variants(tap, variants, "gcc")
tap.finish()
