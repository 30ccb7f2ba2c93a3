"""The four nutrients in text that is no valid JSON: prose, lists, tables, broken objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lmms_eval_food.filters.nutrients import (
    ENERGY_UNIT,
    NAMES,
    NUTRIENTS,
    UNIT,
    is_per_100,
    nutrient_of,
    tidy,
)
from lmms_eval_food.filters.nutrition_amounts import (
    NUMBER,
    amount_pattern,
    matched_amount,
    read_amount,
)

# What may stand between a name and its number: HTML, markup, quotes, braces, LaTeX.
_MARKUP = re.compile(
    r"</?[a-z]{1,10}[ \t]?/?>"
    r"|\*\*|__|\\(?:boxed|text|textbf|mathbf|mathrm|[,;!])|[\"`${}\\]|(?<!\d)'|'(?!\d)"
)
_SPACES = re.compile(r"[ \t]{2,}")
_FILLERS = (
    r"is|are|was|content|value|amount|total|comes? to|equals?|at|of|count|contains?|has"
    r"|含量|总量|总计|总共|共计|合计|共|应为|为|是|有|值"
)
# A sum before its result: 200 + 78 = 278.
_SUM = r"(?:[\d.,+×x*/() \tkcalg克千大卡\-]{1,100}=[ \t]{0,2}){0,3}"
_GAP = (
    rf"(?:[ \t_]{{0,2}}(?:[(\[](?:in )?(?P<bracket_unit>{UNIT})[)\]]"
    rf"|(?:in )?(?P<own_unit>{UNIT})(?=[ \t]{{0,2}}[:=|])))?"
    rf"(?:[ \t]{{0,3}}(?:[:|*≈~]|=>?|->|→|—{{1,2}}|-(?=[ \t])|{_FILLERS})){{0,6}}[ \t]{{0,3}}{_SUM}"
)
# Not the nutrient itself: a part of it, or where it comes from.
_PART = "".join(
    f"(?<!{word})"
    for word in (
        *("saturated ", "saturated_", "trans ", "trans-", "from ", "net ", "fat ", "no ", "low "),
        *("饱和", "飽和", "反式", "来自", "低"),
    )
)
_NAMED = "|".join(
    [f"(?P<{name}>{words})" for name, words in NAMES.items()]
    + [r"(?P<kcal>k?cals?)(?=[ \t]{0,2}[:=|])"]
)
# A name and its amount, or an amount that a name may follow.
_MENTION = re.compile(
    rf"(?P<total>\btotal[ \t_]{{1,2}}|总|總)?(?<![a-z]){_PART}(?:{_NAMED})(?![a-z])"
    # Several amounts in one row of a table belong to several columns.
    rf"{_GAP}{amount_pattern('after_')}(?![ \t]{{0,2}}\|[ \t]{{0,2}}{NUMBER}(?![ \t]{{0,2}}%))"
    rf"|(?<![a-z\d.'\-—+×*/<>])(?<!\d,){amount_pattern('ahead_')}"
)
_OWNER = re.compile(rf"[ \t]{{0,2}}(?:of[ \t]|的)?(?:total[ \t])?(?:{_NAMED})(?![a-z])")
_ENERGY = re.compile(ENERGY_UNIT)
_ANY_NAME = tuple(
    re.compile(words + ("|" + ENERGY_UNIT if name == "calories" else ""))
    for name, words in NAMES.items()
)

_CUES = (
    r"(?:\b(?:final(?:ly)?|answer|overall|totals?|therefore|thus|altogether|corrected)\b"
    r"|总计|合计|总共|总和|最终|最后|答案|综上|因此|總計|合計|最終)"
)
_CUE = re.compile(_CUES)
# The same at the beginning of a line or sentence: what follows is a new statement.
_NEW = re.compile(rf"[\n.。;!][^\n.。;!(\d]{{0,60}}{_CUES}")
_CUT_SHORT = re.compile(r"(?:[.,]|[ \t]?[^\W\d]{0,12})\Z")


@dataclass(frozen=True, slots=True)
class _Mention:
    nutrient: str
    amount: float
    start: int
    end: int
    total: bool


@dataclass(slots=True)
class _Group:
    """Mentions that belong together: each nutrient once."""

    final: bool
    per_100: bool
    amounts: dict[str, float] = field(default_factory=dict)


def read_text(text: str, cut_short: bool = False) -> tuple[dict[str, float] | None, str]:
    """Return the four nutrients that a text states, and the rule that found them.

    Rules:

    1. "pairs": a name and its amount on one line (``Fat: 15 g``, ``| Fat | 15 |``), or an amount
       with its unit and the name (``15 g of fat``). Energy may lack its name where the text, or
       what follows its last announced total, states a single one (``350 kcal``). A nutrient that
       comes again with another amount, or a line that announces a total or an answer, begins a new
       statement; the last statement with all four is the answer. Not where an earlier complete one
       differs and no word tells that the last is final, and not where a later mention contradicts
       it. Statements per 100 g do not count.
    2. "table": a row of four names and one row of amounts under it, or one such row called total.
       Rows per 100 g do not count.

    Args:
        text: Any text.
        cut_short: The text may end within an amount, so one at its very end does not count.

    Returns:
        (nutrient -> kcal or grams, rule); (None, "") unless all four are there.
    """
    tidied = _prepared(text)
    mentions = _mentions(tidied)
    if cut_short and mentions and _CUT_SHORT.match(tidied, mentions[-1].end):
        mentions.pop()
    if stated := _last_statement(_groups(mentions, tidied)):
        return stated, "pairs"
    if tabled := _table(tidied.split("\n")):
        return tabled, "table"
    return None, ""


def states_any(text: str) -> bool:
    """Tell whether a text gives an amount for at least one of the four nutrients."""
    return bool(_mentions(_prepared(text)))


def names_all(text: str) -> bool:
    """Tell whether a text names all four nutrients, with amounts or without."""
    tidied = tidy(text)
    return all(name.search(tidied) for name in _ANY_NAME)


def announces(text: str) -> bool:
    """Tell whether tidied words announce a final, total or corrected answer."""
    return bool(_CUE.search(text))


def _prepared(text: str) -> str:
    return _SPACES.sub(" ", _MARKUP.sub(" ", tidy(text)))


def _mentions(text: str) -> list[_Mention]:
    """Return what the text says of the four, in order."""
    mentions: list[_Mention] = []
    energies: list[_Mention] = []
    position = 0
    while match := _MENTION.search(text, position):
        position = match.end()
        unit = match["ahead_unit"] or match["ahead_first_unit"]
        if match["after_low"]:
            stated = match["bracket_unit"] or match["own_unit"] or ""
            mentions += _mention(match, _name_in(match), "after_", position, stated)
        elif unit and (owner := _OWNER.match(text, position)):
            position = owner.end()
            mentions += _mention(match, _name_in(owner), "ahead_", position)
        elif unit and _ENERGY.fullmatch(unit):
            energies += _mention(match, "calories", "ahead_", position)
    if energies and not any(mention.nutrient == "calories" for mention in mentions):
        announced = max((match.start() for match in _NEW.finditer(text)), default=0)
        last = [energy for energy in energies if energy.start > announced] or energies
        if len({energy.amount for energy in last}) == 1:
            return sorted([*mentions, last[-1]], key=lambda mention: mention.start)
    return mentions


def _name_in(match: re.Match[str]) -> str:
    return next((name for name in NUTRIENTS if match[name]), "calories")


def _mention(
    match: re.Match[str], nutrient: str, tag: str, end: int, unit: str = ""
) -> Iterator[_Mention]:
    """Yield the mention that was matched, nothing where its amount cannot be read."""
    amount = matched_amount(nutrient, match, tag, unit)
    if amount is not None:
        yield _Mention(nutrient, amount, match.start(), end, bool(match["total"]))


def _groups(mentions: Iterable[_Mention], text: str) -> list[_Group]:
    """Return the mentions as statements, in order."""
    groups: list[_Group] = []
    end = 0
    for mention in mentions:
        lead = text[end : mention.start]
        end = mention.end
        per_100 = is_per_100(lead)
        if not groups or per_100 or _NEW.search(lead) or _differs(groups[-1], mention):
            groups.append(_Group(mention.total or bool(_CUE.search(lead)), per_100))
        groups[-1].amounts[mention.nutrient] = mention.amount
    return groups


def _differs(group: _Group, mention: _Mention) -> bool:
    return group.amounts.get(mention.nutrient, mention.amount) != mention.amount


def _last_statement(groups: Sequence[_Group]) -> dict[str, float] | None:
    """Return the last complete statement, unless others leave it in doubt."""
    counted = [group for group in groups if not group.per_100]
    complete = [group for group in counted if len(group.amounts) == len(NUTRIENTS)]
    if not complete:
        return None
    last = complete[-1]
    drafts = any(group.amounts != last.amounts for group in complete[:-1])
    later = counted[counted.index(last) + 1 :]
    contradicted = any(group.amounts.items() - last.amounts.items() for group in later)
    return None if contradicted or (drafts and not last.final) else last.amounts


def _table(lines: Sequence[str]) -> dict[str, float] | None:
    """Return the amounts under the last row of names; of several rows the one called total."""
    rows: list[tuple[str, dict[str, float]]] = []
    columns: dict[int, tuple[str, str]] = {}
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        named = {n: found for n, cell in enumerate(cells) if (found := nutrient_of(cell))}
        if len(cells) < len(NUTRIENTS):
            columns = {}
        elif {nutrient for nutrient, _ in named.values()} == set(NUTRIENTS):
            rows, columns = [], named
        elif columns and any(map(str.isdigit, line)) and not is_per_100(cells[0]):
            rows.append((cells[0], _row(cells, columns)))
    totals = [amounts for name, amounts in rows if _CUE.search(name)]
    amounts = totals if len(rows) > 1 else [amounts for _, amounts in rows]
    return amounts[0] if len(amounts) == 1 and len(amounts[0]) == len(NUTRIENTS) else None


def _row(cells: Sequence[str], columns: dict[int, tuple[str, str]]) -> dict[str, float]:
    """Return the amounts of one row that can be read."""
    amounts = {}
    for column, (nutrient, unit) in columns.items():
        amount = read_amount(nutrient, cells[column], unit) if column < len(cells) else None
        if amount is not None:
            amounts[nutrient] = amount
    return amounts
