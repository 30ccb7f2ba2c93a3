"""Opens pictures: always as RGB, turned upright, and never so that a broken one ends a run."""

from __future__ import annotations

import math
import os
import threading
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from loguru import logger

if TYPE_CHECKING:
    from PIL import Image

PLACEHOLDER_SIZE = (64, 64)
GREY = (128, 128, 128)
MAX_PIXELS = "LMMS_EVAL_FOOD_MAX_PIXELS"

_broken: set[str] = set()
_broken_lock = threading.Lock()


def broken_images() -> frozenset[str]:
    """Return the paths that `open_image` could not open in this process."""
    with _broken_lock:
        return frozenset(_broken)


def max_pixels() -> int | None:
    """Return the most pixels a picture may have, from LMMS_EVAL_FOOD_MAX_PIXELS; None: any number.

    Raises:
        ValueError: the variable is set to something else than a whole number above 0.
    """
    text = os.environ.get(MAX_PIXELS, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text)):
        raise ValueError(f"{MAX_PIXELS}={text} is not a whole number of pixels above 0")
    return int(text)


def open_image(path: str, doc_id: str, data: bytes | None = None) -> Image.Image:
    """Return a picture as RGB, turned as its EXIF says, transparency on white.

    A picture of more pixels than `max_pixels` is made smaller, its shape kept. A picture that is
    missing or broken must not end a run: a 64x64 grey square takes its place, a warning names the
    document once per path, and `broken_images` remembers the path.

    Args:
        path: The file.
        doc_id: The document it belongs to, for the warning.
        data: The file's bytes, where the caller has read them already.
    """
    from PIL import Image, ImageOps

    limit = max_pixels()
    try:
        data = Path(path).read_bytes() if data is None else data
        with Image.open(BytesIO(data)) as image:
            check_whole(str(image.format), data)
            return _within(limit, _as_rgb(ImageOps.exif_transpose(image)))
    except Exception as error:  # Pillow's readers raise nearly anything on a broken file
        with _broken_lock:
            first = path not in _broken
            _broken.add(path)
        if first:
            logger.warning(
                f"document {doc_id}: the picture {path} cannot be opened ({error}); "
                "a grey square takes its place"
            )
        return Image.new("RGB", PLACEHOLDER_SIZE, GREY)


def check_whole(kind: str, data: bytes) -> None:
    """Check that a picture file was not cut off, without decoding its pixels.

    The host sets Pillow's LOAD_TRUNCATED_IMAGES for the whole process: Pillow then fills up what
    is missing of a file and says nothing.

    Args:
        kind: The format's name in Pillow. Only JPEG, PNG and WEBP are looked at.
        data: The file's bytes.

    Raises:
        OSError: the end is missing.
        SyntaxError: so says Pillow of a PNG, also where a check sum is wrong.
    """
    from PIL import Image

    if kind == "JPEG":
        # Within the coded pixels FF D9 never occurs; before them a thumbnail may have its own.
        whole = data.find(b"\xff\xd9", _start_of_scan(data)) >= 0
    elif kind == "WEBP":
        whole = len(data) >= 8 + int.from_bytes(data[4:8], "little")
    else:
        whole = True
    if kind == "PNG":
        with Image.open(BytesIO(data)) as image:
            image.verify()
    if not whole:
        raise OSError("the file is cut off")


def _start_of_scan(data: bytes) -> int:
    """Return where the coded pixels of a JPEG begin; its length where they do not."""
    place = 2
    while data[place : place + 1] == b"\xff":
        marker = data[place + 1 : place + 2]
        if marker == b"\xda":
            return place
        if marker == b"\xff":  # a fill byte
            place += 1
        else:
            place += 2 + max(2, int.from_bytes(data[place + 2 : place + 4], "big"))
    return len(data)


def _within(limit: int | None, image: Image.Image) -> Image.Image:
    from PIL import Image

    width, height = image.size
    if limit is None or width * height <= limit:
        return image
    scale = math.sqrt(limit / (width * height))
    # Rounded down, and a strip thinner than a pixel gets one: its other side then has the limit.
    width = min(max(1, int(width * scale)), limit)
    height = max(1, min(int(height * scale), limit // width))
    return image.resize((width, height), Image.Resampling.LANCZOS)


def _as_rgb(image: Image.Image) -> Image.Image:
    from PIL import Image

    if image.mode.startswith("I"):
        # Pillow clips 16-bit grey to 255 when it converts, which would leave nearly white.
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    if not image.has_transparency_data:
        return image.convert("RGB")
    clear = image.convert("RGBA")
    white = Image.new("RGBA", clear.size, "white")
    return Image.alpha_composite(white, clear).convert("RGB")
