"""Finds the picture that a source's record names: by path, by file name, or by id."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence

PICTURE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp")
# So many last parts of a path are compared at most.
_DEPTH = 8


class PictureError(Exception):
    """No picture, or more than one, has the name; the message says which."""


def is_picture(path: str) -> bool:
    """Tell from its name whether a file is a picture."""
    return path.lower().endswith(PICTURE_SUFFIXES)


class Pictures:
    """The pictures of a source.

    A name is looked for among the ends of the pictures' paths, with and without their suffix:
    first the whole name, then without its first folder, and so on to the bare file name. What
    fits more than one picture is refused.

    Args:
        paths: The source's files.
        folders: Patterns of the folders that count; none: all.
        ids: Picture id -> the name it stands for.
    """

    def __init__(
        self,
        paths: Iterable[str],
        folders: Sequence[str] = (),
        ids: Mapping[str, str] | None = None,
    ) -> None:
        self._ids = ids or {}
        self._ends: dict[str, list[str]] = {}
        for path in paths:
            if is_picture(path) and (not folders or _is_below(path, folders)):
                for end in (*_ends(path), *_ends(path.rpartition(".")[0])):
                    self._ends.setdefault(end, []).append(path)

    def find(self, name: str) -> str:
        """Return the path of the picture that has this name.

        Raises:
            PictureError: no picture has it, or more than one.
        """
        name = self._ids.get(name, name)
        for end in _ends(name.replace("\\", "/")):
            found = self._ends.get(end, [])
            if len(found) == 1:
                return found[0]
            if found:
                raise PictureError(f"{len(found)} pictures have the name {end!r}: {found[:3]}")
        raise PictureError(f"no picture has the name {name!r}")


def _ends(path: str) -> list[str]:
    """Return a path's ends, the longest first: a/b.jpg, b.jpg."""
    parts = [part for part in path.split("/") if part not in ("", ".")][-_DEPTH:]
    return ["/".join(parts[start:]) for start in range(len(parts))]


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(f"/{path}", f"*/{folder.strip('/')}/*") for folder in folders)
