"""Opens pictures: always as RGB, turned upright, and never so that a broken one ends a run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from loguru import logger

if TYPE_CHECKING:
    from PIL import Image

PLACEHOLDER_SIZE = (64, 64)
GREY = (128, 128, 128)

_broken: set[str] = set()
_broken_lock = threading.Lock()


def broken_images() -> frozenset[str]:
    """Return the paths that `open_image` could not open in this process."""
    with _broken_lock:
        return frozenset(_broken)


def open_image(path: str, doc_id: str) -> Image.Image:
    """Return a picture as RGB, turned as its EXIF says, transparency on white.

    A picture that is missing or broken must not end a run: a 64x64 grey square takes its place, a
    warning names the document once per path, and `broken_images` remembers the path.
    """
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as image:
            return _as_rgb(ImageOps.exif_transpose(image))
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
