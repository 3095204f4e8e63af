#!/usr/bin/python3
"""Replays the fuzz targets of what reads gRPC and protobuf off the wire, over messages as clients
send them, and over damaged, cut and spliced ones."""
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
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
          framed(bytes(1001)), b"\1\0\0\0\1x", b"\2", framed(b"abc") + b"\0\0", b"\0\xff\xff\xff\xff"]


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


def check(target, seeds, name):
    dice = random.Random(DICE_SEED)
    good, said = replay(target, (bytes([dice.randrange(256)]) + data
                                 for data in damaged(seeds, dice, 1000)))
    tap.ok(good, name, said)


tap = Tap()
check("fuzz_upload_request", UPLOADS, "an upload request is the same however it is split")
check("fuzz_message_check", CONTROLS, "checked messages are safe to unpack")
check("fuzz_grpc_frames", FRAMES, "gRPC framing is the same however it is split")
tap.finish()
