"""The commands of `lmms-eval-food` that read what runs have written."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

REPORT_EXAMPLES = """\
examples:
  lmms-eval-food report logs/
      print every table that the sample logs below logs/ allow
  lmms-eval-food report logs/ --out report/
      also write report.html, report.md, scores.csv and scores.parquet
  lmms-eval-food report --check logs/
      read every answer again and recompute the host's numbers; exit status 1 where one differs
  lmms-eval-food report logs/ --matcher distilroberta --threshold 0.6
      score the canteen set anew with another matcher
  lmms-eval-food report --leaderboard results/runs --out build/leaderboard
      build the board of the submitted runs
"""

COMPARE_EXAMPLES = """\
examples:
  lmms-eval-food compare logs/model-a logs/model-b
  lmms-eval-food compare logs/model-a logs/model-b logs/model-c --html compare.html

Differences are paired: only documents that both runs have count. p-values are of a sign-flip test
over dishes (canteen: photos), Holm-corrected over the pairs of runs within one task and score.
"""

VALIDATE_EXAMPLES = """\
examples:
  lmms-eval-food validate-matcher --pairs pairs.csv --labels raters.csv --matcher published
  lmms-eval-food validate-matcher --pairs pairs.csv --labels raters.csv \\
      --matcher minilm distilroberta
"""


def add_report(commands: Commands) -> None:
    """Add `report`."""
    parser = commands.add_parser(
        "report",
        help="print every table that the sample logs of some runs allow",
        epilog=REPORT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "logs",
        type=Path,
        nargs="*",
        metavar="LOGDIR",
        help="folder that was given to lmms-eval as --output_path; every run below it is read. "
        "Or one run's *_results.json",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write report.html, report.md, scores.csv and scores.parquet there too",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="only read every answer again and recompute the host's numbers; exit status 1 where "
        "something differs or there was nothing to check",
    )
    parser.add_argument(
        "--leaderboard",
        type=Path,
        metavar="DIR",
        help="build the board of the submitted runs in DIR (see docs/leaderboard.md)",
    )
    parser.add_argument(
        "--matcher",
        metavar="NAME",
        help="canteen: score the food names anew with this matcher (or `judge`)",
    )
    parser.add_argument(
        "--threshold",
        type=float,
        default=0.5,
        metavar="X",
        help="canteen: lowest similarity that is a match (default: %(default)s)",
    )
    parser.add_argument(
        "--categories", type=Path, metavar="FILE", help="canteen: keyword rules for kinds of food"
    )
    _add_reading(parser)
    parser.set_defaults(run=_report)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reader",
        choices=["official", "robust"],
        default="robust",
        help="whose readings of the answers (default: %(default)s)",
    )
    parser.add_argument(
        "--resamples",
        type=int,
        default=2000,
        metavar="N",
        help="bootstrap resamples (default: %(default)s)",
    )


def _report(options: argparse.Namespace) -> int:
    from lmms_eval_food.results import report

    return report.run(options)


def add_compare(commands: Commands) -> None:
    """Add `compare`."""
    parser = commands.add_parser(
        "compare",
        help="compare runs on the documents that they share, task by task",
        epilog=COMPARE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "logs",
        type=Path,
        nargs="+",
        metavar="LOGDIR",
        help="two runs or more, folders or *_results.json files; a folder with several runs counts "
        "as all of them",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page there too")
    _add_reading(parser)
    parser.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> int:
    from lmms_eval_food.results import compare

    return compare.run(options)


def add_validate_matcher(commands: Commands) -> None:
    """Add `validate-matcher`."""
    parser = commands.add_parser(
        "validate-matcher",
        help="compare a matcher with people and choose its threshold",
        epilog=VALIDATE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--pairs",
        type=Path,
        required=True,
        metavar="FILE",
        help="CSV with pair_id, pred_name, gt_name and, if there is one, score",
    )
    parser.add_argument(
        "--labels",
        type=Path,
        required=True,
        metavar="FILE",
        help="CSV with pair_id and a column a rater: same, partial or different",
    )
    parser.add_argument(
        "--matcher",
        nargs="+",
        metavar="NAME",
        help="`published` (the column score), a matcher's name, or several",
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures there as JSON")
    parser.add_argument(
        "--run",
        dest="run_log",
        type=Path,
        metavar="LOGDIR",
        help="also say what the accepted matches of these runs are worth",
    )
    parser.set_defaults(run=_validate_matcher)


def _validate_matcher(options: argparse.Namespace) -> int:
    from lmms_eval_food.results import validate_matcher

    return validate_matcher.run(options)
