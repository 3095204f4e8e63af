#!/usr/bin/python3
"""A sender whose connection is half gone does not keep its upload from being sent again: the newest
stream of an upload has it, older ones are told so, and their bytes go."""
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from http2_wire import (
    DATA, END_HEADERS, HEADERS, METHOD, Connection, frame, message, request_headers)
from service import Tap
from uploads import Agent, Samples, check, check_equal, run_tests

import grpc
from grpc import StatusCode

sample = Samples()
UPLOAD = METHOD.replace("ShouldInitiateUpload", "Upload")
STREAMS = 30


def half_open(server, agent):
    """A connection that has sent a part of the upload, and falls silent."""
    requests = list(service.upload_requests(server.messages, agent.instructions, agent.data, 1000))
    connection = Connection(server)
    connection.send(frame(HEADERS, END_HEADERS, 1, request_headers(path=UPLOAD)),
                    *(frame(DATA, 0, 1, message(request.SerializeToString()))
                      for request in requests[:3]))
    return connection


def files(server, folder):
    return [name for _, _, names in os.walk(os.path.join(server.data_directory, folder))
            for name in names]


def metric(server, name):
    text = server.http("GET", "/metrics")[2].decode()
    return float(text.split(f"\n{name} ")[1].split()[0])


def wait_for_file(server):
    service.wait_until(lambda: files(server, "tmp"), "a file that is being written")


def a_newer_stream_has_the_upload_and_the_older_is_aborted(server):
    agent = Agent(server, sample(1))
    agent.initiate()
    old = half_open(server, agent)
    wait_for_file(server)
    check_equal(agent.send().size, len(agent.data))
    old.wait_for_answer(1)
    check_equal(old.headers[1]["grpc-status"], "10")
    agent.finish()
    check_equal(len(files(server, "blobs")), 1)
    service.wait_until(lambda: not files(server, "tmp"), "the older stream's file to go")
    check_equal(metric(server, 'symbolizer_uploads_total{outcome="finished"}'), 1)
    server.wait_for_event("rpc", method="Upload", code="ABORTED")
    old.ask(3)
    old.close()


def streams_that_replace_one_another_leave_nothing_behind(server):
    agent = Agent(server, sample(2))
    agent.initiate()
    connections = [half_open(server, agent)]
    wait_for_file(server)
    for _ in range(STREAMS):
        connections.append(half_open(server, agent))
        connections[-2].wait_for_answer(1)
        check_equal(connections[-2].headers[1]["grpc-status"], "10")
    service.wait_until(lambda: len(files(server, "tmp")) == 1, "one file")
    agent.send()
    agent.finish()
    check_equal(agent.ask().should_initiate_upload, False)
    for connection in connections:
        connection.close()


def of_many_that_send_at_once_the_last_has_it_and_one_object_is_stored(server):
    agent = Agent(server, sample(3))
    agent.initiate()
    before = len(files(server, "blobs"))
    codes = []

    def send():
        try:
            Agent.send(agents.pop())
            codes.append(StatusCode.OK)
        except grpc.RpcError as error:
            codes.append(error.code())

    agents = []
    for _ in range(STREAMS):
        other = Agent(server, data=agent.data, build_id=agent.build_id)
        other.instructions = agent.instructions
        agents.append(other)
    threads = [threading.Thread(target=send) for _ in range(STREAMS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(StatusCode.OK in codes and set(codes) <= {StatusCode.OK, StatusCode.ABORTED}, codes)
    agent.finish()
    check_equal(len(files(server, "blobs")), before + 1)
    service.wait_until(lambda: not files(server, "tmp"), "files to go")


def a_forced_upload_ends_the_stream_of_the_one_that_it_replaces(server):
    agent = Agent(server, sample(4))
    agent.initiate()
    old = half_open(server, agent)
    service.wait_until(lambda: metric(server, "symbolizer_upload_streams_open") == 1, "a stream")
    agent.initiate(force=True)
    old.wait_for_answer(1)
    check_equal(old.headers[1]["grpc-status"], "9")
    agent.send()
    agent.finish()
    old.close()


def main():
    tap = Tap()
    with service.Service() as server:
        run_tests(tap, [a_newer_stream_has_the_upload_and_the_older_is_aborted,
                        streams_that_replace_one_another_leave_nothing_behind,
                        of_many_that_send_at_once_the_last_has_it_and_one_object_is_stored,
                        a_forced_upload_ends_the_stream_of_the_one_that_it_replaces], server)
        tap.ok(server.stop() == 0, "the server ends in order", server.output[-20:])
    tap.finish()


main()
