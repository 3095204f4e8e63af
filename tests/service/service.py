"""What the service tests share: a real symbolizerd on free ports with a data directory of its own,
its log as events to wait on, gRPC stubs from the repository's own proto files, an HTTP client, and
sample binaries with known names.

    with service.Service() as server:
        stub = server.debuginfo()
        answer = stub.ShouldInitiateUpload(server.messages.ShouldInitiateUploadRequest(build_id=…))
        status, headers, body = server.http("GET", "/healthz")
"""
import errno
import hashlib
import http.client
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # before grpc is loaded: its log is not ours

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
PATIENCE_S = 60  # how long a test waits for something that must happen

sys.path.insert(0, os.path.join(ROOT, "tests/support"))
from tap import Tap, skip_all  # noqa: E402,F401  (for the tests)


# --- waiting ---------------------------------------------------------------------------------------

def wait_until(condition, what):
    """Returns the condition's first true value; raises when it stays false."""
    end = time.monotonic() + PATIENCE_S
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"still waiting for {what} after {PATIENCE_S} s")
        time.sleep(0.01)


FIELD = re.compile(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))')


def parse_logfmt(line):
    return {key: re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
            for key, quoted, plain in FIELD.findall(line)}


# --- sample binaries -------------------------------------------------------------------------------

SAMPLE = """
int sample_leaf(int x) { return x * 3 + SALT; }
int main(int argc, char **argv) { (void)argv; return sample_leaf(argc); }
"""


def compile_sample(directory, name="sample", salt=1, flags=("-g", "-O1"), source=SAMPLE):
    """A C program with a GNU build ID; another salt makes another program and another ID."""
    path = os.path.join(directory, name)
    subprocess.run(["gcc", "-Wl,--build-id=sha1", *flags, f"-DSALT={salt}", "-x", "c", "-o", path,
                    "-"], input=source.encode(), check=True)
    return path


def gnu_build_id(path):
    notes = subprocess.run(["readelf", "-nW", path], check=True, capture_output=True, text=True)
    match = re.search(r"Build ID: ([0-9a-f]+)", notes.stdout)
    return match.group(1) if match else None


def symbol_address(path, name):
    symbols = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    return int(re.search(rf"^([0-9a-f]+) \w {re.escape(name)}$", symbols, re.M).group(1), 16)


def htlhash(path):
    """OpenTelemetry's process.executable.build_id.htlhash, which agents call FileID."""
    data = read_bytes(path)
    whole = data[:4096] + data[-4096:] + struct.pack(">Q", len(data))
    return hashlib.sha256(whole).hexdigest()[:32]


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


# --- workers ---------------------------------------------------------------------------------------

def stand_in_worker(directory, before, name="worker"):
    """A program that runs this line of shell, where $1 is the operation, and then is the real
    worker."""
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\n{before}\nexec "{os.path.join(BUILD, "symbolizer-worker")}" "$@"\n')
    os.chmod(path, 0o755)
    return path


class Gate:
    """Builds by its worker wait at it; each opening lets one go on."""

    def __init__(self, directory, name="gate"):
        self.path = os.path.join(directory, name)
        os.mkfifo(self.path)
        self.worker = stand_in_worker(directory, f'[ "$1" = build ] && : >"{self.path}-reached" &&'
                                      f' read line <"{self.path}"',
                                      f"worker-at-{name}")

    def open(self):
        """Waits for a worker that stands at the gate."""
        def reached():
            try:
                return os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                return None
        with os.fdopen(wait_until(reached, "a worker at the gate"), "w", encoding="utf-8") as file:
            file.write("go\n")

    def wait(self):
        """Until a worker stands at the gate."""
        wait_until(lambda: os.path.exists(self.path + "-reached"), "a worker at the gate")


# --- gRPC ------------------------------------------------------------------------------------------

_stubs = {}


def grpc_modules(proto="debuginfo"):
    """(messages, services): the generated modules of rpc/proto/<proto>.proto."""
    if proto not in _stubs:
        from grpc_tools import protoc
        directory = tempfile.mkdtemp(prefix="symbolizer-stubs-")
        sys.path.insert(0, directory)
        try:
            source = os.path.join(ROOT, "rpc/proto")
            if protoc.main(["protoc", f"-I{source}", f"--python_out={directory}",
                            f"--grpc_python_out={directory}", f"{source}/{proto}.proto"]) != 0:
                raise RuntimeError(f"cannot generate stubs of {proto}.proto")
            _stubs[proto] = (__import__(f"{proto}_pb2"), __import__(f"{proto}_pb2_grpc"))
        finally:
            sys.path.remove(directory)
            shutil.rmtree(directory)
    return _stubs[proto]


class Trust:
    """Whom a client trusts, and the pair of files (certificates.Pair) that it shows, if any."""

    def __init__(self, authority, pair=None):
        self.authority = authority
        self.pair = pair

    def context(self):
        import ssl
        context = ssl.create_default_context(cafile=self.authority)
        if self.pair:
            context.load_cert_chain(*self.pair)
        return context

    def grpc(self):
        import grpc
        certificate, key = map(read_bytes, self.pair) if self.pair else (None, None)
        return grpc.ssl_channel_credentials(read_bytes(self.authority), key, certificate)


def grpc_channel(port, trust=None):
    """A connection of its own: without the option, channels of a process share one."""
    import grpc
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0),
               ("grpc.max_send_message_length", 64 << 20),
               ("grpc.max_receive_message_length", 64 << 20)]
    address = f"127.0.0.1:{port}"
    return (grpc.secure_channel(address, trust.grpc(), options) if trust else
            grpc.insecure_channel(address, options))


# --- the server ------------------------------------------------------------------------------------

class Service:
    """A symbolizerd process. `faults` runs the build that has fault points; `environment` is added
    to its environment; `arguments` to its command line. With `trust`, it is spoken to over TLS. The
    data directory is kept across restart() and removed at the end."""

    def __init__(self, arguments=(), environment=None, faults=False, log_level="debug",
                 trust=None):
        self.trust = trust
        self.program = os.path.join(BUILD, *(["faults"] if faults else []), "symbolizerd")
        self.directory = tempfile.mkdtemp(prefix="symbolizer-test-")
        self.data_directory = os.path.join(self.directory, "data")
        self.arguments = [*arguments, *(["--log-level", log_level] if log_level else [])]
        self.environment = environment or {}
        self.channels = []
        self.process = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self):
        self.events = []
        self.output = []
        self.changed = threading.Condition()
        words = [self.program, "--data-dir", self.data_directory, "--http-listen", "127.0.0.1:0",
                 "--grpc-listen", "127.0.0.1:0", *self.arguments]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        env={**os.environ, **self.environment}, text=True,
                                        errors="backslashreplace")
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        self.wait_for_event("ready")
        self.ports = {event["protocol"]: int(event["port"]) for event in self.events_of("listening")}

    def _read_log(self):
        for line in self.process.stderr:
            with self.changed:
                self.output.append(line.rstrip("\n"))
                self.events.append(parse_logfmt(line))
                self.changed.notify_all()
        with self.changed:
            self.events.append({"event": "log_ended"})
            self.changed.notify_all()

    def events_of(self, name, **fields):
        """The events of that name whose fields have these values."""
        wanted = {"event": name, **{key: str(value) for key, value in fields.items()}}
        return [event for event in list(self.events)
                if all(event.get(key) == value for key, value in wanted.items())]

    def wait_for_event(self, name, count=1, **fields):
        """Waits for the count-th such event since the start, and returns it."""
        def has_ended():
            return any(event.get("event") == "log_ended" for event in self.events)
        with self.changed:
            self.changed.wait_for(lambda: len(self.events_of(name, **fields)) >= count or
                                  has_ended(), PATIENCE_S)
            found = self.events_of(name, **fields)
        if len(found) < count:
            raise RuntimeError(f"no event={name} {fields} in the log:\n" + "\n".join(self.output))
        return found[count - 1]

    def debuginfo(self):
        """A stub of DebuginfoService on a connection of its own."""
        return grpc_modules()[1].DebuginfoServiceStub(self.channel())

    @property
    def messages(self):
        return grpc_modules()[0]

    def channel(self):
        """Connected when it returns. grpcio 1.51 sometimes takes a stale errno for a failed
        connect and fails the first call (UNAVAILABLE, "No such file or directory"); waiting for
        the connection tries again. RuntimeError when the server dies first."""
        import grpc
        channel = grpc_channel(self.ports["grpc"], self.trust)
        self.channels.append(channel)
        ready = grpc.channel_ready_future(channel)
        process = self.process
        wait_until(lambda: ready.done() or process.poll() is not None, "a gRPC connection")
        if not ready.done():
            ready.cancel()
            raise RuntimeError("the server died before it was connected to")
        return channel

    def http(self, method, path, body=None, headers=None):
        """(status, {lower-case name: value}, body bytes)."""
        address = ("127.0.0.1", self.ports["http"])
        connection = (http.client.HTTPSConnection(*address, timeout=PATIENCE_S,
                                                  context=self.trust.context()) if self.trust else
                      http.client.HTTPConnection(*address, timeout=PATIENCE_S))
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return response.status, names, response.read()
        finally:
            connection.close()

    def upload(self, path, build_id=None, build_id_type=1, kind=0, piece_size=1 << 20):
        """The agents' whole sequence for one file. Returns the UploadResponse."""
        stub, messages, data = self.debuginfo(), self.messages, read_bytes(path)
        build_id = build_id or gnu_build_id(path)
        stub.ShouldInitiateUpload(messages.ShouldInitiateUploadRequest(
            build_id=build_id, build_id_type=build_id_type, type=kind))
        instructions = stub.InitiateUpload(messages.InitiateUploadRequest(
            build_id=build_id, build_id_type=build_id_type, type=kind, hash=htlhash(path),
            size=len(data))).upload_instructions
        response = stub.Upload(upload_requests(messages, instructions, data, piece_size))
        stub.MarkUploadFinished(messages.MarkUploadFinishedRequest(
            build_id=build_id, upload_id=instructions.upload_id, type=kind))
        return response

    def _end(self, number):
        for channel in self.channels:
            channel.close()
        self.channels = []
        if self.process:
            if self.process.poll() is None:
                self.process.send_signal(number)
            self.process.wait(PATIENCE_S)
            self.reader.join(PATIENCE_S)
            self.process.stderr.close()
            self.code = self.process.returncode
            self.process = None
        return self.code

    def stop(self):
        """SIGTERM; returns the exit status."""
        return self._end(signal.SIGTERM)

    def kill(self):
        return self._end(signal.SIGKILL)

    def restart(self):
        self.stop()
        self.start()

    def close(self):
        if self.process:
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.stop()
        self.close()


def upload_requests(messages, instructions, data, piece_size=8 << 20):
    """What an agent streams: the info, then the bytes in pieces of at most 8 MiB."""
    yield messages.UploadRequest(info=messages.UploadInfo(
        upload_id=instructions.upload_id, build_id=instructions.build_id, type=instructions.type))
    for start in range(0, len(data), piece_size):
        yield messages.UploadRequest(chunk_data=data[start:start + piece_size])
