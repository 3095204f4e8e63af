#!/usr/bin/python3
"""What the DWARF source says about the corpus equals what its sources say; programs by clang."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dwarf"))
import corpus
from tap import Tap, skip_all

if not shutil.which("clang++"):
    skip_all("clang is not installed")
tap = Tap()
corpus.check_variants(tap, corpus.common_variants(), "clang")
tap.finish()
