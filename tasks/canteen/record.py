"""The record of one photographed tray: what was predicted, what is true, how alike they are.

Everything that is reported about the canteen set is computed from these records; the sample logs
keep them, so another threshold or matcher needs no model run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lmms_eval_food.filters.reading import Status
from lmms_eval_food.metrics.meals import ImageResult, match_image
from lmms_eval_food.tasks.common import as_logged


@dataclass(frozen=True, slots=True)
class TrayRecord:
    """One answered photo.

    Attributes:
        id: The photo's file name.
        reader: Whose rules read it, "official" or "robust".
        status: How the answer was read (`filters.reading.Status`).
        step: The step of the repair chain that read it.
        marks: What the reader noted about it.
        raw: The model's text, unchanged.
        items: Predicted foods: name, grams (None where none), text (the portion as written), marks.
        foods: True names.
        grams: True weights in grams.
        similarity: One row a predicted food, one column a true one.
        matcher: What scored the similarity.
        participant: Who took the photo.
        data: Where the documents came from.
        broken_pictures: Pictures that could not be opened and were sent as grey squares.
    """

    id: str
    reader: str
    status: str
    step: str
    marks: tuple[str, ...]
    raw: str
    items: list[dict[str, Any]]
    foods: list[str]
    grams: list[float]
    similarity: list[list[float]]
    matcher: str
    participant: str
    data: str
    broken_pictures: int

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the record that a sample log holds; other fields are ignored."""
        known = {name: fields[name] for name in cls.__slots__}
        return cls(**{**known, "marks": tuple(fields["marks"])})

    def to_dict(self) -> dict[str, Any]:
        """Return the record as the sample log holds it."""
        return as_logged(self)

    @property
    def failed(self) -> bool:
        """Whether the request never got an answer."""
        return self.status == Status.FAILED

    def result(self) -> ImageResult:
        """Return the tray with its foods paired greedily, for any threshold."""
        shape = (len(self.items), len(self.foods))
        return match_image(
            self.id,
            [(item["name"], item["grams"]) for item in self.items],
            list(zip(self.foods, self.grams, strict=True)),
            np.array(self.similarity, dtype=np.float64).reshape(shape),
        )
