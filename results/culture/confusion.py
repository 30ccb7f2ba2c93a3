"""Which cuisines are taken for which, and whether models find the same ones difficult."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_food.metrics.arrays import IntArray
from lmms_eval_food.metrics.classification import grouped_accuracy
from lmms_eval_food.metrics.confusion import (
    ConfusionMatrix,
    FamilyConfusion,
    RegionAnswer,
    binomial_p,
    confusion_matrix,
    family_confusion,
    holm,
)
from lmms_eval_food.metrics.gaps import difficulty_agreement
from lmms_eval_food.results.culture.tasks import LETTERS, REGION
from lmms_eval_food.results.joined import Joined, Record, Settings, scored, table
from lmms_eval_food.results.tables import Cell, Table
from lmms_eval_food.tasks.culturalmenu.prompts import canonical_cuisine, families

# The share within a family that CulturalMenuBench expects of blind picks over its own items
# (Section 3.4, Table 9). Every set of items has its own, given beside it.
PAPER_CHANCE = 0.181

FAMILY_OF = {cuisine: family for family, members in families().items() for cuisine in members}


def confusion_tables(models: Sequence[Joined], settings: Settings) -> list[Table]:
    """Return the family test, the confusion matrices and the agreement on difficulty."""
    asked = {
        model.title: records
        for model in models
        if (records := scored(model.records(REGION, settings.reader)))
    }
    answers = {title: region_answers(records) for title, records in asked.items()}
    matrices = {title: confusion_matrix(known, FAMILY_OF) for title, known in answers.items()}
    return [
        *_family_test(asked, answers, settings),
        *_by_family(matrices, settings),
        *(found for title, matrix in matrices.items() for found in _by_cuisine(title, matrix)),
        *_agreement(asked, settings),
    ]


def region_answers(records: Sequence[Record]) -> list[RegionAnswer]:
    """Return what was chosen out of what, in the names of the 16 cuisines.

    Left out are questions with an option that is none of the 16, or with one cuisine twice: they
    have no family chance.
    """
    answers = []
    for record in records:
        names = [canonical_cuisine(option) for option in record["options"]]
        cuisines = tuple(name for name in names if name is not None)
        if len(set(cuisines)) == len(names):
            chosen = record["answer"]
            answers.append(
                RegionAnswer(
                    truth=cuisines[LETTERS.index(record["truth"])],
                    chosen=cuisines[LETTERS.index(chosen)] if chosen else None,
                    options=cuisines,
                )
            )
    return answers


def _family_test(
    asked: dict[str, list[Record]], answers: dict[str, list[RegionAnswer]], settings: Settings
) -> list[Table]:
    tests = [family_confusion(known, FAMILY_OF) for known in answers.values()]
    paper = [binomial_p(test.same_family, test.errors, PAPER_CHANCE) for test in tests]
    adjusted, paper_adjusted = holm([test.p_value for test in tests]), holm(paper)
    rows = [
        (
            *(title, test.answers, len(asked[title]) - test.answers, test.unreadable),
            *_family_cells(test, paper[place]),
            *(float(adjusted[place]), float(paper_adjusted[place])),
        )
        for place, (title, test) in enumerate(zip(answers, tests, strict=True))
    ]
    columns = (
        *("model", "answers", "without a family chance", "unreadable", "errors"),
        *("within the family", "share", "own chance", "p (own chance)"),
        *("p (each error's own chance)", f"p (paper's {PAPER_CHANCE})"),
        *("Holm p (own chance)", f"Holm p (paper's {PAPER_CHANCE})"),
    )
    note = (
        f"{REGION}, as the {settings.reader} reader reads it. Own chance: the mean over errors of "
        "the share of the question's own wrong options that are of the right cuisine's family. "
        "Exact two-sided p: binomial against the own chance, Poisson-binomial against each error's "
        f"own, binomial against {PAPER_CHANCE}, which is the paper's for its items and need not "
        f"fit others. Holm adjusts over the models of this table. Table 9."
    )
    return table(
        "CulturalMenuBench: wrong cuisines within the right one's family", columns, rows, note
    )


def _family_cells(test: FamilyConfusion, paper_p: float) -> tuple[Cell, ...]:
    return (
        *(test.errors, test.same_family, test.share, test.chance),
        *(test.p_value, test.p_own_options, paper_p),
    )


def _by_family(matrices: dict[str, ConfusionMatrix], settings: Settings) -> list[Table]:
    names = list(families())
    rows: list[tuple[Cell, ...]] = []
    for title, matrix in matrices.items():
        wrong = _wrong_by_family(matrix)
        for place, family in enumerate(names):
            own = np.array(matrix.families) == family
            right, lost = (
                int(matrix.counts.diagonal()[own].sum()),
                int(matrix.unreadable[own].sum()),
            )
            if right + lost + wrong[place].sum():
                rows.append((title, family, right, *map(int, wrong[place]), lost))
    columns = ("model", "right family", "right", *(f"wrong: {name}" for name in names))
    note = (
        f"Answers to {REGION} as the {settings.reader} reader reads them: right ones, wrong ones "
        "by the family of the cuisine chosen, and unreadable ones."
    )
    title = "CulturalMenuBench: confusion by family"
    return table(title, (*columns, "unreadable"), rows, note)


def _wrong_by_family(matrix: ConfusionMatrix) -> IntArray:
    """Return wrong answers by (family of the right cuisine, family of the chosen one)."""
    wrong = matrix.counts.copy()
    np.fill_diagonal(wrong, 0)
    member = np.array(matrix.families) == np.array(list(families()))[:, None]
    return np.asarray(member.astype(np.int64) @ wrong @ member.T.astype(np.int64))


def _by_cuisine(title: str, matrix: ConfusionMatrix) -> list[Table]:
    rows: list[tuple[Cell, ...]] = [
        (matrix.families[place], cuisine, *map(int, matrix.counts[place]), lost)
        for place, cuisine in enumerate(matrix.cuisines)
        if (lost := int(matrix.unreadable[place])) + matrix.counts[place].sum()
    ]
    columns = ("family", "right cuisine", *matrix.cuisines, "unreadable")
    note = f"Number of answers to {REGION} by right (row) and chosen (column) cuisine."
    return table(f"CulturalMenuBench: confusion of cuisines, {title}", columns, rows, note)


def _agreement(asked: dict[str, list[Record]], settings: Settings) -> list[Table]:
    accuracies = {
        title: grouped_accuracy(
            [record["correct"] for record in records],
            [record["groups"]["cuisine"] for record in records],
        )
        for title, records in asked.items()
    }
    found = difficulty_agreement(accuracies)
    rows: list[tuple[Cell, ...]] = [
        (first, second, len(accuracies[first].keys() & accuracies[second].keys()), rho)
        for (first, second), rho in found.pairs.items()
    ]
    if rows:
        rows.append(("mean of the pairs", "", None, found.mean))
    note = (
        f"Spearman's rho of accuracy by cuisine in {REGION}, as the {settings.reader} reader reads "
        "it: near 1 where two models find the same cuisines difficult. Section 3.4."
    )
    columns = ("model", "other model", "cuisines", "Spearman's rho")
    return table("CulturalMenuBench: agreement on difficult cuisines", columns, rows, note)
