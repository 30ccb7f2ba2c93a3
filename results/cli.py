"""The command `lmms-eval-food`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

EXAMPLES = """\
examples:
  lmms-eval-food demo
      make small data sets and a tiny model, run all three benchmarks, print one table
  lmms-eval-food prepare diningbench
      fetch and check the real data
  lmms-eval-food prepare canteen --from ~/vlm-food-benchmark.tar.gz
      the same from a folder or an archive that is already here
"""

PREPARE_EXAMPLES = """\
examples:
  lmms-eval-food prepare all
  lmms-eval-food prepare mini --to /tmp/food && LMMS_EVAL_FOOD_DATA=/tmp/food lmms-eval ...
  lmms-eval-food prepare canteen --from TABLES --without-images

The data keep their licences: DiningBench is CC BY-NC-ND 4.0, the canteen set CC BY 4.0, and
CulturalMenuBench grants none.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 2
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lmms-eval-food",
        description="Food benchmarks for vision-language models as tasks of lmms-eval.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=version("lmms-eval-food"))
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_demo(commands)
    _add_prepare(commands)
    return parser


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "demo", help="run all three benchmarks on small data of our own and print one table"
    )
    parser.add_argument(
        "--to",
        type=Path,
        default=Path("build/demo"),
        metavar="DIR",
        help="where data, model and results go (default: %(default)s)",
    )
    parser.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> int:
    from lmms_eval_food.results.demo import demo
    from lmms_eval_food.results.host import HostError

    try:
        print(demo(options.to))
    except HostError as error:
        print(f"lmms-eval-food: {error}", file=sys.stderr)
        return 1
    return 0


def _add_prepare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "prepare",
        help="fetch, check and unpack a benchmark's data",
        epilog=PREPARE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name",
        choices=["diningbench", "canteen", "culturalmenu", "mini", "all"],
        metavar="NAME",
        help="diningbench, canteen, culturalmenu, mini (small sets of our own) or all (the three)",
    )
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="PATH",
        help="take a local folder or archive instead of downloading",
    )
    parser.add_argument(
        "--to",
        type=Path,
        metavar="DIR",
        help="data root (default: $LMMS_EVAL_FOOD_DATA, else the cache folder)",
    )
    parser.add_argument(
        "--without-images",
        action="store_true",
        help="accept tables without pictures: grey placeholders, and results that say so",
    )
    parser.add_argument("--force", action="store_true", help="replace what is already there")
    parser.set_defaults(run=_prepare)


def _prepare(options: argparse.Namespace) -> int:
    from lmms_eval_food.tasks import prepare

    names = prepare.BENCHMARKS if options.name == "all" else [options.name]
    if options.name == "all" and options.source is not None:
        print("lmms-eval-food: --from needs one benchmark's name, not `all`", file=sys.stderr)
        return 2
    for name in names:
        try:
            folder = prepare.prepare(
                name,
                source=options.source,
                root=options.to,
                without_images=options.without_images,
                force=options.force,
            )
        except prepare.PREPARE_ERRORS as error:
            print(f"lmms-eval-food: {error}", file=sys.stderr)
            return 1
        print(f"{name}: {folder}")
    return 0
