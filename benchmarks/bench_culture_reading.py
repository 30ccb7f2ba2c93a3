"""How many CulturalMenuBench answers are read and scored a second, in one process.

11,048 generated answers, as many as the benchmark has questions, in ten languages, with and without
sentences and reasoning, are

- read and scored as the host has it done: the filters, the hooks that turn readings into records,
  and the aggregation of every metric; the host's own time is not in it;
- read and scored as the report does it: every breakdown with intervals over dishes, yes-rate,
  option preference and the confusion test, as in bench_culture.py;
- read by the published rules and scored with intervals by plain Python loops, which must read every
  answer alike. Only this ratio means anything on another machine.

    python benchmarks/bench_culture_reading.py [ROUNDS]
"""

from __future__ import annotations

import math
import random
import sys
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import yaml
from bench_culture import (
    FAMILIES,
    PLAIN_RESAMPLES,
    RESAMPLES,
    Layer,
    our_shares,
    plain_shares,
    score_all,
    seconds,
)

from lmms_eval_food.filters.base import ReadingFilter
from lmms_eval_food.filters.letters import OfficialChoice, RobustLetter
from lmms_eval_food.filters.yesno import OfficialYesNo, RobustYesNo
from lmms_eval_food.metrics.confusion import RegionAnswer
from lmms_eval_food.tasks import common
from lmms_eval_food.tasks.culturalmenu import hooks
from lmms_eval_food.tasks.culturalmenu.prompts import (
    BINARY_RELATIONS,
    LANGUAGES,
    MC_RELATIONS,
    answer_word,
)

BINARY, MC, REGION = 4_870, 5_824, 354
THOUGHT = "<think>" + "The sauce is red and thick, so it may be from Sichuan. " * 6 + "</think>\n"
Doc = dict[str, Any]
Hook = Callable[[Doc, Sequence[str]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One form of question: what was asked and answered, and how it is read and scored."""

    name: str
    docs: list[Doc]
    answers: list[str]
    hook: Hook
    official: ReadingFilter
    robust: ReadingFilter
    plain: Callable[[str], str | None]
    groups: tuple[str, ...]


def made_docs(
    source: random.Random, size: int, truths: Sequence[str], **fields: Sequence[Any]
) -> list[Doc]:
    docs = []
    for number in range(size):
        dish = f"d{source.randrange(587)}"
        doc = {"id": f"q{number}", "data": "made", "images": [f"images/{number}.jpg"]}
        doc |= {"dish_ids": [dish], "dish_id": dish, "answer": source.choice(truths)}
        docs.append(doc | {name: source.choice(values) for name, values in fields.items()})
    return docs


def yes_no(source: random.Random, doc: Doc) -> str:
    word = answer_word(doc["language"], source.choice((doc["answer"],) * 2 + ("yes", "no")))
    forms = [word] * 8 + [f"{word}.", f" {word}\n", f"**{word}**", f"{word}, 2 of 3.", "?", ""]
    return source.choice([*forms, THOUGHT + word])


def letter(source: random.Random, doc: Doc) -> str:
    pick = source.choice((doc["answer"],) * 2 + tuple("ABCD"))
    forms = [pick] * 8 + [f"{pick}.", f"答案：{pick}", f"The answer is {pick}", f"**{pick}**"]
    return source.choice([*forms, "不知道", "", THOUGHT + pick])


def make_asked(source: random.Random) -> list[Asked]:
    words = plain_words()
    yes_or_no = ("yes", "no")
    binary = made_docs(source, BINARY, yes_or_no, relation=BINARY_RELATIONS, language=LANGUAGES)
    mc = made_docs(source, MC, "ABCD", relation=MC_RELATIONS, language=LANGUAGES)
    options = [source.sample(hooks.CUISINES, 4) for _ in range(REGION)]
    region = made_docs(source, REGION, "ABCD", evidence=hooks.EVIDENCE, options=options)
    letters = OfficialChoice(), RobustLetter(options=4), plain_letter
    return [
        Asked(
            *("binary", binary, [yes_no(source, doc) for doc in binary], hooks.binary),
            *(OfficialYesNo(), RobustYesNo(), lambda text: plain_yes_no(text, words)),
            groups=("relation", "tier", "language"),
        ),
        Asked(
            *("mc", mc, [letter(source, doc) for doc in mc], hooks.multiple_choice, *letters),
            groups=("relation", "tier", "language", "letter"),
        ),
        Asked(
            *("region", region, [letter(source, doc) for doc in region], hooks.region, *letters),
            groups=("evidence", "cuisine", "letter"),
        ),
    ]


def as_the_host(asked: Asked, reader: ReadingFilter) -> dict[str, float]:
    """Read and score as the host does: a filter, a hook a document, an aggregation a metric."""
    readings = reader.apply([[answer] for answer in asked.answers], asked.docs)
    values: defaultdict[str, list[Any]] = defaultdict(list)
    for doc, replies in zip(asked.docs, readings, strict=True):
        for name, value in asked.hook(doc, replies).items():
            values[name].append(value)
    counts = ("failed_requests", "other_language")
    return {
        name: common.count(column) if name in counts else common.mean(column)
        for name, column in values.items()
        if name not in ("record", "data")
    }


def value_of(reader: ReadingFilter, text: str) -> str | None:
    value = reader.read(text).value
    return value["answer"] if isinstance(value, dict) else value


def layer_of(asked: Asked, read: Callable[[str], str | None]) -> Layer:
    docs = asked.docs
    found = {
        "tier": lambda doc: hooks.tier(doc["relation"]),
        "letter": lambda doc: doc["answer"],
        "cuisine": lambda doc: doc["options"]["ABCD".index(doc["answer"])],
    }
    breakdowns = {
        name: [found[name](doc) if name in found else doc[name] for doc in docs]
        for name in asked.groups
    }
    return Layer(
        name=asked.name,
        truth=[doc["answer"] for doc in docs],
        chosen=[read(text) for text in asked.answers],
        dishes=[doc["dish_id"] for doc in docs],
        # One language stands for all where the questions have one.
        breakdowns={"all": ["all"] * len(docs), "language": ["zh"] * len(docs), **breakdowns},
    )


def as_the_report(layers: Sequence[Asked], robust: bool) -> None:
    read = [layer_of(asked, reading_by(asked, robust)) for asked in layers]
    docs, chosen = layers[-1].docs, read[-1].chosen
    names = dict(zip(hooks.CUISINES, FAMILIES, strict=True))
    region = []
    for doc, pick in zip(docs, chosen, strict=True):
        options = dict(zip("ABCD", (names[cuisine] for cuisine in doc["options"]), strict=True))
        wanted = options[doc["answer"]]
        region.append(RegionAnswer(wanted, options.get(pick or ""), tuple(options.values())))
    score_all(read, region)


def reading_by(asked: Asked, robust: bool) -> Callable[[str], str | None]:
    reader = asked.robust if robust else asked.official
    return lambda text: value_of(reader, text)


def plain_words() -> list[tuple[str, str]]:
    """Return (word, answer), the longest words first."""
    path = resources.files("lmms_eval_food.filters").joinpath("yesno_words.yaml")
    table = yaml.safe_load(path.read_text("utf-8"))
    words = {
        unicodedata.normalize("NFC", word).casefold(): answer
        for kinds in table.values()
        for kind, answer in (("affirmative", "yes"), ("negative", "no"))
        for word in kinds[kind]
    }
    return sorted(words.items(), key=lambda pair: -len(pair[0]))


def plain_yes_no(text: str, words: Sequence[tuple[str, str]]) -> str | None:
    folded = unicodedata.normalize("NFC", text).casefold().strip()
    for word, answer in words:
        if folded.startswith(word):
            return answer
    return None


def plain_letter(text: str) -> str | None:
    for character in text:
        if character in "ABCD":
            return character
    return None


def check_same(layers: Sequence[Asked]) -> None:
    """Stop where an answer is read in two ways, or the host's way scores differently."""
    for asked in layers:
        ours, plain = layer_of(asked, reading_by(asked, False)), layer_of(asked, asked.plain)
        for text, one, two in zip(asked.answers, ours.chosen, plain.chosen, strict=True):
            if one != two:
                raise SystemExit(f"{asked.name}: {text!r} is {one} for ours, {two} for the plain")
        expected = sum(plain.correct) / len(plain.truth)
        found = as_the_host(asked, asked.official)["acc"]
        if not math.isclose(found, expected, rel_tol=1e-9):
            raise SystemExit(f"{asked.name}: accuracy {found}, plain {expected}")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    layers = make_asked(random.Random(0))
    check_same(layers)

    def shares() -> list[object]:
        read = (layer_of(asked, reading_by(asked, robust=False)) for asked in layers)
        return [our_shares(layer, RESAMPLES) for layer in read]

    works: dict[str, Callable[[], object]] = {
        "as the host, official": lambda: [as_the_host(asked, asked.official) for asked in layers],
        "as the host, robust": lambda: [as_the_host(asked, asked.robust) for asked in layers],
        "as the report, official": lambda: as_the_report(layers, robust=False),
        "as the report, robust": lambda: as_the_report(layers, robust=True),
        "read alone, robust": lambda: [layer_of(x, reading_by(x, True)) for x in layers],
        "shares with intervals": shares,
    }
    best = dict.fromkeys(works, math.inf)
    for _ in range(rounds):  # in turn, so that a busy moment hits all alike
        for name, work in works.items():
            best[name] = min(best[name], seconds(work))
    begin = time.perf_counter()
    read = [layer_of(asked, asked.plain) for asked in layers]
    reading = time.perf_counter() - begin
    loops = seconds(lambda: [plain_shares(layer, PLAIN_RESAMPLES) for layer in read])
    # The plain loops also score the answers once as they are.
    plain = reading + loops * (RESAMPLES + 1) / (PLAIN_RESAMPLES + 1)
    answers = BINARY + MC + REGION
    print(f"{answers:,} answers, {RESAMPLES} resamples in the report")
    for name, took in best.items():
        print(f"  {name + ':':25} {took:6.2f} s {answers / took:9,.0f} answers a second")
    print(f"  plain reading and loops:  {plain:6.2f} s (from {PLAIN_RESAMPLES} resamples, scaled)")
    ratio = plain / best["shares with intervals"]
    print(f"  plain/ours, reading and shares with intervals: {ratio:.1f}")


if __name__ == "__main__":
    main()
