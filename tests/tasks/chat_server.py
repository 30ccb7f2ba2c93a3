"""A local server of the OpenAI chat protocol that has faults, and keeps account of them."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Act(StrEnum):
    """What the server does with a call."""

    ANSWER = "answers"
    BUSY = "status 429"
    ERROR = "status 500"
    HANG = "says nothing until the caller has given up"
    CUT = "closes the connection in the middle of the reply"
    NULL = "replies with content null"
    GARBAGE = "replies with what is not JSON"


FAULTS = tuple(act for act in Act if act is not Act.ANSWER)


@dataclass
class Service:
    """What the server answers, and what it was asked.

    Attributes:
        answer: The reply to a prompt.
        plan: What to do with a prompt's n-th call, from 0.
        pause: Seconds before an answer.
        acts: Prompt -> what was done with its calls, in order.
        called: Set by each call.
    """

    answer: Callable[[str], str]
    plan: Callable[[str, int], Act] = lambda prompt, call: Act.ANSWER
    pause: float = 0.0
    acts: dict[str, list[Act]] = field(default_factory=lambda: defaultdict(list))
    called: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""

    def next(self, prompt: str) -> Act:
        """Note a call and return what is done with it."""
        with self.lock:
            acts = self.acts[prompt]
            acts.append(self.plan(prompt, len(acts)))
        self.called.set()
        return acts[-1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        service = self.server.service
        payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        parts = payload["messages"][-1]["content"]
        prompt = "".join(part["text"] for part in parts if part["type"] == "text")
        act = service.next(prompt)
        if act is Act.HANG:
            service.ended.wait(10)
            self.close_connection = True
        elif act in (Act.BUSY, Act.ERROR):
            self._send(429 if act is Act.BUSY else 500, b'{"error": {"message": "refused"}}')
        elif act is Act.GARBAGE:
            self._send(200, b'{"choices": [{"mess')
        else:
            time.sleep(service.pause)
            content = None if act is Act.NULL else service.answer(prompt)
            self._send(200, _reply(content), cut=act is Act.CUT)

    def _send(self, status: int, body: bytes, cut: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = cut

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # the base's name
        pass


def _reply(content: str | None) -> bytes:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    reply: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
    return json.dumps({**reply, "choices": [choice], "usage": usage}).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    service: Service

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # callers that have given up or were killed


@contextmanager
def serving(service: Service) -> Iterator[Service]:
    """Serve on a free local port; `service.url` is the base URL for a client."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.service = service
    service.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
