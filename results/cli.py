"""The command `lmms-eval-food`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from lmms_eval_food.results import cli_results

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

DOCTOR_EXAMPLES = """\
examples:
  lmms-eval-food doctor
  lmms-eval-food doctor --config vllm_one_gpu
      also check a run's settings: a packaged config, or your own file
  lmms-eval-food doctor --json > doctor.json

A configured judge or second model is asked for one word. Exit status: 1 where a check failed.
"""

CONFIG_EXAMPLES = """\
examples:
  lmms-eval-food config
      list the configs
  lmms-eval-food config vllm_one_gpu --model Qwen/Qwen2.5-VL-3B-Instruct > my.yaml
  lmms-eval --config my.yaml --tasks diningbench_cls
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
    cli_results.add_report(commands)
    cli_results.add_compare(commands)
    cli_results.add_validate_matcher(commands)
    _add_doctor(commands)
    _add_config(commands)
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
    parser.add_argument(
        "--map",
        type=Path,
        metavar="FILE",
        help="culturalmenu: the field map (YAML) through which its records are read",
    )
    parser.add_argument(
        "--from-dishes",
        dest="dishes",
        type=Path,
        metavar="FILE",
        help="culturalmenu: build the questions from your own dishes (JSON Lines)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="with --from-dishes: another number makes other questions (default: 0)",
    )
    parser.add_argument("--force", action="store_true", help="replace what is already there")
    parser.set_defaults(run=_prepare)


def _prepare(options: argparse.Namespace) -> int:
    from lmms_eval_food.tasks import prepare
    from lmms_eval_food.tasks.culturalmenu.from_dishes import balance_table

    names = prepare.BENCHMARKS if options.name == "all" else [options.name]
    one_only = (options.source, options.map, options.dishes, options.seed)
    if options.name == "all" and any(option is not None for option in one_only):
        print(
            "lmms-eval-food: --from, --map, --from-dishes and --seed need one benchmark's name, "
            "not `all`",
            file=sys.stderr,
        )
        return 2
    status = 0
    for name in names:  # one that fails does not keep the others from it
        try:
            folder = prepare.prepare(
                name,
                source=options.source,
                root=options.to,
                without_images=options.without_images,
                force=options.force,
                map_file=options.map,
                dishes=options.dishes,
                seed=options.seed,
            )
        except prepare.PREPARE_ERRORS as error:
            print(f"lmms-eval-food: {name}: {error}", file=sys.stderr)
            status = 1
        else:
            print(f"{name}: {folder}")
    if options.dishes is not None and not status:
        print(balance_table(folder))
    return status


def _add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "doctor",
        help="check versions, engines, data, matcher, judge and settings, and say what to do",
        epilog=DOCTOR_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--config",
        metavar="NAME|FILE",
        help="also check these settings for the host's --config",
    )
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")
    parser.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from lmms_eval_food.results import doctor

    return doctor.run(options)


def _add_config(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "config",
        help="print recommended settings for the host's --config, or list them",
        epilog=CONFIG_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="which; none lists them")
    parser.add_argument("--model", metavar="MODEL", help="put this model in place of the file's")
    parser.set_defaults(run=_config)


def _config(options: argparse.Namespace) -> int:
    from lmms_eval_food.results import configs

    if options.name is None:
        for name in configs.names():
            print(f"{name:<22}{configs.summary(name)}")
        return 0
    try:
        print(configs.text(options.name, options.model), end="")
    except (KeyError, ValueError) as error:
        print(f"lmms-eval-food: {error.args[0]}", file=sys.stderr)
        return 2
    return 0
