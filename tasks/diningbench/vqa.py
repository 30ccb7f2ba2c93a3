"""DiningBench VQA: from one answer to its record, with a judge's verdict and ROUGE scores.

A judge is asked in `process_results`, one prompt a document and filter, in the host's threads: four
by default, more with `--process-docs-parallel 16`. Replies that state a verdict are kept on disk,
so the second filter, a rerun and a resumed run ask only what is missing.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from loguru import logger

from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.filters.verdict import official_verdict, strict_verdict
from lmms_eval_food.metrics import rouge
from lmms_eval_food.tasks import common, judging
from lmms_eval_food.tasks.common import Doc
from lmms_eval_food.tasks.diningbench.documents import STEPS
from lmms_eval_food.tasks.diningbench.judge_prompts import templates
from lmms_eval_food.tasks.diningbench.vqa_record import VqaRecord
from lmms_eval_food.tasks.judging import Judge, JudgeError

NO_REPLY = "no reply from the judge"
UNCLEAR = "no verdict in the judge's reply"

_LAST_LINES = (
    "\nOutput only the final answer, without any explanation, analysis, preface, or summary.",
    "\n仅输出最终答案，不要包含任何解释、分析、前言或总结。",
)
_SEE_JUDGE = "set LMMS_EVAL_FOOD_JUDGE and LMMS_EVAL_FOOD_JUDGE_MODEL"


@functools.cache  # several tasks of a run share one judge
def check() -> None:
    """See before the model runs whether judge and ROUGE can be had; warn, or end the run.

    It ends where the judge's configuration does not fit, and where neither a judge nor ROUGE is
    there to score anything. A judge that does not reply yet may do so when its turn comes.
    """
    try:
        judge = judging.configured()
        templates()
    except JudgeError as error:
        raise SystemExit(f"lmms-eval-food: {error}") from error
    if judge is None:
        logger.warning(f"DiningBench VQA: judge_acc needs a judge: {_SEE_JUDGE}")
    elif not judge.replies():
        logger.warning(
            f"DiningBench VQA: the judge {judge.name} does not reply. Answers that it does not "
            "judge are counted as not_judged and are in no judge_acc."
        )
    try:
        rouge.load()
    except rouge.RougeMissingError as error:
        if judge is None:
            raise SystemExit(f"lmms-eval-food: no judge ({_SEE_JUDGE}), and {error}") from error
        logger.warning(f"DiningBench VQA: {error}")


def question_of(prompt: str) -> str:
    """Return the question in a prompt: without chain-of-thought steps and the fixed last line.

    Source: meituan/DiningBench@516fd54:eval_vqa.py, evaluate_predictions_with_model.
    """
    question = prompt.removesuffix(f"\n\n{STEPS}")
    for last_line in _LAST_LINES:
        if question.endswith(last_line):
            question = question.removesuffix(last_line)
            break
    return question.strip()


def record_of(doc: Doc, reading: Reading) -> VqaRecord:
    """Return the record of a reading, with its ROUGE scores and not yet judged."""
    answer, status = reading.value or "", reading.status
    scores = _rouge(reading.reader, status, answer, doc["ground_truth"])
    return VqaRecord(
        id=doc["id"],
        reader=reading.reader,
        status=status,
        raw=reading.raw,
        marks=reading.marks,
        question=question_of(doc["prompt"]),
        truth=doc["ground_truth"],
        answer=answer,
        language=doc["language"],
        category=doc["category"],
        dish=doc["id"],
        data=doc["data"],
        broken_pictures=common.broken_pictures(doc),
        rouge_1=scores.rouge_1 if scores else None,
        rouge_2=scores.rouge_2 if scores else None,
        rouge_l=scores.rouge_l if scores else None,
    )


def judge_records(records: Sequence[VqaRecord], judge: Judge | None) -> list[VqaRecord]:
    """Return the records with their verdicts, in order; without a judge as they are.

    An answer without text is wrong without asking. So is a failed request in the benchmark's own
    reading; in ours it does not count. A judge that gives no reply, or no verdict that the reader
    can read, leaves the record without one and says why in `not_judged`.
    """
    if judge is None:
        return [replace(r, not_judged="") if _left_out(r) else r for r in records]
    judged = list(records)
    for language in sorted({record.language for record in records}):
        template = templates()[language]
        fingerprint = judge.fingerprint(template.text)
        places = [n for n, record in enumerate(records) if record.language == language]
        asked = [n for n in places if records[n].answer]
        prompts = [
            template.fill(records[n].question, records[n].truth, records[n].answer) for n in asked
        ]
        replies = dict(
            zip(asked, judge.ask(prompts, template.system, _states_a_verdict), strict=True)
        )
        for n in places:
            known = replace(records[n], judge=fingerprint)
            judged[n] = _judged(known, replies[n]) if n in replies else _without_asking(known)
    return judged


def not_judged(ids: Sequence[str | None]) -> int:
    """Return how many answers have no verdict, and warn about them; ids as in `common.count`."""
    without = tuple(name for name in ids if name is not None)
    if without:
        _warn(without, len(ids))
    return len(without)


@functools.lru_cache  # one warning a run, not one a filter
def _warn(without: tuple[str, ...], asked: int) -> None:
    shown = ", ".join(without[:10]) + (", …" if len(without) > 10 else "")
    logger.warning(
        f"{len(without)} of {asked} answers were not judged ({shown}); judge_acc is over the "
        "others. Rerun with the same answers: the judge is asked only what is missing."
    )


def _rouge(reader: str, status: Status, answer: str, truth: str) -> rouge.RougeScores | None:
    """Return the ROUGE scores, None where the answer does not count or ROUGE is not installed.

    The published script leaves answers without text out, and scores the error text of a failed
    request, which shares no word with any truth.
    """
    official = reader == "official"
    if (status is Status.FAILED and not official) or (status is Status.EMPTY and official):
        return None
    try:
        return rouge.rouge(answer, truth)
    except rouge.RougeMissingError:
        return None


def _left_out(record: VqaRecord) -> bool:
    return record.failed and record.reader != "official"


def _without_asking(record: VqaRecord) -> VqaRecord:
    if _left_out(record):
        return replace(record, not_judged="")
    return replace(record, verdicts={"official": False, "strict": False}, not_judged="")


def _states_a_verdict(reply: str) -> bool:
    return strict_verdict(reply) is not None


def _judged(record: VqaRecord, reply: str | None) -> VqaRecord:
    if reply is None:
        return replace(record, not_judged=NO_REPLY)
    verdicts = {"official": official_verdict(reply), "strict": strict_verdict(reply)}
    known = replace(record, reply=reply, verdicts=verdicts, not_judged="")
    return replace(known, not_judged=UNCLEAR) if known.correct is None else known
