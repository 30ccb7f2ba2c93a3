"""Runs the host's command line and writes down what vLLM's engine is handed, a line a request.

    python watched_host.py OUT.jsonl HOST_ARGUMENTS

A line holds what leaves for the engine: the prompt's tokens, the most tokens asked for, and for
each picture where its tokens lie, its grid of patches and a digest of its pixels.
"""

from __future__ import annotations

import functools
import hashlib
import json
import runpy
import sys
from pathlib import Path
from typing import Any


def picture(feature: Any) -> dict[str, Any]:
    """Return what identifies a picture and its place."""
    item = feature.data.get_data()
    place = feature.mm_position
    pixels = item["pixel_values"].contiguous().numpy()
    return {
        "start": place.offset,
        "length": place.length,
        "grid": item["image_grid_thw"].tolist(),
        "type": str(pixels.dtype),
        "pixels": hashlib.sha256(pixels.tobytes()).hexdigest(),
    }


def watch(log: Path) -> None:
    """Make vLLM's client of the engine write every request to `log`."""
    from vllm.v1.engine.core_client import SyncMPClient

    send = SyncMPClient.add_request

    @functools.wraps(send)
    def add_request(self: Any, request: Any) -> None:
        line = {
            "tokens": list(request.prompt_token_ids),
            "max_tokens": request.sampling_params.max_tokens,
            "pictures": [picture(feature) for feature in request.mm_features or []],
        }
        with log.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        send(self, request)

    SyncMPClient.add_request = add_request


# vLLM starts its engine as a new process that imports this file again.
if __name__ == "__main__":
    watch(Path(sys.argv[1]))
    sys.argv = ["lmms_eval", *sys.argv[2:]]
    runpy.run_module("lmms_eval", run_name="__main__")
