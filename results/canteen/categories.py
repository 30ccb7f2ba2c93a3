"""Keyword rules that sort foods into categories, from YAML."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_food.metrics.portion_analysis import Rules


def load_rules(path: Path | None = None) -> Rules:
    """Return the rules of a file, or the packaged ones (`results/food_categories.yaml`).

    The file is a list of `{category: NAME, keywords: [WORD, ...]}`; the first rule with a keyword
    in a food's name decides.

    Raises:
        ValueError: the file is not such a list; the message names the file and the rule.
        OSError: the file cannot be read.
    """
    source = files("lmms_eval_food.results").joinpath("food_categories.yaml")
    text = (path or source).read_text(encoding="utf-8")
    name = path or "food_categories.yaml"
    try:
        rules = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{name}: not YAML ({error})") from error
    if not isinstance(rules, list):
        raise ValueError(f"{name}: must be a list of rules")
    return [_rule(rule, f"{name}: rule {number}") for number, rule in enumerate(rules, 1)]


def _rule(rule: Any, where: str) -> tuple[str, list[str]]:
    if not isinstance(rule, dict) or set(rule) != {"category", "keywords"}:
        raise ValueError(f"{where} must have `category` and `keywords`, and nothing else")
    category, keywords = rule["category"], rule["keywords"]
    if not isinstance(category, str) or not category.strip():
        raise ValueError(f"{where}: `category` must be a name")
    if not isinstance(keywords, list) or not keywords:
        raise ValueError(f"{where}: `keywords` must be a list of words")
    for word in keywords:
        # An empty keyword would be found in every name.
        if not isinstance(word, str) or not word.strip():
            raise ValueError(f"{where}: {word!r} is not a word (write it in quotes)")
    return category, keywords
