#!/usr/bin/python3
"""What clients may do that no gRPC library does: HTTP/2 frames by hand against the real server."""
import gzip
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from http2_wire import (
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, METHOD, PADDED, PREFACE, QUESTION,
    RST_STREAM, SETTINGS, WINDOW_UPDATE, Connection, frame, headers_frames, message,
    request_headers)
from service import Tap
from uploads import Tests, run_tests


TOO_LARGE = [("x-large", "y" * 15000), ("x-more", "y" * 2000)]
TOO_MANY = [(f"x-{number}", "") for number in range(100)]


def is_answered(connection, stream, **options):
    """A good question gets HEADERS, one message and trailers."""
    payloads = connection.ask(stream, **options)
    return len(payloads) == 3 and b"First time we see this Build ID" in payloads[1]


test = Tests()


@test
def a_request_by_hand_is_answered(server):
    connection = Connection(server)
    assert is_answered(connection, 1)
    assert is_answered(connection, 3)
    connection.close()


@test
def a_message_in_frames_of_one_byte_and_with_padding_is_one_message(server):
    connection = Connection(server)
    connection.send(frame(HEADERS, END_HEADERS, 1, request_headers()))
    for byte in message(QUESTION):
        connection.send(frame(DATA, PADDED, 1, b"\x64" + bytes([byte]) + bytes(100)))
    connection.send(frame(DATA, END_STREAM, 1))
    assert b"First time" in connection.wait_for_answer(1)[1]
    connection.close()


@test
def headers_in_continuation_frames_are_one_block(server):
    connection = Connection(server)
    block = request_headers()
    connection.send(frame(HEADERS, 0, 1, block[:10]), frame(CONTINUATION, 0, 1, block[10:20]),
                    frame(CONTINUATION, END_HEADERS, 1, block[20:]),
                    frame(DATA, END_STREAM, 1, message(QUESTION)))
    assert b"First time" in connection.wait_for_answer(1)[1]
    connection.close()


@test
def what_is_no_grpc_gets_an_http_status_and_the_connection_stays(server):
    for status, options in (
            ("405", {"method": "GET"}), ("415", {"content_type": "application/json"}),
            ("415", {"content_type": "application/grpc-web"}),
            ("431", {"content_type": "text/plain", "extra": TOO_LARGE}),
            ("431", {"content_type": "text/plain", "extra": TOO_MANY})):
        connection = Connection(server)
        payloads = connection.ask(1, **options)
        assert len(payloads) == 1, payloads
        assert connection.headers[1][":status"] == status, connection.headers[1]
        assert is_answered(connection, 3)
        connection.close()


@test
def metadata_over_the_limits_is_resource_exhausted_and_the_connection_stays(server):
    for extra in (TOO_LARGE, TOO_MANY):
        connection = Connection(server)
        assert len(connection.ask(1, extra=extra)) == 1
        assert connection.headers[1]["grpc-status"] == "8", connection.headers[1]
        assert is_answered(connection, 3)
        connection.close()
    connection = Connection(server)
    assert is_answered(connection, 1, extra=[("x-large", "y" * 15000)])
    connection.close()


@test
def a_header_that_is_repeated_by_reference_costs_no_memory(server):
    # RFC 7541: one entry of 4,000 bytes in the table, then 100,000 references of one byte each.
    entry = b"\x40\x01x\x7f\xa1\x1e" + b"y" * 4000
    block = request_headers() + entry + b"\xbe" * 100000
    connection = Connection(server)
    before = peak_memory_kib(server)
    connection.send(headers_frames(1, block), frame(DATA, END_STREAM, 1, message(QUESTION)))
    connection.wait_for_answer(1)
    assert connection.headers[1]["grpc-status"] == "8", connection.headers[1]
    grown = peak_memory_kib(server) - before
    assert grown < 4096, f"{grown} KiB more"
    assert is_answered(connection, 3)
    connection.close()


@test
def headers_that_never_end_end_their_connection(server):
    other = Connection(server)
    for piece in (b"", request_headers(), b"\0\x01x\x01y"):
        connection = Connection(server)
        connection.send(frame(HEADERS, 0, 1, request_headers()))
        sent = 0
        while sent < 10000 and connection.try_send(frame(CONTINUATION, 0, 1, piece) * 100):
            sent += 100
        assert connection.ended()
        connection.close()
    assert is_answered(other, 1)
    other.close()


@test
def streams_that_are_opened_and_reset_without_end_end_their_connection(server):
    other = Connection(server)
    connection = Connection(server)
    stream = 1
    for stream in range(1, 100001, 2):
        if not connection.try_send(frame(HEADERS, END_HEADERS, stream, request_headers()),
                                   frame(RST_STREAM, 0, stream, struct.pack(">I", 8))):
            break
    assert connection.ended()
    assert is_answered(other, 1)
    connection.close()
    other.close()


@test
def a_message_of_64_mib_is_taken_and_one_more_byte_is_not(server):
    connection = Connection(server)
    upload = METHOD.replace("ShouldInitiateUpload", "Upload")
    for stream, size in ((1, 64 << 20), (3, (64 << 20) + 1)):
        connection.send(frame(HEADERS, END_HEADERS, stream, request_headers(path=upload)),
                        frame(DATA, 0, stream, struct.pack(">BI", 0, size)))
    connection.wait_for_answer(3)
    assert connection.headers[3]["grpc-status"] == "8", connection.headers[3]
    connection.ping()
    assert 1 not in connection.headers, connection.headers[1]
    connection.close()


@test
def a_refusal_before_the_request_ended_sends_its_status_before_the_reset(server):
    connection = Connection(server)
    connection.send(frame(HEADERS, END_HEADERS, 1, request_headers(path="/nobody/Nothing")))
    found = connection.wait_for(RST_STREAM, 1)
    assert [got[0] for got in found] == [HEADERS, RST_STREAM], found
    assert found[0][1] & END_STREAM
    assert found[1][3] == struct.pack(">I", 0), "NO_ERROR"
    connection.send(frame(DATA, END_STREAM, 1, message(QUESTION)))
    assert is_answered(connection, 3)
    connection.close()


@test
def bytes_for_a_refused_stream_do_not_use_up_the_connections_window(server):
    connection = Connection(server)
    connection.send(frame(HEADERS, END_HEADERS, 1, request_headers(path="/nobody/Nothing")))
    connection.wait_for(RST_STREAM, 1)
    credit = 65535 + sum(int.from_bytes(got[3], "big") for got in connection.frames
                         if got[0] == WINDOW_UPDATE and got[2] == 0)
    sent = 0
    while sent < 20 << 20:
        while credit < 16384:
            got = connection.next_frame()
            if got[0] == WINDOW_UPDATE and got[2] == 0:
                credit += int.from_bytes(got[3], "big")
        connection.send(frame(DATA, 0, 1, bytes(16384)))
        sent += 16384
        credit -= 16384
    assert is_answered(connection, 3)
    connection.close()


@test
def a_request_that_ends_inside_a_message_is_refused(server):
    connection = Connection(server)
    for stream, data in ((1, b"\0\0"), (3, message(QUESTION)[:-1]), (5, b"")):
        connection.send(frame(HEADERS, END_HEADERS, stream, request_headers()),
                        frame(DATA, END_STREAM, stream, data))
        payloads = connection.wait_for_answer(stream)
        assert len(payloads) == 1, payloads
    assert is_answered(connection, 7)
    connection.close()


@test
def compressed_and_oversized_messages_are_refused_at_their_prefix(server):
    connection = Connection(server)
    for stream, data in ((1, message(QUESTION, 1)), (3, message(QUESTION, 0x80)),
                         (5, b"\0\xff\xff\xff\xff"), (7, b"\0\x00\x01\x00\x01")):
        connection.send(frame(HEADERS, END_HEADERS, stream, request_headers()),
                        frame(DATA, 0, stream, data))
        assert len(connection.wait_for_answer(stream)) == 1
        connection.wait_for(RST_STREAM, stream)
    assert is_answered(connection, 9)
    connection.close()


def peak_memory_kib(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


@test
def a_compressed_bomb_is_refused_without_holding_it(server):
    connection = Connection(server)
    upload = METHOD.replace("ShouldInitiateUpload", "Upload")
    size = 65 << 20
    bomb = message(gzip.compress(b"\x7a\x80\x80\xc0\x20" + bytes(size)), 1)
    before = peak_memory_kib(server)
    connection.send(frame(HEADERS, END_HEADERS, 1, request_headers(
        path=upload, extra=[("grpc-encoding", "gzip")])))
    connection.send(*(frame(DATA, 0, 1, bomb[start:start + 16384])
                      for start in range(0, len(bomb), 16384)))
    payloads = connection.wait_for_answer(1)
    assert len(payloads) == 1, payloads
    connection.wait_for(RST_STREAM, 1)
    grown = peak_memory_kib(server) - before
    assert grown < 8192, f"{grown} KiB more"
    assert is_answered(connection, 3)
    connection.close()


@test
def a_gzip_message_may_come_byte_by_byte_and_its_damage_is_told(server):
    connection = Connection(server)
    packed = gzip.compress(QUESTION)
    headers = request_headers(extra=[("grpc-encoding", "gzip")])
    connection.send(frame(HEADERS, END_HEADERS, 1, headers))
    data = message(packed, 1)
    connection.send(*(frame(DATA, 0, 1, data[i:i + 1]) for i in range(len(data))),
                    frame(DATA, END_STREAM, 1))
    payloads = connection.wait_for_answer(1)
    assert len(payloads) == 3 and b"First time we see" in payloads[1], payloads
    for stream, bad in ((3, packed[:-1]), (5, packed + b"x"), (7, b"nonsense"), (9, b"")):
        connection.send(frame(HEADERS, END_HEADERS, stream, headers),
                        frame(DATA, END_STREAM, stream, message(bad, 1)))
        assert len(connection.wait_for_answer(stream)) == 1, bad
    connection.send(frame(HEADERS, END_HEADERS, 11, headers),
                    frame(DATA, END_STREAM, 11, message(QUESTION)))
    assert len(connection.wait_for_answer(11)) == 3
    assert is_answered(connection, 13)
    connection.close()


@test
def malformed_and_expired_timeouts_are_refused(server):
    connection = Connection(server)
    for stream, timeout in ((1, "1x"), (3, "999999999S"), (5, "-1S"), (7, "")):
        assert len(connection.ask(stream, extra=[("grpc-timeout", timeout)])) == 1, timeout
    connection.send(frame(HEADERS, END_HEADERS, 9, request_headers(
        extra=[("grpc-timeout", "1n")])))
    assert len(connection.wait_for_answer(9)) == 1
    assert is_answered(connection, 11)
    connection.close()


@test
def a_reset_or_an_end_at_any_moment_harms_nobody(server):
    parts = [frame(HEADERS, END_HEADERS, 1, request_headers()), frame(DATA, 0, 1, b"\0\0\0"),
             frame(DATA, 0, 1, b"\0\x0a" + QUESTION), frame(DATA, END_STREAM, 1)]
    for count in range(len(parts) + 1):
        connection = Connection(server)
        connection.send(*parts[:count])
        if count > 0:
            connection.send(frame(RST_STREAM, 0, 1, struct.pack(">I", 8)))
            assert is_answered(connection, 3)
        connection.close()
        connection = Connection(server)
        connection.send(b"".join(parts[:count])[:-2])
        connection.close()
    connection = Connection(server)
    assert is_answered(connection, 1)
    connection.close()


@test
def what_is_no_http2_ends_its_connection_alone(server):
    good = Connection(server)
    assert is_answered(good, 1)
    for greeting in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01" + bytes(60),
                     PREFACE + frame(DATA, 0, 0, b"x"), PREFACE + frame(SETTINGS, 0, 0, b"123"),
                     PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 2, b""),
                     PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 1, b"\xff" * 9)):
        bad = Connection(server, greeting)
        assert bad.ended()
        bad.close()
    assert is_answered(good, 3)
    good.close()


@test
def more_streams_than_allowed_are_refused_and_the_others_served(server):
    connection = Connection(server)
    # The SETTINGS say how many; all stay open, since their requests do not end.
    limit = None
    while limit is None:
        got = connection.next_frame()
        if got[0] == SETTINGS and not got[1] & ACK:
            settings = dict(struct.iter_unpack(">HI", got[3]))
            limit = settings[3]
    assert limit >= 100, limit
    for number in range(limit + 1):
        connection.send(frame(HEADERS, END_HEADERS, 2 * number + 1, request_headers()))
    refused = connection.wait_for(RST_STREAM, 2 * limit + 1)
    assert refused[-1][3] == struct.pack(">I", 7), "REFUSED_STREAM"
    connection.send(frame(DATA, END_STREAM, 1, message(QUESTION)))
    assert b"First time" in connection.wait_for_answer(1)[1]
    connection.close()


def main():
    tap = Tap()
    with service.Service() as server:
        run_tests(tap, test, server)
        code = server.stop()
        tap.ok(code == 0, "the server ends in order", [f"status {code}", *server.output[-60:]])
    tap.finish()


main()
