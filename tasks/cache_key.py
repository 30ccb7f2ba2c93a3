"""What of a request its answer depends on, as a digest for the key of the host's response cache.

The host's key holds the task, the document's number, the generation settings and the model's
arguments as typed. The rest is here: the form of the request, texts and pictures as they are sent,
how mended pictures are encoded, and texts that the backend read from files.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from lmms_eval_food.tasks.made_with import is_ours

if TYPE_CHECKING:
    from lmms_eval.api.instance import Instance

# Attributes of backends for texts that an argument may name a file of.
TEXTS_OF_FILES = ("system_prompt", "chat_template")


def config_of(request: Instance) -> Any | None:
    """Return the configuration of a request's task when it is one of ours."""
    for argument in request.args:
        config = getattr(getattr(argument, "__self__", None), "config", None)
        if config is not None:
            return config if is_ours(config) else None
    return None


def keyed(lm: Any, request: Instance) -> Instance:
    """Return a copy of one of our requests whose first text begins with its digest.

    The host's key holds a request's leading texts, so the digest gets into it.

    Args:
        lm: The host's model; its `task_dict` holds the documents.
        request: In the host's chat form (text, doc_to_messages, settings, …) or its simple form
            (text, settings, doc_to_visual, …).
    """
    doc_id, task, split = request.args[-3:]
    config = cast(Any, config_of(request))
    turns = config.doc_to_messages(lm.task_dict[task][split][doc_id])
    chat = callable(request.args[1])
    if not chat:
        pictures = [part for turn in turns for part in turn["content"] if part["type"] != "text"]
        text = {"type": "text", "text": request.args[0]}
        turns = [{"role": "user", "content": [*pictures, text]}]
    read = [getattr(lm, "__dict__", {}).get(name) for name in TEXTS_OF_FILES]
    about = [
        "chat" if chat else "simple",
        *(text if isinstance(text, str) else "" for text in read),
    ]
    changed = copy.copy(request)
    # Settings of its own: the model may change those of the original.
    rest = [copy.deepcopy(part) if isinstance(part, dict) else part for part in request.args[1:]]
    changed.arguments = (f"{digest(turns, about)} {request.args[0]}", *rest)
    return changed


def digest(messages: Sequence[dict[str, Any]], about: Sequence[str] = ()) -> str:
    """Return a digest of what the model is sent: turns, texts and pictures, in order.

    Of a picture file its bytes count, of a mended picture its pixels and how they are encoded.

    Args:
        messages: Turns in the host's chat form.
        about: Texts that count beside them, in order.
    """
    turns = [[turn["role"], *map(_digest_of_part, turn["content"])] for turn in messages]
    return hashlib.sha256(json.dumps([turns, *about]).encode()).hexdigest()


def _digest_of_part(part: dict[str, Any]) -> list[str]:
    if part["type"] == "text":
        return ["text", part["text"]]
    image = part["url"]
    data = getattr(image, "data", None)
    if isinstance(data, bytes):
        return [part["type"], hashlib.sha256(data).hexdigest()]
    data = f"{image.mode} {image.size} ".encode() + image.tobytes()
    return [part["type"], hashlib.sha256(data).hexdigest(), *_encoding()]


def _encoding() -> list[str]:
    """Return the format in which the host encodes pixels, and its quality where it has one."""
    kind = os.environ.get("LMMS_IMAGE_ENCODE_FORMAT", "PNG").upper()
    if kind not in ("JPEG", "JPG", "WEBP"):
        return [kind]
    return [kind, os.environ.get("LMMS_IMAGE_JPEG_QUALITY", "85")]
