"""One of the host's `llm_judge` servers, with bounded waiting and one kind of failure."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

# What each of the host's servers must find in the environment.
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "azure": ("AZURE_API_KEY", "AZURE_ENDPOINT"),
    "local": (),
}
_TEMPERATURE = 0.0
# A verdict takes one word; a judge that reasons first needs room for it.
VERDICT_TOKENS = 1024
_TIMEOUT_SECONDS = 120.0
_ATTEMPTS = 4
_FIRST_PAUSE_SECONDS = 2.0
_LONGEST_PAUSE_SECONDS = 60.0
# Request time-out, conflict, too early, too many requests: the same call may succeed later.
_PASSING_STATUSES = frozenset({408, 409, 425, 429})
# A reply of another shape than the host expects (its text is null, say) or an address that is
# none: at temperature 0 the same call fails the same way.
_LASTING_ERRORS = (AttributeError, TypeError, LookupError, ValueError)


class JudgeError(Exception):
    """No judge can be had with this configuration; the message says what to change."""


class NoAnswerError(Exception):
    """The judge gave no answer to one prompt."""


class JudgeServer:
    """Answers one prompt at a time; safe for several threads.

    Args:
        kind: Name of the host's server.
        model: The judge's name.
        provider: The host's server, set to one attempt a call.
        max_tokens: The longest reply that the server is set to.
    """

    def __init__(
        self, kind: str, model: str, provider: Any, max_tokens: int = VERDICT_TOKENS
    ) -> None:
        self.name = f"{kind}:{model}"
        self.settings = f"{self.name} temperature={_TEMPERATURE:g} max_tokens={max_tokens}"
        self._provider = provider

    def answer(self, system: str, prompt: str) -> str:
        """Return the judge's reply, which is not blank.

        Errors that may pass (no connection, time-out, 429, 5xx) are tried again, four times in
        all, waiting as long as the server asks for, up to a minute.

        Raises:
            NoAnswerError: an error that stays, or no text in the reply.
        """
        request = _request(system, prompt)
        attempt = 1
        while True:
            try:
                reply = self._provider.evaluate(request).content
                break
            # The host's servers raise whatever their client does.
            except Exception as error:
                if attempt == _ATTEMPTS or not _passes(error):
                    raise NoAnswerError(f"{type(error).__name__}: {error}") from error
                time.sleep(_pause(error, attempt))
                attempt += 1
        if not isinstance(reply, str) or not reply.strip():
            raise NoAnswerError("the reply holds no text")
        return reply


def open_server(kind: str, model: str, max_tokens: int = VERDICT_TOKENS) -> JudgeServer:
    """Return a server of the host's that has all it needs; connects to nothing.

    Args:
        kind: "openai", "azure" or "local".
        model: The judge's name.
        max_tokens: The longest reply.

    Raises:
        JudgeError: there is no such server, or a variable is missing that it needs.
    """
    if kind not in _NEEDED:
        raise JudgeError(f"no judge server {kind!r}: choose {', '.join(_NEEDED)}")
    # Heavy, and not needed without a judge. It also reads a .env file into the environment.
    from lmms_eval.llm_judge import ServerConfig, get_server

    absent = [name for name in _NEEDED[kind] if not os.environ.get(name)]
    if absent:
        raise JudgeError(f"the judge server {kind!r} needs {' and '.join(absent)}")
    config = ServerConfig(
        model_name=model,
        temperature=_TEMPERATURE,
        max_tokens=max_tokens,
        timeout=_TIMEOUT_SECONDS,
        # The host would try again whatever the error, wait ten seconds each time, then raise.
        num_retries=1,
    )
    with _openai_key():
        provider = get_server(kind, config)
    if getattr(provider, "use_client", False):
        # The host leaves its client at ten minutes and three attempts of its own.
        provider.client = provider.client.with_options(timeout=_TIMEOUT_SECONDS, max_retries=0)
    return JudgeServer(kind, model, provider, max_tokens)


@contextmanager
def _openai_key() -> Iterator[None]:
    """Put some OPENAI_API_KEY in place: the host's Azure server makes an OpenAI client first."""
    known = os.environ.get("OPENAI_API_KEY")
    os.environ["OPENAI_API_KEY"] = known or "unused"
    try:
        yield
    finally:
        if known is None:
            del os.environ["OPENAI_API_KEY"]
        else:
            os.environ["OPENAI_API_KEY"] = known


def _request(system: str, prompt: str) -> Any:
    from lmms_eval.llm_judge import Request

    turns = [{"role": "user", "content": prompt}]
    if system:
        turns.insert(0, {"role": "system", "content": system})
    return Request(messages=turns)


def _passes(error: Exception) -> bool:
    """Tell whether the same call may succeed later."""
    status = getattr(_response(error), "status_code", None)
    if status is not None:
        return status in _PASSING_STATUSES or status >= 500
    return not isinstance(error, _LASTING_ERRORS)


def _pause(error: Exception, attempt: int) -> float:
    """Return the seconds to wait after an attempt: twice as long each time, or what is asked."""
    grown = _FIRST_PAUSE_SECONDS * float(2 ** (attempt - 1))
    return min(max(grown, _retry_after(error)), _LONGEST_PAUSE_SECONDS)


def _retry_after(error: Exception) -> float:
    """Return the seconds that a refusing server asks to wait, 0 where it asks for none."""
    headers = getattr(_response(error), "headers", {})
    try:
        return max(0.0, float(headers.get("retry-after", 0)))
    except ValueError:  # a date, which servers of this protocol do not send
        return 0.0


def _response(error: Exception) -> Any:
    """Return the HTTP response that an error of requests or openai carries, else None."""
    return getattr(error, "response", None)
