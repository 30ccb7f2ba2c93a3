"""How many requests a second are built for a 15-picture prompt: the host's way against ours.

Makes 15 photos of 1024x768 as JPEG files, and builds the messages that the vLLM and OpenAI
backends send, in turn: decoded and encoded as PNG, which is the host's default, and as the files
they are. Prints seconds a request, their median ratio, and the size of a request.

    python benchmarks/bench_images.py [ROUNDS]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from lmms_eval.protocol import ChatMessages
from PIL import Image, ImageFilter

from lmms_eval_food.tasks import common, images, picture_files

PICTURES, SIZE, WANTED = 15, (1024, 768), 20
OURS_A_ROUND = 20
Messages = list[dict[str, Any]]


def write_photo(path: Path, seed: int) -> str:
    """Write smooth shapes with a camera's noise; as a JPEG of about the size of a real photo."""
    random = np.random.default_rng(seed)
    small = random.integers(0, 256, (24, 32, 3), dtype=np.uint8)
    smooth = Image.fromarray(small).resize(SIZE, Image.Resampling.BICUBIC)
    noise = random.normal(0, 6, (SIZE[1], SIZE[0], 3))
    pixels = np.clip(np.asarray(smooth.filter(ImageFilter.GaussianBlur(2))) + noise, 0, 255)
    Image.fromarray(pixels.astype(np.uint8)).save(path, quality=90)
    return str(path)


def as_before(doc: common.Doc) -> Messages:
    """Return the messages with decoded pictures, which the host encodes."""
    content = [{"type": "image", "url": images.open_image(p, doc["id"])} for p in doc["images"]]
    return [{"role": "user", "content": [*content, {"type": "text", "text": "?"}]}]


def request(make: Callable[[common.Doc], Messages], doc: common.Doc) -> tuple[float, int]:
    """Build one request; return its seconds and the characters of its pictures."""
    started = time.perf_counter()
    (turn,) = ChatMessages(messages=make(doc)).to_openai_messages()
    seconds = time.perf_counter() - started
    urls = [part["image_url"]["url"] for part in turn["content"] if "image_url" in part]
    if len(urls) != PICTURES:
        raise SystemExit(f"{len(urls)} pictures instead of {PICTURES}")
    return seconds, sum(map(len, urls))


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    picture_files.install()
    with tempfile.TemporaryDirectory() as folder:
        paths = [write_photo(Path(folder) / f"{n}.jpg", n) for n in range(PICTURES)]
        doc = {"id": "d", "images": paths}
        ratios = []
        for number in range(rounds):
            host = request(as_before, doc)
            ours = [
                request(lambda doc: common.messages(doc, "?"), doc) for _ in range(OURS_A_ROUND)
            ]
            mine = statistics.median(seconds for seconds, _ in ours)
            ratios.append(host[0] / mine)
            print(
                f"round {number + 1}: host {1 / host[0]:.2f} requests/s of {host[1] / 1e6:.1f} MB, "
                f"ours {1 / mine:.1f} of {ours[0][1] / 1e6:.1f} MB, ratio {ratios[-1]:.0f}"
            )
    ratio = statistics.median(ratios)
    print(f"ratio ours/host: {ratio:.0f} (wanted: at least {WANTED})")
    if ratio < WANTED:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
