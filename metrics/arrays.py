"""Array types and the input checks that several metrics share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


def as_flags(values: npt.ArrayLike, name: str) -> BoolArray:
    """Return `values` as booleans, shape (n,).

    Args:
        values: Booleans, or numbers that are 0 or 1.
        name: What the error message calls them.

    Raises:
        ValueError: not one-dimensional, or a value (nan included) is neither 0 nor 1.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, its shape is {array.shape}")
    if not np.isin(array, (0.0, 1.0)).all():
        raise ValueError(f"{name} must hold only true and false (1 and 0)")
    return array.astype(np.bool_)


def as_finite(values: npt.ArrayLike, name: str) -> FloatArray:
    """Return `values` as floats, shape (n,).

    Args:
        values: Numbers.
        name: What the error message calls them.

    Raises:
        ValueError: not one-dimensional, or a value is nan or infinite.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, its shape is {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    return array
