"""Two models for the host that look at no picture.

`food_reference` answers every document from its truth or by a rule; `food_replay` hands back
recorded answers, so that a run can be scored again, or scored first, without its model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NoReturn, Self

import torch
from accelerate import PartialState
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from tqdm import tqdm

from lmms_eval_food.filters.reading import FAILURE_MARKERS
from lmms_eval_food.tasks import reference
from lmms_eval_food.tasks.replay import RecordedAnswers

Doc = dict[str, Any]


@contextmanager
def _ending_the_run() -> Iterator[None]:
    """Turn an error of what the user typed into the end of the run, with one line and status 1.

    The host logs any other exception with its traceback and ends with status 0.
    """
    try:
        yield
    except (ValueError, OSError) as error:
        raise SystemExit(f"lmms-eval-food: {error}") from error


class _NoPictureModel(lmms):  # type: ignore[misc] # the host is untyped
    """What both share: one text a request, in the host's chat or simple form."""

    def __init__(
        self,
        device: str | None = None,
        batch_size: int | str | None = None,
        max_batch_size: int | None = None,
        **unknown: Any,
    ) -> None:
        super().__init__()
        with _ending_the_run():
            if unknown:
                raise ValueError(f"unknown model arguments: {', '.join(sorted(unknown))}")
        # Under torchrun the ranks exchange counts on this device, so it must suit the backend of
        # the process group, which accelerate has chosen.
        self.device = torch.device(device) if device else PartialState().device

    def answer(self, task: str, docs: Sequence[Doc], doc_id: int) -> str:
        """Return the answer to one document."""
        raise NotImplementedError

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """Answer each request; its arguments end in (document number, task, split)."""
        answers = []
        for request in tqdm(requests, desc="Answering", disable=self.rank != 0):
            doc_id, task, split = request.args[-3:]
            answers.append(self.answer(task, self.task_dict[task][split], doc_id))
        return answers

    def generate_until_multi_round(self, requests: list[Instance]) -> NoReturn:
        """Not supported: our tasks ask once."""
        raise NotImplementedError(f"{type(self).__name__} answers single-turn tasks only")

    def loglikelihood(self, requests: list[Instance]) -> NoReturn:
        """Not supported: our tasks generate text."""
        raise NotImplementedError(f"{type(self).__name__} gives no likelihoods")


class ReferenceSimple(_NoPictureModel):
    """Answers from the truth, by chance or by a rule: `predictor=NAME,seed=N`.

    Args:
        predictor: One of `reference.NAMES`; not every one fits every task.
        seed: Seed of `random`; each document draws from its own generator, so the order of the
            documents, --limit and the number of ranks change no answer.
        **host: device and batch sizes, as the host passes them.
    """

    def __init__(self, predictor: str = "random", seed: int = 0, **host: Any) -> None:
        super().__init__(**host)
        with _ending_the_run():
            reference.check_name(predictor)
        self.predictor = predictor
        self.seed = seed
        self._prepared: dict[str, Callable[[Doc, Random], str]] = {}

    def answer(self, task: str, docs: Sequence[Doc], doc_id: int) -> str:
        """Return the predictor's answer; what it needs of the whole set is computed once a task."""
        if task not in self._prepared:
            with _ending_the_run():
                self._prepared[task] = reference.prepare(self.predictor, task, docs)
        doc = docs[doc_id]
        return self._prepared[task](doc, Random(f"{self.seed}:{task}:{doc['id']}"))


class Reference(ReferenceSimple):
    """`food_reference` in the host's chat form."""

    is_simple = False


class ReplaySimple(_NoPictureModel):
    """Hands back recorded answers: `responses=FILE.jsonl[,FILE…]`.

    Args:
        responses: JSON Lines files, separated by commas; see `replay.RecordedAnswers`.
        **host: device and batch sizes, as the host passes them.
    """

    def __init__(self, responses: str = "", **host: Any) -> None:
        super().__init__(**host)
        with _ending_the_run():
            if not responses:
                raise ValueError("food_replay needs --model_args responses=FILE.jsonl[,FILE…]")
            self.recorded = RecordedAnswers.read([Path(name) for name in responses.split(",")])
        self._looked_at: set[str] = set()

    @classmethod
    def create_from_arg_string(
        cls, arg_string: str, additional_config: dict[str, Any] | None = None
    ) -> Self:
        """Let file names follow each other after a comma, which the host's parser does not."""
        arguments: list[list[str]] = []
        for part in filter(None, arg_string.split(",")):
            name, equals, value = part.partition("=")
            if equals or not arguments:
                arguments.append([name.strip(), value])
            else:
                arguments[-1][1] += f",{part}"
        config = {k: v for k, v in (additional_config or {}).items() if v is not None}
        return cls(**dict(arguments), **config)

    def answer(self, task: str, docs: Sequence[Doc], doc_id: int) -> str:
        """Return the recorded answer, else the host's mark of a failed request."""
        if self.rank == 0 and task not in self._looked_at:
            self._looked_at.add(task)
            self.recorded.warn_of_strangers(task, docs)
        doc = docs[doc_id]
        found = self.recorded.find(task, doc_id, doc)
        if found is None:
            return f"{FAILURE_MARKERS[0]} after 0 retries] food_replay: no answer for {doc['id']}"
        return found


class Replay(ReplaySimple):
    """`food_replay` in the host's chat form."""

    is_simple = False
