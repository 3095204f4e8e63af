"""A DebuginfoService that is not ours, on grpcio: it keeps what it is told and answers as the test
wants. With `signed` it hands out URLs of its own HTTP listener instead of taking uploads itself.

    with fake_debuginfo.Fake(failures={"Upload": [grpc.StatusCode.UNAVAILABLE]}) as fake:
        run("--server", fake.url, …)
        fake.objects  # {build id: bytes}
"""
import http.server
import threading
from concurrent import futures

import service

METHODS = ("ShouldInitiateUpload", "InitiateUpload", "Upload", "MarkUploadFinished")


class Fake:
    """`failures`: method (or "PUT") -> statuses that its first calls answer. `reason`: what
    ShouldInitiateUpload says instead of yes."""

    def __init__(self, failures=None, reason=None, signed=False):
        import grpc
        self.failures = {name: list(codes) for name, codes in (failures or {}).items()}
        self.reason = reason
        self.messages, services = service.grpc_modules()
        self.calls, self.metadata, self.requests, self.objects = [], [], [], {}
        self.lock = threading.Lock()
        self.server = grpc.server(futures.ThreadPoolExecutor(8))
        services.add_DebuginfoServiceServicer_to_server(self, self.server)
        self.url = f"http://127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.puts = PutListener(self) if signed else None

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *exception):
        self.server.stop(None)
        if self.puts:
            self.puts.close()

    def next_failure(self, name):
        with self.lock:
            self.calls.append(name)
            left = self.failures.get(name)
            return left.pop(0) if left else None

    def begin(self, name, request, context):
        self.metadata.append(dict(context.invocation_metadata()))
        self.requests.append(request)
        failure = self.next_failure(name)
        if failure:
            context.abort(failure, f"{name} is not for now")

    def ShouldInitiateUpload(self, request, context):
        self.begin("ShouldInitiateUpload", request, context)
        return self.messages.ShouldInitiateUploadResponse(
            should_initiate_upload=self.reason is None, reason=self.reason or "please")

    def InitiateUpload(self, request, context):
        self.begin("InitiateUpload", request, context)
        strategy = 2 if self.puts else 1
        url = self.puts.url(request.build_id) if self.puts else ""
        return self.messages.InitiateUploadResponse(
            upload_instructions=self.messages.UploadInstructions(
                build_id=request.build_id, upload_id="the upload", upload_strategy=strategy,
                signed_url=url, type=request.type))

    def Upload(self, requests, context):
        info = next(requests).info
        self.begin("Upload", info, context)
        data = b"".join(request.chunk_data for request in requests)
        self.objects[info.build_id] = data
        return self.messages.UploadResponse(build_id=info.build_id, size=len(data))

    def MarkUploadFinished(self, request, context):
        self.begin("MarkUploadFinished", request, context)
        return self.messages.MarkUploadFinishedResponse()


class PutListener:
    """Takes PUTs at /<build id>?token and keeps the headers of each."""

    def __init__(self, fake):
        self.headers = []
        listener = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self):
                listener.headers.append({name.lower(): value
                                         for name, value in self.headers.items()})
                data = self.rfile.read(int(self.headers["Content-Length"]))
                code = fake.next_failure("PUT") or 200
                if code == 200:
                    fake.objects[self.path[1:].partition("?")[0]] = data
                body = b"" if code == 200 else b"not now"
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def url(self, build_id):
        return f"http://127.0.0.1:{self.server.server_port}/{build_id}?token=t"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
