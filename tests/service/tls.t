#!/usr/bin/python3
"""TLS on both listeners: who gets in and who is told why not, new certificates while uploads go on,
client certificates, and `symbolize` over https."""
import json
import os
import re
import shutil
import signal
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from certificates import Authority
from service import PATIENCE_S, Tap, Trust, wait_until
from uploads import check, check_equal, check_refused, run_tests

import grpc

SERVER = os.path.join(service.BUILD, "symbolizerd")
SYMBOLIZE = os.path.join(service.BUILD, "symbolize")
SILENT_COUNT = 100
NAMES = ("grpc", "http")


class Site:
    """A folder with an authority, the server's certificate, and programs to upload."""

    def __init__(self, directory):
        self.directory = directory
        self.authority = Authority(directory)
        self.stranger = Authority(directory, "stranger")
        self.pair = self.authority.issue_server()
        self.trust = Trust(self.authority.path)
        self.salt = 0

    def arguments(self, *more):
        return ["--tls-certificate", self.pair.certificate, "--tls-key", self.pair.key, *more]

    def file(self, extra=0):
        """A program that no test has uploaded yet, with so many bytes behind it."""
        self.salt += 1
        path = service.compile_sample(self.directory, f"program-{self.salt}", salt=self.salt)
        with open(path, "ab") as file:
            file.write(os.urandom(extra))
        return path

    def issue_stranger(self):
        """A client that an authority signed whom the server does not know."""
        return self.stranger.issue("unknown-agent", "client")


# --- looking at it from outside ----------------------------------------------------------------------

def connect(server, name, context, protocols=None):
    """A TLS connection to that listener."""
    if protocols is None:
        protocols = ["h2"] if name == "grpc" else ["http/1.1"]
    if protocols:
        context.set_alpn_protocols(protocols)
    raw = socket.create_connection(("127.0.0.1", server.ports[name]), timeout=PATIENCE_S)
    try:
        return context.wrap_socket(raw, server_hostname="localhost")
    except BaseException:
        raw.close()
        raise


def serial(server, name, trust):
    """The number of the certificate that the listener shows."""
    with connect(server, name, trust.context()) as connection:
        return connection.getpeercert()["serialNumber"]


def alert(server, name, context, protocols=None):
    """What OpenSSL makes of the alert; with TLS 1.3 it may come after the handshake."""
    try:
        with connect(server, name, context, protocols) as connection:
            if name == "http":
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            while connection.recv(65536):
                continue
            return "the end"
    except ssl.SSLError as error:
        return str(error)


def reload(server, event="reloaded"):
    count = len(server.events_of(event)) + 1
    server.process.send_signal(signal.SIGHUP)
    return server.wait_for_event(event, count=count)


def resolve(server, path):
    """The function at an address of the uploaded file."""
    question = {"modules": [{"build_id": service.gnu_build_id(path),
                             "addresses": [hex(service.symbol_address(path, "sample_leaf"))]}],
                "options": {"wait_ms": 30000}}
    status, _, body = server.http("POST", "/v1/symbolize", json.dumps(question),
                                  {"Content-Type": "application/json"})
    check_equal(status, 200)
    module = json.loads(body)["modules"][0]
    return module["frames"][0][0]["function"] if module["frames"] else module["status"]


def whole_round(server, path):
    server.upload(path)
    check_equal(resolve(server, path), "sample_leaf")


# --- without client certificates ---------------------------------------------------------------------

def an_upload_and_a_question_go_over_tls(server, site):
    whole_round(server, site.file(9 << 20))
    check_equal({event["tls"] for event in server.events_of("listening")}, {"1.3"})


def large_files_go_both_ways_over_https(server, site):
    path = site.file(20 << 20)
    data = service.read_bytes(path)
    status, _, body = server.http("PUT", "/v1/debuginfo", data)
    check(status in (200, 201), status, body)
    status, _, body = server.http("GET", f"/v1/debuginfo/{service.gnu_build_id(path)}/file")
    check(status == 200 and body == data, status, len(body))


def many_questions_at_once_over_https(server, site):
    failures = []

    def ask():
        for _ in range(10):
            if server.http("GET", "/v1/debuginfo")[0] != 200:
                failures.append("a bad status")
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    check(not failures and not any(thread.is_alive() for thread in threads), failures)


def a_client_that_trusts_another_authority_does_not_connect(server, site):
    for name in NAMES:
        said = alert(server, name, Trust(site.stranger.path).context())
        check("CERTIFICATE_VERIFY_FAILED" in said, said)
    server.wait_for_event("tls_refused", protocol="grpc", level="info")


def a_client_of_tls_1_2_is_refused_by_an_alert_and_logged(server, site):
    context = site.trust.context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    for name in NAMES:
        said = alert(server, name, context)
        check("protocol version" in said, name, said)
        server.wait_for_event("tls_refused", protocol=name,
                              reason="the client speaks TLS1.2; want TLS 1.3")


def a_grpc_client_without_h2_is_refused_by_an_alert_and_logged(server, site):
    for protocols in ([], ["http/1.1"]):
        said = alert(server, "grpc", site.trust.context(), protocols)
        check("no application protocol" in said, protocols, said)
    server.wait_for_event("tls_refused", 2, protocol="grpc",
                          reason="the client offers no h2 (ALPN)")


def plain_text_is_refused_and_nobody_else_notices(server, site):
    for name, greeting in (("grpc", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(65536)),
                           ("http", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")):
        with socket.create_connection(("127.0.0.1", server.ports[name]),
                                      timeout=PATIENCE_S) as connection:
            connection.sendall(greeting)
            data = b""
            try:
                while more := connection.recv(65536):
                    data += more
            except ConnectionResetError:
                check(name == "http", "the alert was lost")
            check(b"HTTP" not in data, name, data)
            check(name == "http" or data[:1] == b"\x15", "no alert:", data)
    server.wait_for_event("tls_refused", protocol="grpc", reason="the peer does not speak TLS 1.3: "
                          "An unexpected TLS packet was received.")
    check_equal(server.http("GET", "/healthz")[0], 200)


# --- new certificates --------------------------------------------------------------------------------

class OpenUpload:
    """An upload that stops in the middle until it is told to go on."""

    def __init__(self, server, path):
        self.stub, self.messages = server.debuginfo(), server.messages
        self.build_id, self.data = service.gnu_build_id(path), service.read_bytes(path)
        self.instructions = self.stub.InitiateUpload(self.messages.InitiateUploadRequest(
            build_id=self.build_id, build_id_type=1, hash="h",
            size=len(self.data))).upload_instructions
        self.may_go_on = threading.Event()
        self.answer = self.stub.Upload.future(self.requests())

    def requests(self):
        for number, request in enumerate(service.upload_requests(
                self.messages, self.instructions, self.data, len(self.data) // 2 + 1)):
            if number == 2:
                self.may_go_on.wait(PATIENCE_S)
            yield request

    def finish(self):
        self.may_go_on.set()
        check_equal(self.answer.result(timeout=PATIENCE_S).size, len(self.data))
        self.stub.MarkUploadFinished(self.messages.MarkUploadFinishedRequest(
            build_id=self.build_id, upload_id=self.instructions.upload_id))


def streams_open(server):
    return int(metrics(server)["symbolizer_upload_streams_open"])


def new_certificates_are_taken_while_an_upload_goes_on_over_the_old(server, site):
    path = site.file(2 << 20)
    before = [serial(server, name, site.trust) for name in NAMES]
    upload = OpenUpload(server, path)
    wait_until(lambda: streams_open(server) == 1, "the upload to begin")
    site.pair = site.authority.issue_server()
    check_equal([serial(server, name, site.trust) for name in NAMES], before)
    reload(server)
    after = [serial(server, name, site.trust) for name in NAMES]
    check(after[0] == after[1] != before[0], before, after)
    upload.finish()
    check_equal(resolve(server, path), "sample_leaf")


def metrics(server):
    text = server.http("GET", "/metrics")[2].decode()
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def metrics_tell_who_was_refused_and_when_the_certificate_ends(server, site):
    names = [f'symbolizer_tls_refused_total{{listener="{name}"}}' for name in NAMES]
    before = metrics(server)
    old = site.trust.context()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    for name in NAMES:
        alert(server, name, old)
    # Those of earlier tests may be counted only now, too.
    wait_until(lambda: all(int(metrics(server)[name]) > int(before[name]) for name in names),
               "the refusals to be counted")
    with connect(server, "http", site.trust.context()) as connection:
        ends = ssl.cert_time_to_seconds(connection.getpeercert()["notAfter"])
    check_equal(int(before["symbolizer_tls_certificate_not_after_seconds"]), ends)


def a_broken_new_certificate_leaves_the_old_in_use(server, site):
    before = [serial(server, name, site.trust) for name in NAMES]
    other = site.authority.issue_server("other")
    good = {path: service.read_bytes(path) for path in site.pair}
    for path, content, says in (
            (site.pair.certificate, b"no PEM", "server.pem: no certificate in PEM"),
            (site.pair.key, service.read_bytes(other.key), "server.key is not the key of"),
            (site.pair.key, None, "server.key: No such file or directory")):
        count = len(server.events_of("reload_failed"))
        if content is None:
            os.remove(path)
        else:
            with open(path, "wb") as file:
                file.write(content)
        failed = reload(server, "reload_failed")
        check(says in failed["error"] and failed["level"] == "error", failed)
        check_equal([serial(server, name, site.trust) for name in NAMES], before)
        check_equal(len(server.events_of("reload_failed")), count + 1)
        with open(path, "wb") as file:
            file.write(good[path])
    reload(server)
    check_equal([serial(server, name, site.trust) for name in NAMES], before)


# --- with client certificates ------------------------------------------------------------------------

def a_client_with_a_certificate_uploads_and_asks_under_its_name(server, site):
    whole_round(server, site.file(1 << 20))
    name = "spiffe://test/agent"
    server.wait_for_event("http_request", path="/v1/symbolize", client=name)
    server.wait_for_event("rpc", method="Upload", client=name)


def a_client_without_a_good_certificate_is_refused_on_both_listeners(server, site):
    shut_out = {
        "the client shows no certificate": None,
        "issuer is unknown": site.issue_stranger(),
        "intended purpose": site.authority.issue_server("other"),
        "expired": site.authority.issue("late", "client", days=(-9, -3)),
    }
    for reason, pair in shut_out.items():
        trust = Trust(site.authority.path, pair)
        for name in NAMES:
            count = len(server.events_of("tls_refused", protocol=name))
            try:
                said = alert(server, name, trust.context())
                check("alert" in said, name, reason, said)
            except OSError:  # libmicrohttpd may have closed before the alert was read
                check(name == "http", "the alert was lost")
            refused = server.wait_for_event("tls_refused", count + 1, protocol=name)
            check(reason in refused["reason"] and refused["peer"].startswith("127.0.0.1:"), refused)


def a_grpc_library_without_a_certificate_gets_no_answer(server, site):
    channel = service.grpc_channel(server.ports["grpc"], Trust(site.authority.path))
    stub = service.grpc_modules()[1].DebuginfoServiceStub(channel)
    check_refused(grpc.StatusCode.UNAVAILABLE, stub.ShouldInitiateUpload,
                  server.messages.ShouldInitiateUploadRequest(build_id="abcd"))
    channel.close()


def other_authorities_for_clients_are_taken_too(server, site):
    def health(trust):
        server.trust = trust
        return server.http("GET", "/healthz")[0]
    known, unknown = server.trust, Trust(site.authority.path, site.issue_stranger())
    try:
        shutil.copy(site.stranger.path, site.client_ca)
        reload(server)
        said = alert(server, "grpc", known.context())
        check("unknown ca" in said, said)
        check_equal(health(unknown), 200)
    finally:
        shutil.copy(site.authority.path, site.client_ca)
        reload(server)
    check_equal(health(known), 200)


# --- symbolize over https ----------------------------------------------------------------------------

def run(*words):
    return subprocess.run([SYMBOLIZE, *words], capture_output=True, text=True, timeout=PATIENCE_S)


def urls(server, host="localhost"):
    return [f"https://{host}:{server.ports[name]}" for name in NAMES]


def check_run(words, code, *says):
    done = run(*words)
    text = done.stdout + done.stderr
    check(done.returncode == code and all(word in text for word in says),
          f"status {done.returncode}, want {code}:", text)


def symbolize_uploads_queries_and_lists_over_https(server, site, *options):
    path = site.file(3 << 20)
    build_id = service.gnu_build_id(path)
    for number, host in enumerate(("localhost", "127.0.0.1")):
        rpc, api = urls(server, host)
        access = ("--cacert", site.authority.path, *options)
        check_run(("upload", "--server", rpc, *access, *(["--force"] * number), path), 0,
                  f"uploaded, {os.path.getsize(path)} bytes")
        check_run(("query", "--server", api, *access, "--wait=30", "-f", build_id,
                   hex(service.symbol_address(path, "sample_leaf"))), 0, "sample_leaf")
        check_run(("admin", "list", "--server", api, *access, "--prefix", build_id), 0, build_id)


class Forwarder(socketserver.ThreadingTCPServer):
    """A port that is known before the server's own is, and leads to it."""
    daemon_threads = True
    target = None

    class RequestHandler(socketserver.BaseRequestHandler):
        def handle(self):
            with socket.create_connection(self.server.target) as target:
                back = threading.Thread(target=self.copy, args=(target, self.request), daemon=True)
                back.start()
                self.copy(self.request, target)
                back.join()

        @staticmethod
        def copy(source, target):
            try:
                while data := source.recv(65536):
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)
            except OSError:
                pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.RequestHandler)
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def __exit__(self, *words):
        self.shutdown()
        self.thread.join()
        super().__exit__(*words)


def symbolize_sends_to_signed_urls_over_https(server, site):
    path = site.file(3 << 20)
    check_run(("upload", "--server", urls(server)[0], "--cacert", site.authority.path, path), 0,
              "uploaded")
    signed = server.wait_for_event("signed_upload", build_id=service.gnu_build_id(path))
    check_equal(signed["code"], "ok")


def symbolize_trusts_nobody_else(server, site):
    path = site.file()
    rpc, api = urls(server)
    build_id = service.gnu_build_id(path)
    for trusted in (["--cacert", site.stranger.path], []):
        check_run(("upload", "--server", rpc, *trusted, path), 1, "certificate")
        check_run(("query", "--server", api, *trusted, build_id, "0x1"), 1, "certificate")
        check_run(("admin", "list", "--server", api, *trusted), 1, "certificate")
    for insecure in (("upload", "--server", rpc, "--insecure", path),
                     ("admin", "list", "--server", api, "--insecure")):
        check_run(insecure, 0)


def symbolize_wants_the_name_that_it_was_given(server, site):
    pair, site.pair = site.pair, site.authority.issue("server", dns=["symbols.test"])
    reload(server)
    rpc, api = urls(server)
    trusted = ["--cacert", site.authority.path]
    check_run(("upload", "--server", rpc, *trusted, site.file()), 1, "not accepted for localhost")
    check_run(("admin", "list", "--server", api, *trusted), 1, "localhost")
    site.pair = site.authority.issue_server(os.path.basename(pair.certificate)[:-4])
    reload(server)


def symbolize_says_what_is_wrong_with_its_files(server, site):
    rpc, api = urls(server)
    pair = site.authority.issue("agent", "client")
    other = site.authority.issue_server("other")
    for words in (("upload", "--server", rpc, site.file()), ("admin", "list", "--server", api)):
        check_run((*words, "--cacert", "/none"), 2, "/none: No such file")
        check_run((*words, "--cert", pair.certificate), 2, "agent.pem: no private key")
        check_run((*words, "--cert", pair.certificate, "--key", other.key), 2, "is not the key of")
        check_run((*words, "--key", pair.key), 2, "--key is of --cert")


def symbolize_shows_its_certificate(server, site):
    symbolize_uploads_queries_and_lists_over_https(
        server, site, "--cert", server.trust.pair.certificate, "--key", server.trust.pair.key)
    both = os.path.join(site.directory, "both.pem")
    with open(both, "wb") as file:
        file.write(b"".join(map(service.read_bytes, server.trust.pair)))
    symbolize_uploads_queries_and_lists_over_https(server, site, "--cert", both)


def symbolize_without_a_certificate_is_told_so_and_does_not_try_again(server, site):
    rpc, api = urls(server)
    trusted = ["--cacert", site.authority.path]
    check_run(("upload", "--server", rpc, *trusted, site.file()), 1, "Certificate is required")
    # Here the answer may also be that the connection broke.
    done = run("admin", "list", "--retries=0", "--server", api, *trusted)
    check(done.returncode in (1, 3) and not done.stdout, done.returncode, done.stdout)
    unknown = site.issue_stranger()
    check_run(("upload", "--server", rpc, *trusted, "--cert", unknown.certificate, "--key",
               unknown.key, site.file()), 1, "CA is unknown")


# --- the configuration -------------------------------------------------------------------------------

def check_config(site, *words):
    done = subprocess.run([SERVER, "--check-config", *words], capture_output=True, text=True,
                          timeout=PATIENCE_S)
    check(not done.stdout, done.stdout)
    return done.returncode, done.stderr


def check_config_checks_the_certificates(site):
    check_equal(check_config(site, *site.arguments()), (0, ""))
    for words, says in (
            (["--tls-certificate", site.pair.certificate], "give tls.key"),
            (["--tls-client-ca", site.authority.path], "tls.client_ca needs tls.certificate"),
            (["--tls-certificate", "/none", "--tls-key", "/none"],
             "tls: cannot read /none: No such file"),
            (["--tls-certificate", site.pair.key, "--tls-key", site.pair.key],
             "server.key: no certificate in PEM"),
            (site.arguments("--tls-client-ca", site.pair.key), "server.key: no certificate in PEM"),
            (["--tls-certificate", site.pair.certificate, "--tls-key",
              site.authority.issue_server("other").key], "is not the key of the certificate")):
        code, said = check_config(site, *words)
        check(code == 2 and says in said and said.count("\n") == 1, words, code, said)


def a_certificate_out_of_its_time_is_a_warning(site):
    for days, says in (((-9, -3), "has expired on"), ((3, 9), "is not valid before")):
        pair = site.authority.issue_server("odd", days=days)
        words = ["--tls-certificate", pair.certificate, "--tls-key", pair.key]
        code, said = check_config(site, *words)
        check(code == 0 and re.search(f"warning: .*odd.pem {says} 20", said), code, said)
        with service.Service(words) as server:
            warned = server.wait_for_event("tls_warning")
            check(says in warned["warning"] and warned["level"] == "warn", warned)


def client_certificates_allow_remote_addresses(site):
    remote = ["--http-listen=0.0.0.0:0", "--grpc-listen=[::]:0"]
    check_equal(check_config(site, *site.arguments(), *remote)[0], 2)
    check_equal(check_config(site, *site.arguments("--tls-client-ca", site.authority.path),
                             *remote), (0, ""))


def a_server_whose_files_are_missing_does_not_start(site):
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run([SERVER, "--data-dir", directory, "--http-listen=127.0.0.1:0",
                               "--grpc-listen=127.0.0.1:0", "--tls-certificate=/none",
                               "--tls-key=/none"], capture_output=True, text=True,
                              timeout=PATIENCE_S)
    check(done.returncode == 1 and "event=start_failed" in done.stderr and
          "cannot read /none" in done.stderr, done.returncode, done.stderr)


# --- running -----------------------------------------------------------------------------------------

def open_silent(server):
    """Connections that begin a handshake and stop."""
    connections = []
    for number in range(SILENT_COUNT):
        connection = socket.create_connection(
            ("127.0.0.1", server.ports[NAMES[number % 2]]), timeout=PATIENCE_S)
        connection.sendall(b"\x16\x03\x01\x02\x00\x01")
        connections.append(connection)
    return connections


def handshakes_that_do_not_go_on_are_ended(server, connections):
    server.wait_for_event("tls_refused", SILENT_COUNT // 2, protocol="grpc",
                          reason="no TLS handshake in time")
    for connection in connections[::2]:
        check_equal(connection.recv(1), b"")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        site = Site(directory)
        with service.Service(site.arguments(), trust=site.trust) as server:
            silent = open_silent(server)  # all the others are not held up by these
            run_tests(tap, [an_upload_and_a_question_go_over_tls,
                            large_files_go_both_ways_over_https,
                            many_questions_at_once_over_https,
                            a_client_that_trusts_another_authority_does_not_connect,
                            a_client_of_tls_1_2_is_refused_by_an_alert_and_logged,
                            a_grpc_client_without_h2_is_refused_by_an_alert_and_logged,
                            plain_text_is_refused_and_nobody_else_notices,
                            new_certificates_are_taken_while_an_upload_goes_on_over_the_old,
                            metrics_tell_who_was_refused_and_when_the_certificate_ends,
                            a_broken_new_certificate_leaves_the_old_in_use,
                            symbolize_uploads_queries_and_lists_over_https,
                            symbolize_trusts_nobody_else,
                            symbolize_wants_the_name_that_it_was_given,
                            symbolize_says_what_is_wrong_with_its_files], server, site)
            run_tests(tap, [handshakes_that_do_not_go_on_are_ended], server, silent)
            tap.ok(server.stop() == 0, "the server ends in order", server.output[-20:])
            for connection in silent:
                connection.close()
        with Forwarder() as forwarder, service.Service(site.arguments(
                "--upload-strategy=signed_url", "--upload-public-url",
                f"https://localhost:{forwarder.server_address[1]}"), trust=site.trust) as server:
            forwarder.target = ("127.0.0.1", server.ports["http"])
            run_tests(tap, [symbolize_sends_to_signed_urls_over_https], server, site)
        site.client_ca = shutil.copy(site.authority.path, os.path.join(directory, "client-ca.pem"))
        agent = site.authority.issue("known-agent", "client", uri="spiffe://test/agent")
        with service.Service(site.arguments("--tls-client-ca", site.client_ca),
                             trust=Trust(site.authority.path, agent)) as server:
            run_tests(tap, [a_client_with_a_certificate_uploads_and_asks_under_its_name,
                            a_client_without_a_good_certificate_is_refused_on_both_listeners,
                            a_grpc_library_without_a_certificate_gets_no_answer,
                            other_authorities_for_clients_are_taken_too,
                            symbolize_shows_its_certificate,
                            symbolize_without_a_certificate_is_told_so_and_does_not_try_again],
                      server, site)
            tap.ok(server.stop() == 0, "the server ends in order", server.output[-20:])
        run_tests(tap, [check_config_checks_the_certificates,
                        a_certificate_out_of_its_time_is_a_warning,
                        client_certificates_allow_remote_addresses,
                        a_server_whose_files_are_missing_does_not_start], site)
    tap.finish()


main()
