"""Linear calibration of portion estimates: the canteen paper's Equation 5 and Table 4."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import FloatArray, as_finite
from lmms_eval_food.metrics.linear_fit import fit_and_leave_out


@dataclass(frozen=True, slots=True)
class Errors:
    """Absolute errors in grams: their mean and their median, lower is better; nan = undefined."""

    mae: float
    medae: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """The line true = b + k * predicted, and the errors with and without it.

    Attributes:
        n: Number of items, the paper's P.
        b: Intercept in grams.
        k: Slope; above 1 where large portions are underestimated.
        covariance: Covariance of (b, k) under independent errors of one variance: rows (g², g) and
            (g, 1). nan with fewer than three items. Items of one photo are not independent, so it
            is too small; the bootstrap over photos is not.
        raw: Errors of the estimates as they are.
        in_sample: Errors of b + k * estimate, on the items of the fit.
        left_out: The same, each photo's items by the line fitted to all other photos; nan where
            those leave the line open.
    """

    n: int
    b: float
    k: float
    covariance: tuple[tuple[float, float], tuple[float, float]]
    raw: Errors
    in_sample: Errors
    left_out: Errors


def calibrate(pred: npt.ArrayLike, true: npt.ArrayLike, images: Sequence[str]) -> Calibration:
    """Fit Equation 5 by least squares, and score it in and out of sample.

    Args:
        pred: Estimates of matched items in grams, shape (n,), finite.
        true: True grams, shape (n,), finite.
        images: The photo of each item, length n; replicate runs may be pooled, their photos having
            the same ids.

    Returns:
        The fit; everything but n is nan when n == 0, and all but n and `raw` when all estimates are
        alike. Calibrated estimates may be negative: they are not cut off.

    Raises:
        ValueError: lengths differ or a value is not finite.

    Source: the canteen paper, Section 3.2, Equation 5 and Table 4.
    """
    x, y = as_finite(pred, "pred"), as_finite(true, "true")
    if not x.shape == y.shape == (len(images),):
        raise ValueError(f"lengths differ: pred {x.size}, true {y.size}, images {len(images)}")
    fitted = fit_and_leave_out(x[:, None], y, images)
    return Calibration(
        n=x.size,
        b=float(fitted.coefficients[0]),
        k=float(fitted.coefficients[1]),
        covariance=_covariance(x, y - fitted.in_sample),
        raw=_errors(x - y),
        in_sample=_errors(fitted.in_sample - y),
        left_out=_errors(fitted.left_out - y),
    )


def _covariance(
    x: FloatArray, residual: FloatArray
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the covariance of (intercept, slope)."""
    if x.size < 3 or np.isnan(residual).any():
        return (math.nan, math.nan), (math.nan, math.nan)
    mean = float(x.mean())
    slope = float(np.square(residual).sum()) / (x.size - 2) / float(np.square(x - mean).sum())
    intercept = slope * (float(np.square(x - mean).mean()) + mean**2)
    return (intercept, -mean * slope), (-mean * slope, slope)


def _errors(difference: FloatArray) -> Errors:
    if not difference.size:
        return Errors(math.nan, math.nan)
    absolute = np.abs(difference)
    return Errors(float(absolute.mean()), float(np.median(absolute)))
