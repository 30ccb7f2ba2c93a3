"""A local server that speaks as much of the hub and of the repository host as fetching needs.

Datasets: POST /api/datasets/OWNER/NAME/paths-info/REV, GET /api/datasets/OWNER/NAME, and
HEAD or GET /datasets/OWNER/NAME/resolve/REV/FILE with Range. Archives: GET /OWNER/NAME/tar.gz/REV.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What the server has, how it misbehaves, and what it was asked.

    Attributes:
        files: "OWNER/NAME/FILE" -> content; archives are "OWNER/NAME/tar.gz".
        large: Files stored by their SHA-256 (the others by git's blob id).
        announced: File -> content whose checksum and size the listing gives instead.
        cuts: File -> how often the connection still breaks in the middle of what is left.
        statuses: File -> HTTP statuses to answer with before serving it.
        lengths: File -> Content-Length to claim instead of the true one.
        without_range: Files of which only the whole is served.
        asked: (method, file, Range header or "") in order.
        tokens: Authorization headers seen.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    large: set[str] = field(default_factory=set)
    announced: dict[str, bytes] = field(default_factory=dict)
    cuts: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, list[int]] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    without_range: set[str] = field(default_factory=set)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    url: str = ""

    def info(self, repo: str, path: str) -> dict[str, object]:
        """Return a file's entry in the hub's listing."""
        key = f"{repo}/{path}"
        content = self.announced.get(key, self.files[key])
        blob = b"blob %d\0" % len(content) + content
        entry: dict[str, object] = {
            "type": "file",
            "path": path,
            "size": len(content),
            "oid": hashlib.sha1(blob, usedforsecurity=False).hexdigest(),
        }
        if key in self.large:
            sha256 = hashlib.sha256(content).hexdigest()
            entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": 134}
        return entry


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        match = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/paths-info/[^/]+", self.path)
        assert match
        repo, hub = match[1], self.server.hub
        paths = [path for path in parse_qs(body)["paths"] if f"{repo}/{path}" in hub.files]
        self._json([hub.info(repo, path) for path in paths])

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)", path):
            self._json({"id": match[1], "sha": COMMIT, "siblings": []})
        elif match := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            self._file(f"{match[1]}/{match[2]}")
        elif match := re.fullmatch(r"/([^/]+/[^/]+/tar\.gz)/[^/]+", path):
            self._file(match[1])
        else:
            self._empty(404)

    def _file(self, key: str) -> None:
        hub = self.server.hub
        asked = self.headers.get("Range", "")
        hub.asked.append((self.command, key, asked))
        hub.tokens.add(self.headers.get("Authorization", ""))
        if hub.statuses.get(key):
            self._empty(hub.statuses[key].pop(0))
            return
        if key not in hub.files:
            self._empty(404)
            return
        content = hub.files[key]
        start = 0 if key in hub.without_range or not asked else int(asked[len("bytes=") : -1])
        if start >= len(content) > 0:
            self._empty(416)
            return
        body = content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        sha256 = hashlib.sha256(content).hexdigest()
        self.send_header("ETag", f'"{sha256}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("X-Linked-Etag", f'"{sha256}"')
        self.send_header("X-Linked-Size", str(len(content)))
        self.send_header("Content-Length", str(hub.lengths.get(key, len(body))))
        self.end_headers()
        if self.command == "HEAD":
            return
        if hub.cuts.get(key, 0):
            hub.cuts[key] -= 1
            body = body[: len(body) // 2]
            self.close_connection = True
        self.wfile.write(body)
        if key in hub.lengths:
            self.close_connection = True

    def _json(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _empty(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # the base's name
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    hub: Hub


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve a hub on a free local port; `hub.url` is its address."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.hub = hub
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
