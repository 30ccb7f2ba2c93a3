"""Recommended settings as files for the host's `--config`, one a way of running a model."""

from __future__ import annotations

import re
from importlib.resources import files

_MODEL = re.compile(r"(?m)^(  model=)[^,\n]+")


def names() -> list[str]:
    """Return the configs' names, sorted."""
    folder = files("lmms_eval_food.results.configs")
    return sorted(
        file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml")
    )


def text(name: str, model: str | None = None) -> str:
    """Return a config as YAML text, for another model where one is named.

    Args:
        name: One of `names()`.
        model: What its `model_args` name in place of the file's own model.

    Raises:
        KeyError: there is no such config.
        ValueError: the model's name holds a comma or a line break, which `model_args` cannot hold.
    """
    if name not in names():
        raise KeyError(f"no config {name!r}: choose {', '.join(names())}")
    config = files("lmms_eval_food.results.configs").joinpath(f"{name}.yaml")
    written = config.read_text(encoding="utf-8")
    if model is None:
        return written
    if not model.strip() or "," in model or not model.isprintable():
        raise ValueError(f"a model's name may be no empty text and hold no comma: {model!r}")
    return _MODEL.sub(lambda found: found[1] + model, written, count=1)


def summary(name: str) -> str:
    """Return a config's first line, which says what it is for; `name` is one of `names()`."""
    return text(name).partition("\n")[0].removeprefix("# ")
