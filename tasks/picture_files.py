"""Hands a picture file on as it is: the model's server gets the very bytes, with their MIME type.

lmms-eval decodes every picture and encodes it again as PNG for each request. The benchmarks' own
scripts send the file. So the chat form of our requests holds a `FilePicture`, which any backend can
use like a Pillow image, and `install` teaches the host's two makers of OpenAI-type messages (used
by its vLLM and OpenAI backends) to send the bytes of these. Other tasks' pictures go their old way.

Not every file can be sent as it is: servers turn nothing upright and do not agree about odd colour
modes. Such a picture is mended (`images.open_image`), stays a plain Pillow image, and the host
encodes it as it does by default, PNG without loss unless LMMS_IMAGE_ENCODE_FORMAT says otherwise.
"""

from __future__ import annotations

import atexit
import base64
import functools
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, cast

from loguru import logger
from PIL import Image

from lmms_eval_food.tasks import images

MIME_TYPES = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
MAKERS = ("to_openai_messages", "to_qwen3_vl_openai_messages")
# Where a PNG may say how it is turned; chunks behind the pixels are read only with them.
PNG_ORIENTATION = (b"eXIf", b"Raw profile type exif", b"XML:com.adobe.xmp")

_mended: dict[str, str] = {}
_mended_lock = threading.Lock()


class FilePicture(Image.Image):
    """A picture of a file that needs no mending: its bytes, and pixels once they are asked for.

    Attributes:
        data: The file's bytes.
        mime_type: Their type, e.g. "image/jpeg".
    """

    def __init__(self, path: str, doc_id: str, data: bytes, header: Image.Image) -> None:
        super().__init__()
        self._mode, self._size = "RGB", header.size
        self._origin = (path, doc_id)
        self.data = data
        self.mime_type = MIME_TYPES[str(header.format)]

    @property
    def url(self) -> str:
        """The bytes as a data URL."""
        return f"data:{self.mime_type};base64,{base64.b64encode(self.data).decode('ascii')}"

    def load(self) -> Any:
        """Decode the pixels where that has not been done; Pillow calls this before any use."""
        if self._im is None:
            pixels = images.open_image(*self._origin, self.data)
            # A file that turns out to be broken only now is a grey square of another size.
            self._im, self._size = pixels.im, pixels.size
        return super().load()

    def __reduce__(self) -> tuple[Any, ...]:
        return picture, (*self._origin, self.data)


def picture(path: str, doc_id: str, data: bytes | None = None) -> Image.Image:
    """Return a `FilePicture`, or a plain mended image where the file cannot be sent as it is.

    Never raises for a file that is missing or broken; see `images.open_image`.

    Args:
        path: The file.
        doc_id: The document it belongs to, for the warning about a broken file.
        data: The file's bytes, where they have been read already.
    """
    try:
        data = Path(path).read_bytes() if data is None else data
        with Image.open(BytesIO(data)) as header:
            reason = _why_mend(header, data)
            if not reason:
                return FilePicture(path, doc_id, data, header)
    except Image.DecompressionBombError:
        reason = f"more than {images.max_pixels()} pixels"
    except Exception:  # like `images.open_image`, which says what is wrong
        reason = "a header that cannot be read"
    image = images.open_image(path, doc_id, data)
    if path not in images.broken_images():
        _note(path, reason)
    return image


def _why_mend(header: Image.Image, data: bytes) -> str:
    """Return why a file cannot be sent as it is, "" when it can. Raises on some broken files."""
    kind = str(header.format)
    if kind not in MIME_TYPES:
        return f"format {kind}"
    if header.mode not in ("RGB", "L"):
        return f"colour mode {header.mode}"
    # Pillow calls 16-bit colour RGB too. The byte behind width and height is the bit depth.
    if kind == "PNG" and data[12:16] == b"IHDR" and data[24] == 16:
        return "16 bit"
    if header.has_transparency_data:
        return "transparency"
    if getattr(header, "n_frames", 1) > 1:
        return "several frames"
    limit = images.max_pixels()
    if limit is not None and header.width * header.height > limit:
        return f"more than {limit} pixels"
    if kind == "PNG":
        turned = any(mark in data for mark in PNG_ORIENTATION) and images.turn_of(header) != 1
    else:
        turned = images.turn_of(header) != 1
    images.check_whole(kind, data)
    return "EXIF rotation" if turned else ""


def mended_pictures() -> dict[str, str]:
    """Return the paths that `picture` had to mend in this process, each with the reason.

    Broken files are not among them; `images.broken_images` has those.
    """
    with _mended_lock:
        return dict(_mended)


def _note(path: str, reason: str) -> None:
    with _mended_lock:
        first = not _mended
        _mended[path] = reason
    if first:
        atexit.register(report_mended)
        logger.info(
            f"the picture {path} is re-encoded ({reason}); all such are counted when the run ends"
        )


def report_mended() -> None:
    """Log how many pictures were mended in this process, and why; runs when the process ends."""
    reasons = Counter(mended_pictures().values())
    shown = ", ".join(f"{reason}: {number}" for reason, number in sorted(reasons.items()))
    logger.warning(
        f"lmms-eval-food: {reasons.total()} pictures were re-encoded before they were sent "
        f"({shown})"
    )


def install() -> None:
    """Make the host send our pictures' bytes. A host without its makers of messages gets a warning.

    Calling it again changes nothing.
    """
    from lmms_eval import protocol

    chat = getattr(protocol, "ChatMessages", None)
    missing = [name for name in MAKERS if not hasattr(chat, name)]
    for name in MAKERS:
        original = getattr(chat, name, None)
        if original is not None and not getattr(original, "sends_files", False):
            setattr(chat, name, _sending_files(original, protocol))
    if missing:
        warnings.warn(
            f"lmms-eval-food: this lmms-eval has no ChatMessages.{' and no '.join(missing)}, so "
            "pictures are sent the host's own way, decoded and encoded again. Install lmms-eval "
            "0.7.3 to send the files as they are.",
            stacklevel=2,
        )


class _Place(str):
    """A text that keeps a picture's place in the messages while the host builds them."""

    picture: FilePicture


def _sending_files(original: Callable[..., Any], protocol: Any) -> Callable[..., Any]:
    def kept(content: Any) -> Any:
        if not isinstance(getattr(content, "url", None), FilePicture):
            return content
        place = _Place("picture")
        place.picture = content.url
        return protocol.ChatTextContent.model_construct(type="text", text=place)

    def sent(part: Any) -> Any:
        place = part.get("text")
        if not isinstance(place, _Place):
            return part
        return {"type": "image_url", "image_url": {"url": place.picture.url}}

    @functools.wraps(original)
    def make(self: Any, *args: Any, **kwargs: Any) -> Any:
        contents = [content for message in self.messages for content in message.content]
        if not any(isinstance(getattr(content, "url", None), FilePicture) for content in contents):
            return original(self, *args, **kwargs)
        messages = [
            message.model_copy(update={"content": [kept(content) for content in message.content]})
            for message in self.messages
        ]
        built = original(self.model_copy(update={"messages": messages}), *args, **kwargs)
        return [{**turn, "content": [sent(part) for part in turn["content"]]} for turn in built]

    cast(Any, make).sends_files = True
    return make
