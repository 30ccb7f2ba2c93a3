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

    EXIF data that cannot be read turn nothing. A picture of more pixels than `max_pixels` is made
    smaller, its shape kept. A picture that is missing or broken, or of more pixels than Pillow
    takes for safe, must not end a run: a 64x64 grey square takes its place, a warning names the
    document once per path, and `broken_images` remembers the path. Where `max_pixels` is set, a
    JPEG beyond Pillow's limit is made smaller while it is decoded.

    Args:
        path: The file.
        doc_id: The document it belongs to, for the warning.
        data: The file's bytes, where the caller has read them already.
    """
    from PIL import Image

    limit = max_pixels()
    try:
        data = Path(path).read_bytes() if data is None else data
        with _opened(data, limit) as image:
            check_whole(str(image.format), data)
            return _within(limit, _as_rgb(_upright(image)))
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


def _opened(data: bytes, limit: int | None) -> Image.Image:
    """Open a picture; a JPEG beyond Pillow's limit at half its size or less, where `limit` is set.

    Raises:
        ValueError: the picture has more pixels than Pillow takes for safe; says what to do.
        Exception: nearly anything, on a broken file.
    """
    from PIL import Image, JpegImagePlugin

    try:
        return Image.open(BytesIO(data))
    except Image.DecompressionBombError as error:
        remedy = f"make the file smaller, or a JPEG and set {MAX_PIXELS}"
        if limit is not None and data.startswith(b"\xff\xd8"):
            # The plugin itself does not refuse; its decoder leaves out 1/2 to 7/8 of each side.
            image = JpegImagePlugin.JpegImageFile(BytesIO(data))
            scale = min(0.5, math.sqrt(limit / (image.width * image.height)))
            image.draft(None, (max(1, int(image.width * scale)), max(1, int(image.height * scale))))
            if image.width * image.height <= 2 * (Image.MAX_IMAGE_PIXELS or math.inf):
                return image
            remedy = f"make the file smaller, or lower {MAX_PIXELS}"
        raise ValueError(f"{error} To send it, {remedy}") from error


def turn_of(image: Image.Image) -> int:
    """Return how EXIF says that an open picture lies: 1 upright, 2 to 8 turned or mirrored.

    1 also where it says nothing, or what cannot be read.
    """
    from PIL import ExifTags

    try:
        turn = image.getexif().get(ExifTags.Base.Orientation)
        return next((known for known in range(2, 9) if known == turn), 1)
    except Exception:  # Pillow raises nearly anything on malformed EXIF data
        return 1


def _upright(image: Image.Image) -> Image.Image:
    """Undo what `turn_of` returns. Not ImageOps.exif_transpose: it raises on malformed EXIF."""
    from PIL.Image import Transpose

    image.load()  # a broken file is found here, not taken for broken EXIF data
    undone = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    method = undone.get(turn_of(image))
    return image if method is None else image.transpose(method)


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
