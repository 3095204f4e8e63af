#!/usr/bin/python3
"""SIGTERM while agents upload: what is under way may end, nothing new begins, and what does not end
in time is told so."""
import os
import signal
import socket
import struct
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from http2_wire import (
    DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, QUESTION, Connection, frame, message,
    request_headers)
from service import Tap
from uploads import Agent, check, check_equal, run_tests

from grpc import StatusCode


class SlowUpload:
    """An agent whose upload stops in the middle until it is told to go on."""

    def __init__(self, server, path):
        self.agent = Agent(server, path)
        self.agent.initiate()
        self.server = server
        self.go_on = threading.Event()
        self.call = self.agent.stub.Upload.future(self.requests())
        half = len(self.agent.data) // 2
        service.wait_until(lambda: received(server) >= half, "half of the upload")

    def requests(self):
        half = len(self.agent.data) // 2
        pieces = list(service.upload_requests(
            self.server.messages, self.agent.instructions, self.agent.data, half))
        yield from pieces[:2]
        self.go_on.wait()
        yield from pieces[2:]


def received(server):
    text = server.http("GET", "/metrics")[2].decode()
    return float(text.split("\nsymbolizer_upload_bytes_total ")[1].split()[0])


def terminate(server):
    server.process.send_signal(signal.SIGTERM)
    server.wait_for_event("stopping")


def an_upload_under_way_ends_after_sigterm_and_the_server_then(path):
    with service.Service() as server:
        upload = SlowUpload(server, path)
        terminate(server)
        upload.go_on.set()
        check_equal(upload.call.result(timeout=service.PATIENCE_S).size, len(upload.agent.data))
        check_equal(server.process.wait(service.PATIENCE_S), 0)


def every_connection_is_told_goaway_and_an_idle_one_ends(path):
    with service.Service() as server:
        upload = SlowUpload(server, path)
        idle, busy = Connection(server), Connection(server)
        idle.ping()
        busy.send(frame(HEADERS, END_HEADERS, 1, request_headers()))
        busy.ping()
        terminate(server)
        check_equal(idle.goaway(), (0, b""))
        while busy.next_frame()[0] != GOAWAY:
            pass
        check_equal(struct.unpack(">I", busy.frames[-1][3][:4])[0], 1)
        busy.send(frame(HEADERS, END_HEADERS, 3, request_headers()),
                  frame(DATA, END_STREAM, 3, message(QUESTION)),
                  frame(DATA, END_STREAM, 1, message(QUESTION)))
        busy.wait_for_answer(1)
        check_equal(busy.headers[1]["grpc-status"], "0")
        check(busy.ended() and 3 not in busy.headers)
        upload.go_on.set()
        upload.call.result(timeout=service.PATIENCE_S)


def is_refused(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) != 0


def nobody_connects_after_sigterm(path):
    with service.Service() as server:
        upload = SlowUpload(server, path)
        terminate(server)
        for protocol in ("grpc", "http"):
            service.wait_until(lambda: is_refused(server.ports[protocol]),
                               f"{protocol} to be refused")
        upload.go_on.set()
        upload.call.result(timeout=service.PATIENCE_S)


def an_upload_that_does_not_end_in_time_is_unavailable_and_can_be_sent_again(path):
    with service.Service(["--shutdown-grace", "1s"]) as server:
        upload = SlowUpload(server, path)
        terminate(server)
        check_equal(upload.call.exception(timeout=service.PATIENCE_S).code(),
                    StatusCode.UNAVAILABLE)
        check_equal(server.process.wait(service.PATIENCE_S), 0)
        upload.go_on.set()
        server.restart()
        Agent(server, path).upload()


def without_grace_the_server_ends_at_once(path):
    with service.Service(["--shutdown-grace", "0"]) as server:
        upload = SlowUpload(server, path)
        check_equal(server.stop(), 0)
        upload.go_on.set()


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        path = service.compile_sample(directory)
        run_tests(tap, [an_upload_under_way_ends_after_sigterm_and_the_server_then,
                        every_connection_is_told_goaway_and_an_idle_one_ends,
                        nobody_connects_after_sigterm,
                        an_upload_that_does_not_end_in_time_is_unavailable_and_can_be_sent_again,
                        without_grace_the_server_ends_at_once], path)
    tap.finish()


main()
