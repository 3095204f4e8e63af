"""The Test Anything Protocol for Python test scripts."""
import sys


class Tap:
    """Counts tests; finish() prints the plan and exits."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, passed, name, detail=""):
        """One test. `detail` (text or lines) is shown when it fails."""
        self.count += 1
        print(f"{'ok' if passed else 'not ok'} {self.count} - {name}", flush=True)
        if not passed:
            self.failed += 1
            lines = detail.splitlines() if isinstance(detail, str) else detail
            for line in lines:
                print(f"#   {line}", flush=True)
        return passed

    def skip(self, name, reason):
        """A test that does not apply here."""
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {reason}", flush=True)

    def finish(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(1 if self.failed else 0)


def skip_all(reason):
    """The whole script does not apply here."""
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)
