"""Runs a fuzz target over inputs that a test makes, in one process and without a file for each."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD") or ROOT / "build")


def replay(target, inputs):
    """True if the target held over all inputs (iterable of bytes), and what it said."""
    inputs = list(inputs)
    packed = b"".join(len(data).to_bytes(4, "little") + data for data in inputs)
    done = subprocess.run([BUILD / "fuzz" / target, "-"], input=packed, capture_output=True)
    said = (done.stdout + done.stderr).decode(errors="replace").splitlines()
    good = done.returncode == 0 and said == [f"{len(inputs)} inputs"]
    return good, [f"exit code {done.returncode}"] + said[:30]
