"""A local judge that speaks the OpenAI protocol, and misbehaves as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Does(Enum):
    """What the judge may do instead of replying with a text."""

    HANG = "says nothing until the server ends"
    MEET = "replies once `Bench.meeting` has as many callers as it waits for"
    NULL = "replies with content null"
    NONSENSE = "replies with a page of HTML"


# A text is the reply, a number the HTTP status, a pair a status and its Retry-After.
Behaviour = str | int | tuple[int, str] | Does


@dataclass
class Bench:
    """What the judge does, and what it was asked.

    Attributes:
        behaviours: User turn -> what it does, one call after the other; the last one stays.
        default: What it does with any other user turn.
        asked: Path, headers and payload of each call, in order.
        meeting: Where `MEET` waits.
    """

    behaviours: dict[str, list[Behaviour]] = field(default_factory=dict)
    default: Behaviour = "yes"
    asked: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    meeting: threading.Barrier = field(default_factory=lambda: threading.Barrier(1))
    ended: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""

    @property
    def prompts(self) -> list[str]:
        """Return the user turns so far, in order of their calls."""
        return [payload["messages"][-1]["content"] for _, _, payload in self.asked]

    def next(self, prompt: str) -> Behaviour:
        """Return what the judge does with a prompt now."""
        with self.lock:
            steps = self.behaviours.get(prompt, [self.default])
            return steps.pop(0) if len(steps) > 1 else steps[0]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        bench = self.server.bench
        payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with bench.lock:
            bench.asked.append((self.path, headers, payload))
        self._act(bench, bench.next(payload["messages"][-1]["content"]), payload["model"])

    def _act(self, bench: Bench, behaviour: Behaviour, model: str) -> None:
        if behaviour is Does.HANG:
            bench.ended.wait()
            self.close_connection = True
        elif behaviour is Does.NONSENSE:
            self._send(200, b"<html>Welcome</html>", "text/html")
        elif isinstance(behaviour, int):
            self._send(behaviour, b'{"error": {"message": "refused"}}')
        elif isinstance(behaviour, tuple):
            self._send(behaviour[0], b"{}", retry_after=behaviour[1])
        elif behaviour is Does.MEET:
            bench.meeting.wait()
            self._reply("yes", model)
        else:
            self._reply(behaviour if isinstance(behaviour, str) else None, model)

    def _reply(self, content: str | None, model: str) -> None:
        message = {"role": "assistant", "content": content}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "1", "object": "chat.completion", "created": 0, "model": model}
        self._send(200, json.dumps({**reply, "choices": [choice], "usage": usage}).encode())

    def _send(
        self, status: int, body: bytes, kind: str = "application/json", retry_after: str = ""
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # the base's name
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    bench: Bench


@contextmanager
def judging(bench: Bench) -> Iterator[Bench]:
    """Serve a judge on a free local port; `bench.url` is its address."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.bench = bench
    bench.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield bench
    finally:
        bench.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
