#!/usr/bin/python3
"""What keeps a gRPC connection and what ends it: pings of both sides, idleness and age, as gRPC's own
servers have it."""
import functools
import os
import sys
import threading
from concurrent import futures

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from http2_wire import (
    ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, QUESTION, Connection, frame,
    message, request_headers)
from service import Tap
from uploads import check, check_equal, run_tests

import grpc

ENHANCE_YOUR_CALM = 11
PINGS = ["--grpc-keepalive-time", "1s"]


def next_ping(connection):
    """The payload of the server's next PING; None when the connection has ended."""
    while True:
        got = connection.next_frame()
        if got is None:
            return None
        if got[0] == PING and not got[1] & ACK:
            return got[3]


def open_call(connection, stream=1):
    connection.send(frame(HEADERS, END_HEADERS, stream, request_headers()))


def a_client_that_answers_no_ping_is_given_up():
    with service.Service([*PINGS, "--grpc-keepalive-timeout", "1s"]) as server:
        dead, dead_with_call = Connection(server), Connection(server)
        open_call(dead_with_call)
        for connection in (dead, dead_with_call):
            check(next_ping(connection) is not None, "no ping came")
            check(next_ping(connection) is None, "a second ping came")
        service.wait_until(lambda: "symbolizer_grpc_connections_open 0\n" in metrics(server) and
                           "symbolizer_grpc_calls_open 0\n" in metrics(server), "no connections")


def a_client_that_answers_pings_is_kept():
    with service.Service(PINGS) as server:
        connection = Connection(server)
        for _ in range(2):
            payload = next_ping(connection)
            check(payload is not None, "the connection ended")
            connection.send(frame(PING, ACK, 0, payload))
        check("First time" in str(connection.ask(1)[1]))


def a_real_client_outlives_the_servers_pings():
    with service.Service(PINGS) as server:  # grpcio looks at an idle connection every 5 s
        stub = server.debuginfo()
        request = server.messages.ShouldInitiateUploadRequest(build_id="abcdef01")
        stub.ShouldInitiateUpload(request)
        watcher = Connection(server)  # tells that time has passed
        for _ in range(2):
            watcher.send(frame(PING, ACK, 0, next_ping(watcher)))
        stub.ShouldInitiateUpload(request)
        check("symbolizer_grpc_connections_open 2\n" in metrics(server))


def pings_too_often_end_the_connection_with_too_many_pings():
    with service.Service() as server:
        for with_call in (False, True):
            connection = Connection(server)
            if with_call:
                open_call(connection)
            sent = 0
            while sent < 100 and connection.try_send(frame(PING, 0, 0, bytes(8))):
                sent += 1
            check_equal(connection.goaway(), (ENHANCE_YOUR_CALM, b"too_many_pings"))
            acknowledged = [got for got in connection.frames if got[:2] == (PING, ACK)]
            check(len(acknowledged) >= 3, "pings within the rules are answered")


def pings_between_answers_are_forgiven():
    with service.Service() as server:
        connection = Connection(server)
        for number in range(20):
            connection.ping()
            connection.ask(2 * number + 1)
        connection.close()


def pings_at_the_pace_that_is_allowed_are_welcome():
    with service.Service(["--grpc-min-ping-interval", "1s", "--grpc-pings-without-calls",
                          *PINGS]) as server:
        connection = Connection(server)
        for _ in range(4):  # one after each ping of the server, which come a second apart
            connection.send(frame(PING, ACK, 0, next_ping(connection)))
            connection.ping()
        connection.ask(1)


def a_real_client_that_pings_too_often_is_told_and_goes_on():
    with service.Service() as server:
        channel = grpc.insecure_channel(f"127.0.0.1:{server.ports['grpc']}", options=[
            ("grpc.keepalive_time_ms", 10), ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.max_pings_without_data", 0), ("grpc.use_local_subchannel_pool", 1)])
        states = []
        lost = threading.Event()

        def note(state):
            states.append(state)
            if state in (grpc.ChannelConnectivity.IDLE,
                         grpc.ChannelConnectivity.TRANSIENT_FAILURE) and \
                    grpc.ChannelConnectivity.READY in states:
                lost.set()

        channel.subscribe(note, try_to_connect=True)
        check(lost.wait(service.PATIENCE_S), "the connection is kept", states)
        stub = service.grpc_modules()[1].DebuginfoServiceStub(channel)
        stub.ShouldInitiateUpload(server.messages.ShouldInitiateUploadRequest(
            build_id="abcdef01"), wait_for_ready=True, timeout=service.PATIENCE_S)
        channel.close()


def an_idle_connection_is_ended_and_one_with_a_call_is_not():
    with service.Service(["--grpc-max-connection-idle", "5s"]) as server:
        idle, busy = Connection(server), Connection(server)
        open_call(busy)
        check_equal(idle.goaway(), (0, b""))
        busy.send(frame(DATA, END_STREAM, 1, message(QUESTION)))
        check("First time" in str(busy.wait_for_answer(1)[1]))
        check_equal(busy.goaway(), (0, b""))


def an_old_connection_ends_with_its_last_call():
    with service.Service(["--grpc-max-connection-age", "5s"]) as server:
        idle, busy = Connection(server), Connection(server)
        open_call(busy)
        check_equal(idle.goaway(), (0, b""))
        while busy.next_frame()[0] != GOAWAY:
            pass
        busy.send(frame(DATA, END_STREAM, 1, message(QUESTION)))
        check("First time" in str(busy.wait_for_answer(1)[1]))
        check(busy.ended())


def metrics(server):
    return server.http("GET", "/metrics")[2].decode()


def started(pool, function):
    """The tests mostly wait, so they wait at the same time."""
    future = pool.submit(function)

    @functools.wraps(function)
    def wait():
        future.result()
    return wait


def main():
    tap = Tap()
    service.grpc_modules()
    tests = [a_client_that_answers_no_ping_is_given_up,
             a_client_that_answers_pings_is_kept,
             a_real_client_outlives_the_servers_pings,
             pings_too_often_end_the_connection_with_too_many_pings,
             pings_between_answers_are_forgiven,
             pings_at_the_pace_that_is_allowed_are_welcome,
             a_real_client_that_pings_too_often_is_told_and_goes_on,
             an_idle_connection_is_ended_and_one_with_a_call_is_not,
             an_old_connection_ends_with_its_last_call]
    with futures.ThreadPoolExecutor(len(tests)) as pool:
        run_tests(tap, [started(pool, function) for function in tests])
    tap.finish()


main()
