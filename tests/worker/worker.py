"""Runs symbolizer-worker by hand, as its parent does: open descriptors in, a report out."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
sys.path.insert(0, os.path.join(ROOT, "tests", "dwarf"))

BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
WORKER = os.path.join(BUILD, "symbolizer-worker")
FAULTY_WORKER = os.path.join(BUILD, "faults", "symbolizer-worker")
QUERY = os.path.join(BUILD, "drivers", "object_query")


class Job:
    """A worker that runs; finish() waits for it.

    code is the exit status (negative: the signal that killed it), text the report as it was
    written, output what went to --out.
    """

    def __init__(self, operation, inputs, extra=(), program=WORKER, out=None, **options):
        self.out = out or tempfile.TemporaryFile()
        self.report, write_end = os.pipe()
        files = [(role, open(path, "rb")) for role, path in inputs]
        arguments = [program, operation, f"--report={write_end}"]
        passed = [write_end] + [file.fileno() for _, file in files]
        if operation != "identify":
            arguments.append(f"--out={self.out.fileno()}")
            passed.append(self.out.fileno())
        arguments += [f"{role}={file.fileno()}" for role, file in files]
        self.process = subprocess.Popen(arguments + list(extra), pass_fds=passed,
                                        stderr=subprocess.PIPE, **options)
        os.close(write_end)
        for _, file in files:
            file.close()
        self.code = self.text = self.output = self.stderr = None

    def finish(self):
        with os.fdopen(self.report, "rb") as report:
            self.text = report.read().decode("utf-8", "surrogateescape")
        _, self.stderr = self.process.communicate()
        self.code = self.process.returncode
        if self.out.seekable() and self.out.readable():
            self.out.seek(0)
            self.output = self.out.read()
        return self

    def values(self, key):
        """All values of a key, in order."""
        return [line[len(key) + 1:] for line in self.text.splitlines()
                if line.startswith(key + " ")]

    def value(self, key):
        found = self.values(key)
        return found[0] if len(found) == 1 else None

    def ended_well(self, status):
        """Exit status 0, and a whole report with this status."""
        return (self.code == 0 and self.text.endswith("\nend\n") and
                self.values("status") == [status])

    def show(self):
        return f"exit {self.code}\n{self.text}\n{self.stderr.decode(errors='replace')}"


def run(operation, inputs, extra=(), **options):
    return Job(operation, inputs, extra, **options).finish()
