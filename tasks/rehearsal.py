"""Shows vLLM the largest prompts of a run before the run begins.

vLLM inside the evaluation process answers a prompt that is too long, or has more pictures than
`limit_mm_per_prompt` allows, with an exception: the run ends there, hours in, and nothing is
written. So before the host's vLLM backend sends a run's first request, each of our tasks' largest
prompts is asked for one token. vLLM itself then says whether it fits; this module only says it in
time, with the task, the document and the remedy. What fitted is in vLLM's prefix cache afterwards.

The host gives no place for this, so `install` wraps the backend's `generate_until`. Whoever calls
that more than once a run, as our part of the response cache does, wraps the calls in `before`.
Ranks that share a vLLM try the same prompts in the same order. Requests of other tasks go their old
way. A server's limits (`vllm serve`) are its own: it refuses single requests, which are counted as
failed.
"""

from __future__ import annotations

import copy
import functools
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from loguru import logger

from lmms_eval_food.tasks import ranks
from lmms_eval_food.tasks.made_with import is_ours

if TYPE_CHECKING:
    from lmms_eval.api.instance import Instance

BACKEND = "lmms_eval.models.chat.vllm"
MARK = "_food_rehearsed"
DONE_BEFORE = "_food_rehearsed_before"
# What a picture may be worth in bytes of text: nothing, a thumbnail, a photo, a large photo.
PICTURE_BYTES = (0, 100, 1000, 10_000)


def install() -> None:
    """Make the host's vLLM backend rehearse, where this process has loaded it.

    The host loads a model before its tasks, so whoever loads our documents may call this. Calling
    it again changes nothing. A host whose backend looks different gets a warning.
    """
    module = sys.modules.get(BACKEND)
    if module is None:
        return
    backend = getattr(module, "VLLM", None)
    original = getattr(backend, "generate_until", None)
    if backend is None or original is None or not hasattr(backend, "make_one_request"):
        warnings.warn(
            "lmms-eval-food: this lmms-eval's vLLM backend has no generate_until and "
            "make_one_request, so a prompt that does not fit ends the run only when it is reached. "
            "Install lmms-eval 0.7.3.",
            stacklevel=2,
        )
        return
    if not getattr(original, "rehearses", False):
        backend.generate_until = _rehearsing(original)


def _rehearsing(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def generate_until(self: Any, requests: Sequence[Instance]) -> Any:
        if not vars(self).get(DONE_BEFORE):
            ranks.refuse_idle(ranks.gathered(self, len(requests)))
            rehearse(self, requests)
        return original(self, requests)

    cast(Any, generate_until).rehearses = True
    return generate_until


@contextmanager
def before(lm: Any, requests: Sequence[Instance]) -> Iterator[None]:
    """Rehearse for all calls of the model inside the block, which then do not.

    Args:
        lm: Any model of the host; nothing happens unless it is the vLLM backend.
        requests: What will be asked inside the block. Ranks that share a vLLM must enter together.

    Raises:
        SystemExit: vLLM refuses a prompt.
    """
    if getattr(getattr(type(lm), "generate_until", None), "rehearses", False):
        rehearse(lm, requests)
        vars(lm)[DONE_BEFORE] = True
    try:
        yield
    finally:
        getattr(lm, "__dict__", {}).pop(DONE_BEFORE, None)


def rehearse(lm: Any, requests: Sequence[Instance]) -> None:
    """Ask the largest prompts of the requests' tasks for one token each, once a task and model.

    The whole table counts, whatever --limit: a short trial run should meet what the full one will.
    A task whose longest answers the context cannot hold beside its largest prompt gets a warning.
    Of ranks that share a vLLM, all try the tasks that each of them has requests of.

    Args:
        lm: The host's vLLM backend.
        requests: Requests in the host's chat form; those of other tasks are left alone.

    Raises:
        SystemExit: vLLM refuses a prompt; with one message that says which and why.
    """
    done: set[str] = lm.__dict__.setdefault(MARK, set())
    first: dict[str, Instance] = {}
    for request in requests:
        task = request.arguments[4]
        if task not in done and task not in first and _ours(request):
            first[task] = request
    for task in sorted(set.intersection(*ranks.gathered(lm, set(first)))):
        done.add(task)
        _rehearse_task(lm, first[task])


def _rehearse_task(lm: Any, request: Instance) -> None:
    *_, task, split = request.arguments
    docs = lm.task_dict[task][split]
    longest = 0
    for number in largest(docs):
        tokens = _prompt_tokens(lm, request, number, docs[number])
        longest = max(longest, tokens)
    wanted = request.arguments[2].get("max_new_tokens", 0)
    config = getattr(lm.client, "model_config", None)
    context = getattr(config, "max_model_len", None)
    if context is not None and longest + wanted > context:
        logger.warning(
            f"{task}: vLLM's context of {context} tokens leaves {context - longest} for the answer "
            f"to the largest prompt ({longest} tokens), fewer than the task's {wanted}: long "
            "answers are cut. Raise max_model_len in --model_args."
        )


def largest(docs: Any) -> list[int]:
    """Return the rows one of which should have the longest prompt, in ascending order.

    How many tokens a picture takes depends on the model and on its size, so each row is the
    largest for one of the weights in `PICTURE_BYTES`. Among equals the first row counts.

    Args:
        docs: A table of ours: a list column `images` and text columns that end in "prompt".

    Returns:
        At most one row number for each weight; none when the table is empty.
    """
    columns = [docs[name] for name in docs.column_names if name.endswith("prompt")]
    # Bytes, not characters: tokenizers spend more on a letter of Hindi or Thai than on a Latin one.
    texts = [sum(len(text.encode()) for text in row) for row in zip(*columns, strict=True)]
    sizes = list(zip(map(len, docs["images"]), texts, strict=True))
    if not sizes:
        return []

    def row_of(weight: int) -> int:
        return max(range(len(sizes)), key=lambda row: weight * sizes[row][0] + sizes[row][1])

    return sorted({row_of(weight) for weight in PICTURE_BYTES})


def _prompt_tokens(lm: Any, request: Instance, number: int, doc: dict[str, Any]) -> int:
    """Return how many tokens vLLM makes of a document's prompt, or end the run when it refuses."""
    vllm = importlib.import_module("vllm")
    context, messages, settings, _, task, split = request.arguments
    asked = copy.copy(request)
    asked.arguments = (context, messages, settings, number, task, split)
    prompt, _ = lm.make_one_request(asked)
    try:
        (output,) = lm.client.chat(
            messages=[prompt],
            sampling_params=vllm.SamplingParams(max_tokens=1, temperature=0),
            chat_template=lm.chat_template,
            use_tqdm=False,
        )
    except _refusals() as error:
        raise SystemExit(
            f"lmms-eval-food: vLLM refuses the largest prompt of {task}, document {doc['id']} with "
            f"{len(doc['images'])} pictures: {error}\nNo request was sent yet. In --model_args, "
            'raise max_model_len, or limit_mm_per_prompt (JSON, e.g. {"image":100}), or lower '
            'the tokens of a picture (Qwen2.5-VL: mm_processor_kwargs={"max_pixels":401408}); '
            "without max_model_len the model's own context counts."
        ) from error
    return len(output.prompt_token_ids)


def _refusals() -> tuple[type[Exception], ...]:
    """Return what vLLM raises for a prompt that it does not take; a broken engine is another."""
    errors = importlib.import_module("vllm.exceptions")
    # Newer releases have a class of their own; older ones raise plain ValueErrors.
    own = getattr(errors, "VLLMClientError", None)
    return (ValueError,) if own is None else (ValueError, own)


def _ours(request: Instance) -> bool:
    # The host passes its task's own method, whose task is ours by its hooks.
    task = getattr(request.arguments[1], "__self__", None)
    return is_ours(getattr(task, "config", None))
