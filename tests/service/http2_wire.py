"""HTTP/2 by hand (RFC 9113): frames to the bytes of a connection and back, with nothing that a
library would do by itself. Answers' headers are decoded by nghttp2's HPACK.
"""
import ctypes
import socket
import struct

import service

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    0, 1, 3, 4, 6, 7, 8, 9)
END_STREAM, END_HEADERS, PADDED, ACK = 1, 4, 8, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
METHOD = "/parca.debuginfo.v1alpha1.DebuginfoService/ShouldInitiateUpload"
QUESTION = b"\x0a\x08abcdef01"  # ShouldInitiateUploadRequest{build_id: "abcdef01"}


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(
        ">I", stream) + payload


def header_block(headers):
    """HPACK literals without indexing or Huffman coding (RFC 7541, 6.2.2)."""
    def text(value):
        data = value.encode()
        if len(data) < 127:
            return bytes([len(data)]) + data
        rest, size = len(data) - 127, b"\x7f"
        while rest >= 128:
            size += bytes([rest % 128 + 128])
            rest //= 128
        return size + bytes([rest]) + data
    return b"".join(b"\0" + text(name) + text(value) for name, value in headers)


def request_headers(path=METHOD, method="POST", content_type="application/grpc", extra=()):
    return header_block([(":method", method), (":scheme", "http"), (":path", path),
                         (":authority", "test"), ("content-type", content_type),
                         ("te", "trailers"), *extra])


def headers_frames(stream, block):
    """HEADERS, and CONTINUATION for what is over the frame size."""
    pieces = [block[start:start + 16384] for start in range(0, len(block), 16384)]
    return b"".join(frame(CONTINUATION if number else HEADERS,
                          END_HEADERS if number == len(pieces) - 1 else 0, stream, piece)
                    for number, piece in enumerate(pieces))


def message(data, flags=0):
    return bytes([flags]) + struct.pack(">I", len(data)) + data


class NameValue(ctypes.Structure):
    _fields_ = [("name", ctypes.POINTER(ctypes.c_char)), ("value", ctypes.POINTER(ctypes.c_char)),
                ("name_size", ctypes.c_size_t), ("value_size", ctypes.c_size_t),
                ("flags", ctypes.c_uint8)]


class HeaderDecoder:
    """One direction of a connection."""
    FINAL, EMIT = 1, 2

    def __init__(self):
        self.library = ctypes.CDLL("libnghttp2.so.14")
        self.library.nghttp2_hd_inflate_hd2.restype = ctypes.c_ssize_t
        self.library.nghttp2_hd_inflate_hd2.argtypes = [
            ctypes.c_void_p, ctypes.POINTER(NameValue), ctypes.POINTER(ctypes.c_int),
            ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
        self.inflater = ctypes.c_void_p()
        self.library.nghttp2_hd_inflate_new(ctypes.byref(self.inflater))

    def decode(self, block):
        headers = {}
        pair, flags = NameValue(), ctypes.c_int(0)
        while not flags.value & self.FINAL:
            used = self.library.nghttp2_hd_inflate_hd2(
                self.inflater, ctypes.byref(pair), ctypes.byref(flags), block, len(block), 1)
            if used < 0:
                raise ValueError(f"no header block: {used}")
            block = block[used:]
            if flags.value & self.EMIT:
                headers[pair.name[:pair.name_size].decode()] = pair.value[:pair.value_size].decode()
        self.library.nghttp2_hd_inflate_end_headers(self.inflater)
        return headers

    def close(self):
        self.library.nghttp2_hd_inflate_del(self.inflater)


class Connection:
    def __init__(self, server, greeting=PREFACE + frame(SETTINGS, 0, 0)):
        self.decoder = HeaderDecoder()
        self.headers = {}  # by stream: of the last block
        self.socket = socket.create_connection(("127.0.0.1", server.ports["grpc"]),
                                               timeout=service.PATIENCE_S)
        self.buffer = b""
        self.frames = []
        self.send(greeting)

    def send(self, *frames):
        self.socket.sendall(b"".join(frames))

    def try_send(self, *frames):
        """False once the server has ended the connection."""
        try:
            self.send(*frames)
        except ConnectionError:
            return False
        return True

    def next_frame(self):
        """(kind, flags, stream, payload), or None at the end of the connection."""
        while True:
            if len(self.buffer) >= 9:
                size = int.from_bytes(self.buffer[:3], "big")
                if len(self.buffer) >= 9 + size:
                    kind, flags = self.buffer[3], self.buffer[4]
                    stream = int.from_bytes(self.buffer[5:9], "big")
                    payload = self.buffer[9:9 + size]
                    self.buffer = self.buffer[9 + size:]
                    self.frames.append((kind, flags, stream, payload))
                    if kind == HEADERS:
                        self.headers[stream] = self.decoder.decode(payload)
                    return self.frames[-1]
            try:
                data = self.socket.recv(65536)
            except ConnectionError:
                data = b""
            if not data:
                return None
            self.buffer += data

    def wait_for(self, kind, stream):
        """The frames of the stream up to the first of that kind."""
        found = []
        while True:
            got = self.next_frame()
            if got is None:
                raise EOFError(f"connection ended; frames: {self.frames}")
            if got[2] == stream and got[0] in (DATA, HEADERS, RST_STREAM):
                found.append(got)
            if got[0] == kind and got[2] == stream:
                return found

    def wait_for_answer(self, stream):
        """All payloads of the stream's answer, up to END_STREAM."""
        payloads = []
        while True:
            got = self.next_frame()
            if got is None:
                raise EOFError(f"connection ended; frames: {self.frames}")
            if got[2] == stream and got[0] in (DATA, HEADERS):
                payloads.append(got[3])
                if got[1] & END_STREAM:
                    return payloads
            if got[2] == stream and got[0] == RST_STREAM:
                raise EOFError("the stream was reset")

    def ping(self):
        """Returns once the server has seen all that was sent."""
        self.send(frame(PING, 0, 0, b"question"))
        while True:
            got = self.next_frame()
            if got is None:
                raise EOFError(f"connection ended; frames: {self.frames}")
            if got[:2] == (PING, ACK):
                return

    def goaway(self):
        """The error code and text of the GOAWAY that the connection ends with, or None."""
        self.ended()
        last = [got[3] for got in self.frames if got[0] == GOAWAY]
        return (int.from_bytes(last[-1][4:8], "big"), last[-1][8:]) if last else None

    def ended(self):
        while self.next_frame() is not None:
            pass
        return True

    def ask(self, stream, **options):
        self.send(headers_frames(stream, request_headers(**options)),
                  frame(DATA, END_STREAM, stream, message(QUESTION)))
        return self.wait_for_answer(stream)

    def close(self):
        self.decoder.close()
        self.socket.close()
