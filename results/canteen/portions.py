"""What the portion estimates are worth: the canteen paper's Tables 3 and 4 and Section 3."""

from __future__ import annotations

import math

import numpy as np

from lmms_eval_food.metrics.calibration import Calibration, calibrate
from lmms_eval_food.metrics.matches import Matches, typical_servings
from lmms_eval_food.metrics.portion_analysis import (
    ROUNDING_STEP,
    SignedError,
    error_by_category,
    error_by_quartile,
    quartile_edges,
    rounding_share,
)
from lmms_eval_food.metrics.typical_serving import (
    WITHIN_FOOD_ITEMS,
    compare_with_typical_serving,
    within_food_correlation,
)
from lmms_eval_food.results.canteen.cohort import Cohort
from lmms_eval_food.results.tables import Cell, Table, interval

_ERRORS = ("n", "mean error", "median error", "MAE", "median ratio", "share below")


def same_items_table(cohort: Cohort) -> Table:
    """Return each model beside the typical serving on the items that it quantified."""
    rows: list[tuple[Cell, ...]] = []
    for entry, matches in zip(cohort.entries, cohort.matches, strict=True):
        counts = cohort.counts(len(entry.photos))
        same = compare_with_typical_serving(matches, typical_servings(entry.photos), counts)
        within = within_food_correlation(matches, counts)
        rows.append(
            (
                *(entry.label, same.n, same.model_mae, same.typical_mae),
                *(same.model_medape, same.typical_medape, same.combined_mae),
                *(same.gain.difference, interval(same.gain.low, same.gain.high, 1)),
                *(same.gain.p_value, within.n_foods, within.n_items),
                *(within.r, interval(within.low, within.high, 2)),
            )
        )
    return Table(
        "Canteen: the model and the typical serving on the same items",
        (
            *("run", "n", "MAE model", "MAE typical", "MedAPE % model", "MedAPE % typical"),
            *("MAE combined", "gain over typical", "gain 95% interval", "gain p"),
            *("foods", "their items", "r within food", "r 95% interval"),
        ),
        tuple(rows),
        f"{cohort.threshold_note} {cohort.bootstrap_note} Grams. Combined: intercept + a model + c "
        "typical, fitted to all other photos. r: foods with at least "
        f"{WITHIN_FOOD_ITEMS} matched items. Source: Section 2.2.4 and Table 3.",
    )


def calibration_table(cohort: Cohort) -> Table:
    """Return the line true = b + k predicted of each run, and of replicates taken together."""
    found = [
        (entry.label, _calibrated([matches]))
        for entry, matches in zip(cohort.entries, cohort.matches, strict=True)
    ]
    for runs in (runs for sweep in cohort.sweeps.values() for runs in sweep.values()):
        if len(runs) > 1:
            pooled = _calibrated([cohort.matches[index] for index in runs])
            found.append((f"{cohort.entries[runs[0]].label} and its replicates", pooled))
    rows: list[tuple[Cell, ...]] = []
    for label, fit in found:
        (var_b, shared), (_, var_k) = fit.covariance
        rows.append(
            (
                *(label, fit.n, fit.b, math.sqrt(var_b), fit.k, math.sqrt(var_k), shared),
                *(fit.raw.mae, fit.in_sample.mae, fit.left_out.mae),
                *(fit.raw.medae, fit.in_sample.medae, fit.left_out.medae),
            )
        )
    return Table(
        "Canteen: calibration",
        (
            *("run", "n", "b", "sd of b", "k", "sd of k", "covariance of b and k"),
            *(f"{score} {how}" for score in ("MAE", "MedAE") for how in _FITS),
        ),
        tuple(rows),
        f"{cohort.threshold_note} Grams; true = b + k predicted, by least squares. Left out: each "
        "photo by the line of all other photos. The standard deviations take items for "
        "independent. Source: Equation 5 and Table 4.",
    )


_FITS = ("raw", "in sample", "left out")


def _calibrated(runs: list[Matches]) -> Calibration:
    items = [run.quantified() for run in runs]
    return calibrate(
        np.concatenate([run.pred_grams for run in items]),
        np.concatenate([run.true_grams for run in items]),
        [image for run in items for image in run.image_ids],
    )


def quartile_table(cohort: Cohort) -> Table:
    """Return the signed errors of small to large portions."""
    items = [matches.quantified() for matches in cohort.matches]
    ranked = [items[at].true_grams for at in cohort.ranked]
    edges = quartile_edges(np.concatenate([np.empty(0), *ranked]))
    names = (
        *(f"up to {edges[0]:g} g", f"to {edges[1]:g} g", f"to {edges[2]:g} g"),
        f"above {edges[2]:g} g",
    )
    rows = [
        (entry.label, name, *_error(part))
        for entry, run in zip(cohort.entries, items, strict=True)
        for name, part in zip(
            names, error_by_quartile(run.pred_grams, run.true_grams, edges), strict=True
        )
        if not math.isnan(edges[0])
    ]
    return Table(
        "Canteen: signed error by portion size",
        ("run", "true portion", *_ERRORS),
        tuple(rows),
        f"{cohort.threshold_note} Predicted minus true, grams; quartiles of the matched items of "
        "all runs here that are compared. Source: Section 3.",
    )


def category_table(cohort: Cohort) -> Table:
    """Return the errors of each kind of food."""
    rows = []
    for entry, matches in zip(cohort.entries, cohort.matches, strict=True):
        run = matches.quantified()
        parts = error_by_category(run.foods, run.pred_grams, run.true_grams, cohort.rules)
        rows += [(entry.label, part.group, *_error(part)) for part in parts]
    return Table(
        "Canteen: errors by kind of food",
        ("run", "category", *_ERRORS),
        tuple(rows),
        f"{cohort.threshold_note} Predicted minus true, grams; ratio: predicted / true. Categories "
        "by keyword rules. Source: Section 3 and Table A1.",
    )


def _error(part: SignedError) -> tuple[Cell, ...]:
    return (
        *(part.n, part.mean_error, part.median_error),
        *(part.mae, part.median_ratio, part.below),
    )


def rounding_table(cohort: Cohort) -> Table:
    """Return how many estimates are multiples of 50 g."""
    rows = []
    for entry, matches in zip(cohort.entries, cohort.matches, strict=True):
        matched = matches.quantified()
        given = entry.items.pred_grams
        rows.append(
            (
                *(entry.label, int((~np.isnan(given)).sum()), rounding_share(given)),
                *(matched.pred_grams.size, rounding_share(matched.pred_grams)),
                rounding_share(matched.true_grams),
            )
        )
    return Table(
        f"Canteen: estimates that are multiples of {ROUNDING_STEP:g} g",
        (
            *("run", "estimates", "share", "matched estimates", "share of matched"),
            "share of their true weights",
        ),
        tuple(rows),
        f"{cohort.threshold_note} Source: Section 3.",
    )
