"""An HTTP proxy in front of a server of the tests: it counts the requests, so that a test can hold a budget."""

from __future__ import annotations

import http.client
import re
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_LINE: Final = 1 << 16
_WITHOUT_CONTENT: Final = (204, 304)
_OF_ONE_CONNECTION: Final = {"connection", "keep-alive", "transfer-encoding", "expect", "te", "trailer", "upgrade"}
_KINDS: Final = {
    "metadata": r"\.metadata\.json",
    "list": r"/snap-[^/]*\.avro",
    "manifest": r"\.avro",
    "vector": r"\.puffin",
    "data": r"\.parquet",
}


class CountingProxy:
    """Passes every request on to one server and records it.

    Attributes:
        address: The URL of the proxy.
        host, port: The server.
        requests: The method and the kind of file (or the path) of each request, in their order.
    """

    def __init__(self, target: str) -> None:
        url = urlsplit(target)
        self.host, self.port = url.hostname or "", url.port
        self.requests: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": self}))
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Stops the proxy."""
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def count(self) -> Iterator[Counter[str]]:
        """Counts the requests inside the block."""
        before, counted = len(self.requests), Counter[str]()
        yield counted
        counted.update(self.requests[before:])


class _Handler(BaseHTTPRequestHandler):
    """Passes the requests of one connection on."""

    proxy: ClassVar[CountingProxy]
    protocol_version = "HTTP/1.1"
    server_connection: http.client.HTTPConnection | None = None

    def handle_one_request(self) -> None:
        try:
            self.raw_requestline = self.rfile.readline(_LONGEST_LINE)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            self.proxy.requests.append(_describe(self.command, self.path))
            self._answer(self._ask())
        except (ConnectionError, http.client.HTTPException):
            self.close_connection = True

    def _ask(self) -> http.client.HTTPResponse:
        body = self._read_body()
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_ONE_CONNECTION}
        if body:
            headers["Content-Length"] = str(len(body))
        if self.server_connection is None:
            self.server_connection = http.client.HTTPConnection(self.proxy.host, self.proxy.port, timeout=60)
        self.server_connection.request(self.command, self.path, body, headers)
        return self.server_connection.getresponse()

    def _answer(self, answer: http.client.HTTPResponse) -> None:
        content = answer.read()
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in {*_OF_ONE_CONNECTION, "content-length"}:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
        if length is not None and answer.status not in _WITHOUT_CONTENT:
            self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(content)

    def _read_body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # a trailer
        return b"".join(parts)

    def finish(self) -> None:
        super().finish()
        if self.server_connection is not None:
            self.server_connection.close()

    def log_message(self, *_: Any) -> None:
        """Writes no log."""


def _describe(method: str, path: str) -> str:
    """Names a request by its method and the kind of file that it reads or writes.

    Examples:
        >>> _describe("GET", "/bucket/t/metadata/snap-12-1-ab.avro")
        'GET list'
        >>> _describe("GET", "/v1/namespaces/db/tables/t")
        'GET /v1/namespaces/db/tables/t'
    """
    kind = next((kind for kind, pattern in _KINDS.items() if re.search(pattern, path)), path)
    return f"{method} {kind}"
