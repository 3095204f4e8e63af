#!/usr/bin/python3
"""Web pages of the configured origins, and of others, against the HTTP API."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import service
from service import Tap

PAGE = "https://grafana.example.org"
ALLOW = "access-control-allow-origin"


def preflight(server, origin, method="POST", path="/v1/symbolize"):
    return server.http("OPTIONS", path, headers={
        "Origin": origin, "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "content-type"})


def check_allowed(tap, server):
    status, headers, body = preflight(server, PAGE)
    tap.ok(status == 204 and not body and headers.get(ALLOW) == PAGE,
           "the preflight of an allowed origin is answered", str((status, headers)))
    methods = headers.get("access-control-allow-methods", "").replace(" ", "").split(",")
    tap.ok(sorted(methods) == ["GET", "HEAD", "POST"] and
           "Content-Type" in headers.get("access-control-allow-headers") and
           "access-control-allow-credentials" not in headers,
           "pages may ask, and by default neither upload, remove nor send cookies", str(headers))
    for name, call in {
            "an answer": lambda: server.http("GET", "/healthz", headers={"Origin": PAGE}),
            "an error": lambda: server.http("GET", "/none", headers={"Origin": PAGE}),
            "an answer from a thread": lambda: server.http(
                "POST", "/v1/symbolize", '{"modules": []}', {"Origin": PAGE})}.items():
        status, headers, _ = call()
        tap.ok(headers.get(ALLOW) == PAGE and headers.get("vary") == "Origin" and
               "X-Request-Id" in headers.get("access-control-expose-headers", ""),
               f"{name} may be read by an allowed origin", str((status, headers)))


def check_others(tap, server):
    for origin in ("https://evil.example.org", PAGE + ":443", PAGE + ".evil.org", PAGE.upper(),
                   "null", "*", ""):
        status, headers, _ = preflight(server, origin)
        got = server.http("GET", "/healthz", headers={"Origin": origin})[1]
        tap.ok(status == 405 and ALLOW not in headers and ALLOW not in got and
               got.get("vary") == "Origin", f"origin \"{origin}\" is not let in",
               str((status, headers, got)))
    status, headers, _ = server.http("OPTIONS", "/v1/symbolize", headers={"Origin": PAGE})
    tap.ok(status == 405, "OPTIONS that is no preflight is refused", str((status, headers)))
    headers = server.http("GET", "/healthz")[1]
    tap.ok(ALLOW not in headers, "without an origin there is nothing to allow", str(headers))


def check_methods(tap):
    with service.Service(["--http-cors-allowed-origins", PAGE, "--http-cors-allowed-methods",
                          "GET,PUT,DELETE"]) as server:
        status, headers, _ = preflight(server, PAGE, "PUT", "/v1/debuginfo")
        tap.ok(status == 204 and
               headers.get("access-control-allow-methods") == "GET, HEAD, PUT, DELETE",
               "pages may upload and delete where that is configured", str((status, headers)))
        path = service.compile_sample(server.directory)
        status, headers, _ = server.http("PUT", "/v1/debuginfo", service.read_bytes(path),
                                         {"Origin": PAGE})
        tap.ok(status == 201 and headers.get(ALLOW) == PAGE, "an upload's answer may be read",
               str((status, headers)))
        status, headers, _ = server.http("DELETE",
                                         f"/v1/debuginfo/{service.gnu_build_id(path)}",
                                         headers={"Origin": PAGE})
        tap.ok(status == 200 and headers.get(ALLOW) == PAGE, "and that of a deletion",
               str((status, headers)))
    words = [server.program, "--check-config", "--http-cors-allowed-methods", "GET,TRACE"]
    refused = subprocess.run(words, capture_output=True, text=True)
    tap.ok(refused.returncode == 2 and "TRACE" in refused.stderr, "another method is refused",
           refused.stderr)


def main():
    tap = Tap()
    with service.Service(["--http-cors-allowed-origins", f"http://[::1]:3000,{PAGE}"]) as server:
        check_allowed(tap, server)
        check_others(tap, server)
    check_methods(tap)
    with service.Service() as server:
        status, headers, _ = preflight(server, PAGE)
        got = server.http("GET", "/healthz", headers={"Origin": PAGE})[1]
        tap.ok(status == 405 and ALLOW not in headers and ALLOW not in got and "vary" not in got,
               "by default no page is let in", str((status, headers, got)))
    tap.finish()


main()
