#!/usr/bin/python3
"""Replays the fuzz targets of what reads gRPC and protobuf off the wire, over messages as clients
send them, and over damaged, cut and spliced ones."""
import gzip
import pathlib
import random
import struct
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/service")]
import http2_wire as wire
from fuzz_replay import replay
from tap import Tap

DICE_SEED = 7


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, wire, payload=b""):
    return varint(number << 3 | wire) + payload


def delimited(number, content):
    return field(number, 2, varint(len(content)) + content)


def nested(depth, number=1):
    content = b""
    for _ in range(depth):
        content = delimited(number, content)
    return content


INFO = delimited(1, b"abcdef0123456789") + delimited(2, b"upload") + field(3, 0, b"\x01")
UPLOADS = [
    delimited(1, INFO), delimited(2, b"chunk" * 100), delimited(2, b""), b"",
    delimited(1, bytes(4096)), delimited(1, bytes(4097)), delimited(1, INFO) + delimited(2, b"x"),
    delimited(3, b"unknown") + delimited(2, b"data") + field(4, 1, bytes(8)) + field(5, 5, bytes(4)),
    field(6, 3) + delimited(2, b"inside") + field(7, 3) + field(7, 4) + field(6, 4) +
    delimited(2, b"outside"), field(6, 3) * 17, field(1, 0, b"\x05") + delimited(2, b"y"),
    b"\x12" + b"\xff" * 9 + b"\x01", b"\x80" * 11, nested(2000),
]
CONTROLS = [
    delimited(1, b"abcdef01") + field(2, 0, varint(1 << 40)) + delimited(3, b"hash") +
    field(4, 0, b"\x01") + field(5, 0, b"\x02") + field(6, 0, b"\x01"),
    delimited(1, delimited(1, b"abcdef01") + delimited(2, b"upload") + field(3, 0, b"\x01")),
    delimited(1, b"a\0b"), INFO, delimited(1, INFO), nested(30), field(9, 0, b"\x00") * 5000,
    delimited(1, b"x") * 3, field(2, 0, b"\xff" * 9 + b"\x01"),
]


def framed(*messages):
    return b"".join(b"\0" + len(m).to_bytes(4, "big") + m for m in messages)


FRAMES = [framed(), framed(b""), framed(b"abc", b"", b"de"), framed(bytes(1000)),
          framed(bytes(1001)), b"\1\0\0\0\1x", b"\2", b"\1\0\0\0\0" + framed(b"abcdefgh"),
          framed(b"abc") + b"\0\0", b"\0\xff\xff\xff\xff"]


def gzipped(data, level=6):
    return gzip.compress(data, level, mtime=0)


def with_name(data):
    """A gzip header with an extra field, a name and a comment (RFC 1952, 2.3)."""
    body = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = body.compress(data) + body.flush()
    return (b"\x1f\x8b\x08\x1c" + bytes(6) + b"\x04\0abcdname\0comment\0" + packed +
            struct.pack("<II", zlib.crc32(data), len(data)))


NOISE = random.Random(5).randbytes(400)
PACKED = [gzipped(b""), gzipped(b"abc"), gzipped(bytes(1000)), gzipped(bytes(200000)),
          gzipped(NOISE), gzipped(NOISE, 0), gzipped(bytes(1 << 17)), with_name(b"abc" * 50),
          gzipped(b"one") + gzipped(b"two"), gzipped(b"abc") + b"\0", zlib.compress(b"abc"), b""]

TEXTS = [b"50% of \xc3\xbcmlauts", b"%", b"%4", b"%41%zz%00%0a", b"10m", b"99999999H", b"1n", b"0u",
         b"123456789S", b"application/grpc+proto;x", b"authorization:Bearer x", b"grpc-x:1",
         b"te:a", b"x-y.z_0:a b", b"x-bin:a", b"X:a", b"x:\x7f", b":a", b"\xff" * 200]


def call(stream, path, *data, extra=(), end=wire.END_STREAM):
    block = wire.request_headers(path=path, extra=extra)
    frames = [wire.frame(wire.HEADERS, wire.END_HEADERS, stream, block)]
    frames += [wire.frame(wire.DATA, end if number == len(data) - 1 else 0, stream, piece)
               for number, piece in enumerate(data)]
    return b"".join(frames)


LONG = wire.message(bytes(30000))
GZIP = [("grpc-encoding", "gzip")]
CONNECTIONS = [
    call(1, "/t.T/U", wire.message(b"abc")),
    call(1, "/t.T/U", wire.message(b"abc")) + call(3, "/t.T/S", wire.message(b"de")) +
    call(5, "/no.Such/M", wire.message(b"")),
    call(1, "/t.T/S", LONG[:16384], LONG[16384:], wire.message(b"x")),
    call(1, "/t.T/S", wire.message(gzipped(bytes(90000)), 1), extra=GZIP),
    call(1, "/t.T/S", wire.message(gzipped(bytes(100001)), 1), extra=GZIP),
    call(1, "/t.T/U", wire.message(gzipped(b"abc"), 1), extra=GZIP + [("grpc-timeout", "1S")]),
    call(1, "/t.T/S", wire.message(b"abc"), end=0) +
    wire.frame(wire.RST_STREAM, 0, 1, struct.pack(">I", 8)) + call(3, "/t.T/U", wire.message(b"")),
    call(1, "/t.T/U", extra=[("x", "y" * 9000), ("z", "y" * 9000)][:1]) +
    wire.frame(wire.PING, 0, 0, bytes(8)) * 5,
    wire.headers_frames(1, wire.request_headers(path="/t.T/U", extra=[("x", "y" * 20000)])),
    wire.frame(wire.HEADERS, 0, 1, wire.request_headers()) +
    wire.frame(wire.CONTINUATION, 0, 1) * 12,
    wire.frame(wire.WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7fffffff)) * 2,
    wire.frame(wire.SETTINGS, 0, 0, struct.pack(">HI", 4, 0)) +
    call(1, "/t.T/U", wire.message(b"abc")) +
    wire.frame(wire.WINDOW_UPDATE, 0, 1, struct.pack(">I", 3)),
    wire.frame(wire.GOAWAY, 0, 0, bytes(8)) + wire.frame(wire.DATA, 0, 7, b"x"),
    wire.frame(wire.SETTINGS, 0, 0, struct.pack(">HI", 5, 1 << 24)), b"",
]


def damaged(seeds, dice, count):
    """The seeds, their beginnings, and mixtures with some bytes changed."""
    yield from seeds
    for seed in seeds:
        for end in range(0, min(len(seed), 40)):
            yield seed[:end]
    for _ in range(count):
        data = bytearray(dice.choice(seeds)[:600])
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(data) + 1)
            kind = dice.randrange(4)
            if kind == 0 and at < len(data):
                data[at] = dice.randrange(256)
            elif kind == 1:
                data[at:at] = dice.choice(seeds)[:dice.randint(1, 60)]
            elif kind == 2:
                del data[at:at + dice.randint(1, 8)]
            else:
                data[at:at] = dice.choice((b"\x80", b"\xff", b"\0", b"\x12", b"\x0a", b"\x0b"))
        yield bytes(data)


def check(target, seeds, name, choices=1, count=1000):
    """Each input begins with as many bytes by which the target chooses what it does."""
    dice = random.Random(DICE_SEED)
    good, said = replay(target, (dice.randbytes(choices) + data
                                 for data in damaged(seeds, dice, count)))
    tap.ok(good, name, said)


tap = Tap()
check("fuzz_upload_request", UPLOADS, "an upload request is the same however it is split")
check("fuzz_message_check", CONTROLS, "checked messages are safe to unpack")
check("fuzz_grpc_frames", FRAMES, "gRPC framing is the same however it is split")
check("fuzz_grpc_inflate", PACKED, "a gzip message inflates as zlib has it, however it is split", 2)
check("fuzz_grpc_text", TEXTS, "texts of gRPC's headers are read in bounds and come back", 0, 3000)
check("fuzz_grpc_server", CONNECTIONS, "a connection leaves nothing behind, whatever it sends")
tap.finish()
