"""What the tests of uploads share: an agent with its calls, the reasons that it is told, samples to
send, and checks that say what came instead."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service

import grpc

UNKNOWN, GNU, HASH, GO, SOURCE_MAP_DEBUG_ID = range(5)
DEBUGINFO, EXECUTABLE, SOURCES, SOURCE_MAP = range(4)

# The reasons, in the words that agents compare.
FIRST_TIME = ("First time we see this Build ID, and it does not exist in debuginfod, therefore "
              "please upload!")
STALE = ("A previous upload was started but not finished and is now stale, so it can be retried.")
IN_PROGRESS = ("A previous upload is still in-progress and not stale yet (only stale uploads can "
               "be retried).")
IN_PROGRESS_BUT_FORCED = ("A previous upload is in-progress, but accepting restart because it's "
                          "requested to be forced.")
EXISTS = ("Debuginfo already exists and is not marked as invalid, therefore no new upload is "
          "needed.")
EXISTS_BUT_FORCED = ("Debuginfo already exists and is not marked as invalid, therefore wouldn't "
                     "have accepted a new upload, but accepting it because it's requested to be "
                     "forced.")
INVALID = ("Debuginfo already exists but is marked as invalid, therefore a new upload is needed. "
           "Hash the debuginfo and initiate the upload.")
EQUAL = ("Debuginfo already exists and is marked as invalid, but the proposed hash is the same as "
         "the one already available, therefore the upload is not accepted as it would result in "
         "the same invalid debuginfos.")
NOT_EQUAL = ("Debuginfo already exists but is marked as invalid, therefore a new upload will be "
             "accepted.")
PURGED = ("Debuginfo was previously uploaded but has been purged/cleaned up, therefore a new "
          "upload is needed.")
REFUSED_WITH = ("upload should not have been attempted to be initiated, a previous check should "
                "have failed with: ")


class Agent:
    """One connection, and the calls of an agent for one file."""

    def __init__(self, server, path=None, build_id=None, build_id_type=GNU, kind=DEBUGINFO,
                 data=None):
        self.stub = server.debuginfo()
        self.messages = server.messages
        self.data = data if data is not None else service.read_bytes(path)
        self.build_id = build_id or service.gnu_build_id(path)
        self.build_id_type = build_id_type
        self.kind = kind
        self.instructions = None

    def ask(self, **fields):
        return self.stub.ShouldInitiateUpload(self.messages.ShouldInitiateUploadRequest(
            **{"build_id": self.build_id, "build_id_type": self.build_id_type, "type": self.kind,
               **fields}))

    def initiate(self, **fields):
        self.instructions = self.stub.InitiateUpload(self.messages.InitiateUploadRequest(
            **{"build_id": self.build_id, "build_id_type": self.build_id_type, "type": self.kind,
               "hash": "h1", "size": len(self.data), **fields})).upload_instructions
        return self.instructions

    def requests(self, data=None, piece_size=8 << 20):
        return service.upload_requests(self.messages, self.instructions,
                                       self.data if data is None else data, piece_size)

    def send(self, data=None, **options):
        return self.stub.Upload(self.requests(data), **options)

    def finish(self, **fields):
        return self.stub.MarkUploadFinished(self.messages.MarkUploadFinishedRequest(
            **{"build_id": self.build_id, "upload_id": self.instructions.upload_id,
               "type": self.kind, **fields}))

    def upload(self, **fields):
        self.initiate(**fields)
        self.send()
        self.finish()


class Samples:
    """Programs by their numbers, each compiled once, in a directory that goes with the test."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="symbolizer-samples-")

    def __call__(self, salt, **options):
        path = os.path.join(self.directory.name, f"sample{salt}")
        if not os.path.exists(path):
            service.compile_sample(self.directory.name, f"sample{salt}", salt, **options)
        return path


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(word) for word in what))


def check_equal(got, wanted):
    check(got == wanted, f"got {got!r}, want {wanted!r}")


def check_refused(code, call, *arguments, says=None, **options):
    """The call fails with that code and, if given, a text that contains `says`."""
    try:
        answer = call(*arguments, **options)
    except grpc.RpcError as error:
        check(error.code() == code, f"got {error.code()} {error.details()!r}, want {code}")
        check(says is None or says in error.details(), f"{error.details()!r} lacks {says!r}")
        return
    raise AssertionError(f"got {answer!r}, want {code}")


class Tests(list):
    """The functions that it has decorated, in their order, for run_tests."""

    def __call__(self, function):
        self.append(function)
        return function


def run_tests(tap, tests, *arguments):
    """Each test is a function whose name is the sentence that it proves. One that dies has failed;
    the others still run."""
    for function in tests:
        name = function.__name__.replace("_", " ")
        try:
            function(*arguments)
            tap.ok(True, name)
        except Exception as error:
            tap.ok(False, name, f"{type(error).__name__}: {error}")
