"""Picture files sent as they are, and the ones that have to be mended first."""

from __future__ import annotations

import atexit
import base64
import copy
import hashlib
import pickle
import struct
import types
import warnings
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loguru import logger
from PIL import Image, ImageFile, ImageOps
from qwen_vl_utils import process_vision_info

from lmms_eval_food.tasks import images, picture_files
from lmms_eval_food.tasks.picture_files import FilePicture, picture

ORIENTATION = 0x0112
MIME = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}


@pytest.fixture(scope="module", autouse=True)
def no_report_when_the_tests_end() -> Iterator[None]:
    yield
    atexit.unregister(picture_files.report_mended)  # its stream is closed by then


def photo(size: tuple[int, int] = (40, 30), mode: str = "RGB") -> Image.Image:
    """Coloured stripes, so that turning or cutting shows."""
    width, height = size
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    pixels[..., 0] = np.linspace(0, 255, width, dtype=np.uint8)
    pixels[..., 1] = np.linspace(0, 255, height, dtype=np.uint8)[:, None]
    return Image.fromarray(pixels).convert(mode)


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def turned(kind: str, orientation: int) -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return encoded(photo(), kind, exif=exif)


def put(folder: Path, data: bytes) -> str:
    path = folder / f"{hashlib.sha256(data).hexdigest()[:16]}.img"
    path.write_bytes(data)
    return str(path)


def url_of(image: Image.Image, maker: str = "to_openai_messages") -> str:
    from lmms_eval.protocol import ChatMessages

    picture_files.install()
    turn = {"role": "user", "content": [{"type": "image", "url": image}]}
    (built,) = getattr(ChatMessages(messages=[turn]), maker)()
    (part,) = built["content"]
    assert part["type"] == "image_url"
    return str(part["image_url"]["url"])


@pytest.mark.parametrize("maker", picture_files.MAKERS)
@pytest.mark.parametrize("kind", MIME)
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_sound_file_is_sent_as_it_is(tmp_path: Path, kind: str, mode: str, maker: str) -> None:
    data = encoded(photo(mode=mode), kind)
    opened = picture(put(tmp_path, data), "d")
    head, _, body = url_of(opened, maker).partition(",")
    assert head == f"data:{MIME[kind]};base64"
    assert base64.b64decode(body, validate=True) == data


@pytest.mark.parametrize("kind", MIME)
def test_a_sound_file_can_be_used_like_any_image(tmp_path: Path, kind: str) -> None:
    data = encoded(photo(), kind)
    expected = np.asarray(Image.open(BytesIO(data)).convert("RGB"))
    opened = picture(put(tmp_path, data), "d")
    assert isinstance(opened, FilePicture)
    assert (opened.size, opened.width, opened.height, opened.mode) == ((40, 30), 40, 30, "RGB")
    for use in (
        opened,
        opened.copy(),
        opened.convert("RGB"),
        opened.crop((0, 0, 40, 30)),
        copy.deepcopy(opened),
        pickle.loads(pickle.dumps(opened)),
    ):
        assert np.array_equal(np.asarray(use), expected)
    again = Image.open(BytesIO(encoded(opened, "PNG")))
    assert np.array_equal(np.asarray(again), expected)
    assert opened.resize((20, 15)).size == (20, 15)
    # What is drawn on or changed is a new image, which has no file.
    assert not isinstance(opened.copy(), FilePicture)


def test_a_copy_still_has_the_bytes_that_were_read(tmp_path: Path) -> None:
    path = put(tmp_path, encoded(photo(), "JPEG"))
    opened = picture(path, "d")
    assert isinstance(opened, FilePicture)
    Path(path).unlink()
    assert copy.deepcopy(opened).url == opened.url
    assert np.asarray(opened).std() > 0


def test_transformers_backends_get_the_same_pixels(tmp_path: Path) -> None:
    from lmms_eval.protocol import ChatMessages

    opened = picture(put(tmp_path, encoded(photo((56, 56)), "PNG")), "d")
    turn = {"role": "user", "content": [{"type": "image", "url": opened}]}
    (seen,), _ = process_vision_info(ChatMessages(messages=[turn]).to_hf_messages())
    assert np.array_equal(np.asarray(seen), np.asarray(photo((56, 56))))


def png16() -> bytes:
    """Eight by eight pixels of 16-bit colour: Pillow can read that, not write it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = (b"\0" + struct.pack(">HHH", 300, 40000, 65535) * 8) * 8
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 16, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


MENDED = {
    "16 bit": png16(),
    "colour mode CMYK": encoded(photo(mode="CMYK"), "JPEG"),
    "colour mode P": encoded(photo(mode="P"), "PNG"),
    "colour mode RGBA": encoded(photo(mode="RGBA"), "PNG"),
    "colour mode LA": encoded(photo(mode="LA"), "PNG"),
    "colour mode 1": encoded(photo(mode="1"), "PNG"),
    "colour mode I;16": encoded(Image.fromarray(np.full((8, 8), 300, np.uint16)), "PNG"),
    "transparency": encoded(photo(), "PNG", transparency=(0, 0, 0)),
    "format GIF": encoded(photo(), "GIF"),
    "format BMP": encoded(photo(), "BMP"),
    "format TIFF": encoded(photo(), "TIFF"),
    "several frames": encoded(
        photo(), "WEBP", save_all=True, append_images=[photo().rotate(180)], lossless=True
    ),
}


def mended(path: str) -> str:
    opened = picture(path, "d")
    assert not isinstance(opened, FilePicture)
    assert np.array_equal(np.asarray(opened), np.asarray(images.open_image(path, "d")))
    head, _, body = url_of(opened).partition(",")
    assert head == "data:image/png;base64"
    sent = Image.open(BytesIO(base64.b64decode(body)))
    assert sent.mode == "RGB"
    assert np.array_equal(np.asarray(sent), np.asarray(opened))
    return picture_files.mended_pictures()[path]


@pytest.mark.parametrize("reason", MENDED)
def test_an_odd_file_is_mended_without_loss_and_counted(tmp_path: Path, reason: str) -> None:
    assert mended(put(tmp_path, MENDED[reason])) == reason


def test_the_report_names_each_reason_with_its_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_files, "_mended", {})
    for data in (MENDED["format GIF"], MENDED["format BMP"], encoded(photo((9, 9)), "GIF")):
        for _ in range(2):
            picture(put(tmp_path, data), "d")
    lines: list[str] = []
    handle = logger.add(lines.append, level="WARNING", format="{message}")
    picture_files.report_mended()
    logger.remove(handle)
    (line,) = lines
    assert "3 pictures" in line
    assert "(format BMP: 1, format GIF: 2)" in line


@pytest.mark.parametrize("kind", MIME)
@pytest.mark.parametrize("orientation", range(10))
def test_only_a_turned_file_is_turned(tmp_path: Path, kind: str, orientation: int) -> None:
    path = put(tmp_path, turned(kind, orientation))
    if 2 <= orientation <= 8:
        assert mended(path) == "EXIF rotation"
        assert picture(path, "d").size == ((40, 30) if orientation < 5 else (30, 40))
    else:
        assert isinstance(picture(path, "d"), FilePicture)
        assert path not in picture_files.mended_pictures()


@pytest.mark.parametrize("kind", MIME)
@pytest.mark.parametrize("turn", range(1, 9))
def test_turning_is_pillows_own(tmp_path: Path, kind: str, turn: int) -> None:
    data = turned(kind, turn)
    expected = np.asarray(ImageOps.exif_transpose(Image.open(BytesIO(data))))
    assert np.array_equal(np.asarray(picture(put(tmp_path, data), "d")), expected)


BAD_EXIF = {
    "other header": b"Exif\0\0garbagegarbage",
    "zeros": b"Exif\0\0" + bytes(20),
    "text": b"camera",
    "nothing": b"\0\0\0\0",
    "offset behind the end": b"Exif\0\0II*\0\xff\xff\xff\x7f",
    "cut": b"Exif\0\0II*\0\x08\0\0\0\x05\0",
    # Orientation 6, given as a text.
    "other type": b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x02\0\0\0\x02\x36\0\0\0\0\0\0\0",
}


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
@pytest.mark.parametrize("kind", MIME)
@pytest.mark.parametrize("exif", BAD_EXIF)
def test_exif_data_that_cannot_be_read_turn_nothing(tmp_path: Path, kind: str, exif: str) -> None:
    data = encoded(photo(), kind, exif=BAD_EXIF[exif])
    path = put(tmp_path, data)
    opened = picture(path, "d")
    assert isinstance(opened, FilePicture)
    assert opened.data == data
    expected = np.asarray(Image.open(BytesIO(data)))
    assert np.array_equal(np.asarray(images.open_image(path, "d")), expected)
    assert path not in images.broken_images()


@pytest.mark.filterwarnings("ignore:Corrupt EXIF")
def test_a_turned_picture_is_turned_though_the_rest_of_its_exif_is_cut(tmp_path: Path) -> None:
    # Five entries are announced; the first, orientation 6, is the only one.
    exif = b"Exif\0\0II*\0\x08\0\0\0\x05\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"
    path = put(tmp_path, encoded(photo(), "JPEG", exif=exif))
    assert mended(path) == "EXIF rotation"
    assert picture(path, "d").size == (30, 40)


@pytest.mark.parametrize("host_flag", [False, True])
@pytest.mark.parametrize("kind", MIME)
@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.9, 0.98])
def test_a_cut_file_is_a_grey_square(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, kept: float, host_flag: bool
) -> None:
    # The host tells Pillow to fill up cut files silently.
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", host_flag)
    data = encoded(Image.effect_noise((90, 60), 80).convert("RGB"), kind)
    path = put(tmp_path, data[: int(len(data) * kept)] + bytes([host_flag]))
    opened = picture(path, "d")
    assert (opened.size, opened.getpixel((5, 5))) == ((64, 64), (128, 128, 128))
    assert path in images.broken_images()
    assert path not in picture_files.mended_pictures()


@pytest.mark.parametrize("kind", MIME)
def test_bytes_behind_the_end_do_no_harm(tmp_path: Path, kind: str) -> None:
    data = encoded(photo(), kind) + b"\x00camera's own" * 999
    opened = picture(put(tmp_path, data), "d")
    assert isinstance(opened, FilePicture)
    assert opened.data == data


def test_the_end_mark_of_a_thumbnail_is_not_the_pictures(tmp_path: Path) -> None:
    sound = encoded(photo(), "JPEG")
    thumbnail = b"\xff\xe2" + (2 + len(sound)).to_bytes(2, "big") + sound
    data = sound[:2] + thumbnail + sound[2:]
    assert isinstance(picture(put(tmp_path, data), "d"), FilePicture)
    cut = put(tmp_path, data[:-40])
    assert picture(cut, "d").size == (64, 64)
    assert cut in images.broken_images()


def test_a_file_found_broken_late_becomes_a_grey_square(tmp_path: Path) -> None:
    data = encoded(photo(), "WEBP", lossless=True)
    spoilt = data[:40] + bytes(len(data) - 40)
    path = put(tmp_path, spoilt)
    opened = picture(path, "d")
    assert isinstance(opened, FilePicture)  # the header and the length are right
    opened.load()
    assert (opened.size, opened.getpixel((5, 5))) == ((64, 64), (128, 128, 128))
    assert path in images.broken_images()


@pytest.mark.parametrize(
    ("limit", "size"), [("1200", (40, 30)), ("1199", (39, 29)), ("300", (20, 15)), ("1", (1, 1))]
)
def test_a_pixel_limit_makes_larger_pictures_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, size: tuple[int, int]
) -> None:
    path = put(tmp_path, encoded(photo(), "JPEG", comment=limit.encode()))
    monkeypatch.setenv(images.MAX_PIXELS, limit)
    opened = picture(path, "d")
    assert opened.size == size
    assert images.open_image(path, "d").size == size
    assert isinstance(opened, FilePicture) == (limit == "1200")
    if limit != "1200":
        assert mended(path) == f"more than {limit} pixels"


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize(
    ("kind", "limit", "size", "says"),
    [
        ("JPEG", "300", (20, 15), ""),
        # 1,199 pixels would do, but Pillow's decoder only halves.
        ("JPEG", "1199", (20, 15), ""),
        # A quarter is 10 by 8 pixels, five too many.
        ("JPEG", "75", (9, 7), ""),
        ("JPEG", "", (64, 64), f"set {images.MAX_PIXELS}"),
        ("PNG", "300", (64, 64), "make the file smaller, or a JPEG"),
        ("WEBP", "", (64, 64), "make the file smaller, or a JPEG"),
    ],
)
def test_a_picture_beyond_pillows_limit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    limit: str,
    size: tuple[int, int],
    says: str,
) -> None:
    # 1,200 pixels are more than twice this; twice is what Pillow allows.
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 599)
    monkeypatch.setenv(images.MAX_PIXELS, limit)
    path = put(tmp_path, encoded(photo(), kind, **({"comment": limit} if kind == "JPEG" else {})))
    lines: list[str] = []
    handle = logger.add(lines.append, level="WARNING", format="{message}")
    assert picture(path, "d").size == size
    assert images.open_image(path, "d").size == size
    logger.remove(handle)
    assert (path in images.broken_images()) == bool(says)
    if says:
        assert len(lines) == 1
        assert says in lines[0]
    else:
        assert lines == []
        assert picture_files.mended_pictures()[path] == f"more than {limit} pixels"


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_a_limit_close_to_the_size_does_not_decode_more_than_is_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    monkeypatch.setenv(images.MAX_PIXELS, "1000")
    path = put(tmp_path, encoded(photo(), "JPEG", comment=b"close"))
    lines: list[str] = []
    handle = logger.add(lines.append, level="WARNING", format="{message}")
    assert picture(path, "d").size == (64, 64)
    logger.remove(handle)
    assert f"lower {images.MAX_PIXELS}" in lines[0]


@pytest.mark.parametrize("text", ["0", "-5", "a", "1e6", "1.5", "١٢", "9" * 5000])
def test_a_wrong_pixel_limit_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(images.MAX_PIXELS, text)
    with pytest.raises(ValueError, match=f"{images.MAX_PIXELS}="):
        images.max_pixels()


@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 5000))
@settings(max_examples=100)
def test_a_limited_picture_keeps_within_its_limit(width: int, height: int, limit: int) -> None:
    data = encoded(Image.new("RGB", (width, height)), "PNG")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(images.MAX_PIXELS, str(limit))
        new = images.open_image("made.png", "d", data)
    assert 1 <= new.width <= width
    assert 1 <= new.height <= height
    assert new.width * new.height <= limit or (width, height) == new.size
    if width * height <= limit:
        assert new.size == (width, height)


@given(
    st.binary(max_size=400)
    | st.tuples(st.sampled_from(sorted(MIME)), st.integers(2, 900), st.binary(max_size=20)).map(
        lambda cut: encoded(photo((9, 9)), cut[0])[: cut[1]] + cut[2]
    )
    | st.integers(1, 100_000).map(lambda n: b"\xff\xd8" + b"\xff" * n)
    | st.integers(1, 100_000).map(lambda n: b"\xff\xd8" + b"\xff\xe1\x00\x00" * n)
)
@settings(max_examples=200)
def test_no_file_ends_a_run(data: bytes) -> None:
    opened = picture("made", "d", data)
    opened.load()
    assert opened.mode == "RGB"
    assert url_of(opened).startswith("data:image/")


def test_threads_may_build_requests_together(tmp_path: Path) -> None:
    paths = [put(tmp_path, turned("PNG", 3)), put(tmp_path, encoded(photo(), "JPEG"))] * 20
    with ThreadPoolExecutor(8) as pool:
        urls = list(pool.map(lambda path: url_of(picture(path, "d")), paths))
    assert urls == urls[:2] * 20


def test_pictures_of_other_tasks_go_the_hosts_way() -> None:
    from lmms_eval.protocol import ChatMessages

    picture_files.install()
    turn = {
        "role": "user",
        "content": [{"type": "image", "url": photo()}, {"type": "text", "text": "picture"}],
    }
    made = getattr(ChatMessages.to_openai_messages, "__wrapped__")  # noqa: B009 # not typed
    assert ChatMessages(messages=[turn]).to_openai_messages() == made(ChatMessages(messages=[turn]))


def test_order_is_kept_among_texts_and_other_pictures(tmp_path: Path) -> None:
    from lmms_eval.protocol import ChatMessages

    picture_files.install()
    kinds = ["JPEG", "PNG", "WEBP"]
    ours = [picture(put(tmp_path, encoded(photo(), kind)), "d") for kind in kinds]
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": "a"},
        {"type": "image", "url": ours[0]},
        {"type": "image", "url": photo()},
        {"type": "image", "url": ours[1]},
        {"type": "image", "url": ours[0]},
        {"type": "text", "text": "b"},
        {"type": "image", "url": ours[2]},
    ]
    system = {"role": "system", "content": [{"type": "text", "text": "s"}]}
    messages = ChatMessages(messages=[system, {"role": "user", "content": parts}])
    first, second = messages.to_openai_messages()
    assert first == {"role": "system", "content": [{"type": "text", "text": "s"}]}
    assert second["role"] == "user"
    seen = [
        part["text"] if part["type"] == "text" else part["image_url"]["url"]
        for part in second["content"]
    ]
    jpeg, png, webp = (image.url for image in ours if isinstance(image, FilePicture))
    assert seen == ["a", jpeg, url_of(photo()), png, jpeg, "b", webp]
    assert messages.messages[1].content[1].url is ours[0]  # nothing was changed on the way


def test_installing_twice_wraps_once() -> None:
    from lmms_eval.protocol import ChatMessages

    picture_files.install()
    first = ChatMessages.to_openai_messages
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture_files.install()
    assert ChatMessages.to_openai_messages is first


@pytest.mark.parametrize("present", [False, True])
def test_a_host_without_the_makers_gets_a_warning(
    monkeypatch: pytest.MonkeyPatch, present: bool
) -> None:
    import lmms_eval

    stand_in = types.SimpleNamespace()
    if present:
        stand_in.ChatMessages = type("ChatMessages", (), {"to_openai_messages": lambda self: []})
    monkeypatch.setattr(lmms_eval, "protocol", stand_in)
    with pytest.warns(UserWarning, match="to_qwen3_vl_openai_messages"):
        picture_files.install()
