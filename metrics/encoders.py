"""The two kinds of sentence-transformers model that compare names.

A bi-encoder turns each name into a vector once and compares vectors; a cross-encoder reads each
(predicted, true) pair. Neither loads anything before it must compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lmms_eval_food.metrics.arrays import BoolArray, FloatArray
from lmms_eval_food.metrics.score_cache import Key, Vector
from lmms_eval_food.metrics.weights import MatcherError, Weights, WeightSource, find_weights

# Names are a few tokens long, so large batches fit anywhere.
BATCH_SIZE = 64

# Opens the model that lies in a folder, on a device.
OpenModel = Callable[[Path, str], Any]


class Encoder(Protocol):
    """What computes similarities: vectors for keys first, then a photo's matrix from them."""

    @property
    def fingerprint(self) -> str:
        """Weights, output and library version."""

    def keys(self, preds: Sequence[str], trues: Sequence[str], wanted: BoolArray) -> list[Key]:
        """Return what must be computed for the wanted cells of (n_pred, n_true)."""

    def compute(self, keys: Sequence[Key]) -> list[Vector]:
        """Return one vector a key."""

    def matrix(
        self,
        preds: Sequence[str],
        trues: Sequence[str],
        wanted: BoolArray,
        vectors: Mapping[Key, Vector],
    ) -> FloatArray:
        """Return similarities, shape (n_pred, n_true); only the wanted cells mean anything."""


class _Model:
    """Weights that are looked for, and a model that is opened, when first needed."""

    output: str

    def __init__(self, source: WeightSource, device: str, open_model: OpenModel) -> None:
        self._source = source
        self._device = device
        self._open = open_model

    @cached_property
    def _weights(self) -> Weights:
        return find_weights(self._source)

    @cached_property
    def _model(self) -> Any:
        return self._open(self._weights.folder, self._device)

    @cached_property
    def fingerprint(self) -> str:
        """Model, first digits of its weights' SHA-256, output, library version."""
        # A local folder is named by its last part: no machine's paths in results.
        model = self._source.model.rstrip("/")
        model = Path(model).name if Path(model).expanduser().is_dir() else model
        library = version("sentence-transformers")
        digest = self._weights.digest[:12]
        return f"{model} sha256:{digest} {self.output} sentence-transformers {library}"


def _open_bi_encoder(folder: Path, device: str) -> Any:
    # Imported here and below: the library takes many seconds, and cached scores need no model.
    from sentence_transformers import SentenceTransformer

    # float(): half-precision weights would move scores with the machine.
    return SentenceTransformer(str(folder), device=device, local_files_only=True).float()


def _open_cross_encoder(folder: Path, device: str) -> Any:
    from sentence_transformers import CrossEncoder as Model

    return Model(str(folder), device=device, local_files_only=True).float()


class BiEncoder(_Model):
    """Cosine of two names' embeddings, in [-1, 1]; each name is encoded once."""

    output = "cosine"

    def __init__(
        self, source: WeightSource, device: str, open_model: OpenModel = _open_bi_encoder
    ) -> None:
        super().__init__(source, device, open_model)

    def keys(self, preds: Sequence[str], trues: Sequence[str], wanted: BoolArray) -> list[Key]:
        """Return the names that occur in a wanted cell."""
        rows, columns = np.nonzero(wanted)
        names = [
            *(preds[row] for row in dict.fromkeys(rows.tolist())),
            *(trues[column] for column in dict.fromkeys(columns.tolist())),
        ]
        return [(name, "") for name in dict.fromkeys(names)]

    def compute(self, keys: Sequence[Key]) -> list[Vector]:
        """Return the unit vectors of the names."""
        vectors = self._model.encode(
            [name for name, _ in keys],
            batch_size=BATCH_SIZE,
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        embeddings = np.asarray(vectors, dtype=np.float32)
        if embeddings.ndim != 2 or len(embeddings) != len(keys):
            raise MatcherError(
                f"{self._source.model}: expected one embedding a name, "
                f"got an array of shape {embeddings.shape} for {len(keys)} names"
            )
        if not np.isfinite(embeddings).all():
            raise MatcherError(f"{self._source.model}: an embedding is not finite")
        return list(embeddings)

    def matrix(
        self,
        preds: Sequence[str],
        trues: Sequence[str],
        wanted: BoolArray,
        vectors: Mapping[Key, Vector],
    ) -> FloatArray:
        """Return cosines, 0 where a name was not encoded; shape (n_pred, n_true)."""
        if not wanted.any():
            return np.zeros(wanted.shape)
        none = np.zeros_like(next(iter(vectors.values())))
        left = np.stack([vectors.get((name, ""), none) for name in preds]).astype(np.float64)
        right = np.stack([vectors.get((name, ""), none) for name in trues]).astype(np.float64)
        cosines: FloatArray = left @ right.T
        return cosines


class CrossEncoder(_Model):
    """Sigmoid of a cross-encoder's output, in [0, 1]; each (predicted, true) pair is read once.

    The sigmoid is asked for by name: which one a model applies by itself differs between models
    and versions of the library, and a fixed threshold on raw values would mean something else.
    """

    output = "sigmoid"

    def __init__(
        self, source: WeightSource, device: str, open_model: OpenModel = _open_cross_encoder
    ) -> None:
        super().__init__(source, device, open_model)

    def keys(self, preds: Sequence[str], trues: Sequence[str], wanted: BoolArray) -> list[Key]:
        """Return the pairs of the wanted cells; the predicted name is read first."""
        return list(dict.fromkeys((preds[i], trues[j]) for i, j in np.argwhere(wanted).tolist()))

    def compute(self, keys: Sequence[Key]) -> list[Vector]:
        """Return the scores of the pairs, each of shape (1,)."""
        from torch.nn import Sigmoid

        output = self._model.predict(
            list(keys),
            batch_size=BATCH_SIZE,
            activation_fn=Sigmoid(),
            show_progress_bar=False,
        )
        scores = np.asarray(output, dtype=np.float32)
        if scores.shape != (len(keys),):
            raise MatcherError(
                f"{self._source.model}: expected one score a pair, "
                f"got an array of shape {scores.shape} for {len(keys)} pairs"
            )
        if not ((scores >= 0) & (scores <= 1)).all():
            raise MatcherError(
                f"{self._source.model}: scores must lie in [0, 1] after the sigmoid, "
                f"got {scores.min():g} to {scores.max():g}"
            )
        return list(scores.reshape(-1, 1))

    def matrix(
        self,
        preds: Sequence[str],
        trues: Sequence[str],
        wanted: BoolArray,
        vectors: Mapping[Key, Vector],
    ) -> FloatArray:
        """Return the scores of the wanted pairs, 0 elsewhere; shape (n_pred, n_true)."""
        scores = np.zeros(wanted.shape)
        for i, j in np.argwhere(wanted).tolist():
            scores[i, j] = vectors[preds[i], trues[j]][0]
        return scores
