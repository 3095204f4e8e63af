"""What the tests of uploads share: an agent with its calls, and checks that say what came instead."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service

import grpc

UNKNOWN, GNU, HASH, GO, SOURCE_MAP_DEBUG_ID = range(5)
DEBUGINFO, EXECUTABLE, SOURCES, SOURCE_MAP = range(4)


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

    def send(self, data=None):
        return self.stub.Upload(service.upload_requests(
            self.messages, self.instructions, self.data if data is None else data))

    def finish(self, **fields):
        return self.stub.MarkUploadFinished(self.messages.MarkUploadFinishedRequest(
            **{"build_id": self.build_id, "upload_id": self.instructions.upload_id,
               "type": self.kind, **fields}))

    def upload(self, **fields):
        self.initiate(**fields)
        self.send()
        self.finish()


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
