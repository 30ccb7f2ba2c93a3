"""Option letters: which of A, B, C, … a reply chose."""

from __future__ import annotations

from lmms_eval_food.filters.answers import OfficialFilter, RobustFilter
from lmms_eval_food.filters.letter_rules import claimed_letter
from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.filters.reasoning import strip_official

_CHOICES = frozenset("ABCD")


class OfficialLetter(OfficialFilter):
    """First letter of the answer, as DiningBench's scripts read it.

    Value: one letter A-Z. After `strip_official` and upper-casing, the first character that is a
    letter in any script is the answer, so ``The answer is B`` reads as T. Unreadable when there is
    none or when it is not one of A-Z. A letter beyond the options is still the answer (a wrong
    one), marked "beyond_options".

    Args:
        options: How many options the question has.
        answer_tag: Whether the model writes its answer in ``<answer>``.

    Source: meituan/DiningBench@516fd54:eval_classification.py, evaluate_predictions.
    """

    def __init__(self, options: int = 8, answer_tag: bool = False) -> None:
        self._options = options
        self._answer_tag = answer_tag

    def read_text(self, text: str) -> Reading:
        """Return the reading of one reply."""
        answer = strip_official(text, self._answer_tag).upper()
        letter = next((character for character in answer if character.isalpha()), "")
        if not ("A" <= letter <= "Z"):
            return Reading(text, None, Status.UNREADABLE)
        marks = () if _within(letter, self._options) else ("beyond_options",)
        return Reading(text, letter, Status.OK, "first_letter", marks)


class OfficialChoice(OfficialFilter):
    """First or last of A-D in the whole reply, as CulturalMenuBench reads it.

    Value: one letter A-D. The reasoning is not stripped and any word may hold the letter, so
    ``Answer: B`` reads as A. Unreadable when there is none.

    Args:
        last: Take the last occurrence (chain-of-thought prompts) instead of the first.

    Source: CulturalMenuBench, Appendix K, Evaluation Protocol.
    """

    def __init__(self, last: bool = False) -> None:
        self._last = last

    def read_text(self, text: str) -> Reading:
        """Return the reading of one reply."""
        order = reversed(text) if self._last else text
        letter = next((character for character in order if character in _CHOICES), None)
        if letter is None:
            return Reading(text, None, Status.UNREADABLE)
        return Reading(text, letter, Status.OK, "last_choice" if self._last else "first_choice")


class RobustLetter(RobustFilter):
    """The option letter a reply claims, by the rules of `letter_rules.claimed_letter`.

    Value: one upper-case letter within the options. Unreadable when no letter is claimed, when
    several are and no rule decides, or when the claimed one is beyond the options.

    Args:
        options: How many options the question has, 2-26.
        last: The prompt asks for reasoning first, so a last line that is a letter goes before the
            announcements in the text.
    """

    def __init__(self, options: int = 8, last: bool = False) -> None:
        self._options = options
        self._last = last

    def read_answer(self, answer: str, raw: str) -> Reading:
        """Return the reading of one answer."""
        letter, step = claimed_letter(answer, self._last)
        if letter is None or not _within(letter, self._options):
            return Reading(raw, None, Status.UNREADABLE)
        return Reading(raw, letter, Status.OK, step)


def _within(letter: str, options: int) -> bool:
    return ord(letter) - ord("A") < options
